package io.shardtide.cost.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.Feature;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** What training computes in plain Java. */
class TrainingArithmeticTest {
  /**
   * The conditions of Karush, Kuhn and Tucker: the gradient is 0 where a coefficient is above 0,
   * and at least 0 where it is 0.
   */
  @Property(tries = 100)
  void coefficients_have_the_least_squares(@ForAll long seed) {
    Random random = new Random(seed);
    NonNegativeLeastSquares squares = new NonNegativeLeastSquares(4);
    double[] gradient = new double[4];
    List<double[]> values = new ArrayList<>();
    List<double[]> others = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      double[] terms = {random.nextDouble(), random.nextDouble(), random.nextDouble(), 0};
      double[] other = {random.nextGaussian(), 1 + random.nextDouble(), random.nextDouble()};
      squares.add(terms, other[0], other[1], other[2]);
      values.add(terms);
      others.add(other);
    }
    List<Double> fitted = squares.fit();
    for (int i = 0; i < 30; i++) {
      double[] other = others.get(i);
      double error = NonNegativeLeastSquares.weightedSum(fitted, values.get(i)) - other[0];
      for (int t = 0; t < 4; t++) {
        gradient[t] += other[2] * error / (other[1] * other[1]) * values.get(i)[t];
      }
    }
    for (int t = 0; t < 4; t++) {
      assertThat(fitted.get(t)).isFinite().isNotNegative();
      if (fitted.get(t) > 0) {
        assertThat(gradient[t]).isCloseTo(0, within(1e-6));
      } else {
        assertThat(gradient[t]).isGreaterThan(-1e-6);
      }
    }
    assertThat(fitted.get(3)).as("of a term that is never there").isZero();
  }

  @Test
  void a_weighted_sum_is_over_all_terms() {
    assertThat(NonNegativeLeastSquares.weightedSum(List.of(2.0, 3.0), new double[] {5, 7}))
        .isEqualTo(31);
  }

  /** A net whose validation errors are given; its weights are the number of steps. */
  private static final class ScriptedRunner implements EarlyStopping.EpochRunner<Integer, Integer> {
    final double[] errors;
    final List<Integer> batches = new ArrayList<>();
    final List<Double> rates = new ArrayList<>();
    int epoch;

    ScriptedRunner(double... errors) {
      this.errors = errors;
    }

    @Override
    public double train(List<Integer> batch, double learningRate) {
      batches.add(batch.size());
      rates.add(learningRate);
      return batch.get(0);
    }

    @Override
    public double validate() {
      return errors[epoch++];
    }

    @Override
    public Integer weights() {
      return batches.size();
    }
  }

  private static TrainingSettings patience(int patience) {
    return new TrainingSettings(1, 1, 1, patience, 0.5, 0, 0, 64);
  }

  @Test
  void training_stops_when_the_error_no_longer_falls() {
    ScriptedRunner runner = new ScriptedRunner(0.5, 0.4, 0.4, 0.6, 0.1);
    List<String> progress = new ArrayList<>();
    EarlyStopping<Integer, Integer> training =
        new EarlyStopping<>(
            "net",
            10,
            2,
            0,
            patience(2),
            (net, epoch, epochs, loss, error) ->
                progress.add("%s %d/%d %.1f %.1f".formatted(net, epoch, epochs, loss, error)));
    assertThat(training.run(() -> List.of(1, 2, 6, 4, 5), runner)).isEqualTo(6);
    // Losses of the batches [1 2], [6 4] and [5], weighted by their sizes: (2 + 12 + 5) / 5.
    assertThat(progress)
        .containsExactly(
            "net 1/10 3.8 0.5", "net 2/10 3.8 0.4", "net 3/10 3.8 0.4", "net 4/10 3.8 0.6");
    assertThat(runner.batches).containsExactly(2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1);
    assertThat(runner.rates.get(0)).isEqualTo(0.5);
    assertThat(runner.rates.get(6)).isEqualTo(patience(2).learningRate(6, 30));
  }

  @Test
  void training_ends_after_its_epochs() {
    ScriptedRunner runner = new ScriptedRunner(0.5, 0.4, 0.3);
    EarlyStopping<Integer, Integer> training =
        new EarlyStopping<>("net", 3, 2, 0, patience(9), (net, epoch, epochs, loss, error) -> {});
    assertThat(training.run(() -> List.of(1, 2), runner)).isEqualTo(3);
  }

  @Test
  void the_learning_rate_decays_to_a_hundredth() {
    TrainingSettings settings = patience(1);
    assertThat(settings.learningRate(0, 100)).isCloseTo(0.5, within(1e-12));
    assertThat(settings.learningRate(50, 100)).isCloseTo(0.2525, within(1e-12));
    assertThat(settings.learningRate(100, 100)).isCloseTo(0.005, within(1e-12));
    assertThat(TrainingSettings.defaults(7).holdingOut(0.25))
        .isEqualTo(new TrainingSettings(7, 450, 80, 450, 4e-3, 0.2, 0.25, 64));
    assertThat(new TrainingSettings(7, 1, 1, 1, 1, 1, 0, 64).initialRate())
        .as("the ends of the ranges")
        .isEqualTo(1);
  }

  @Property(tries = 50)
  void a_split_has_every_sample_once(
      @ForAll @IntRange(min = 0, max = 200) int count, @ForAll long seed) {
    List<Integer> samples = IntStream.range(0, count).boxed().toList();
    DataSplit<Integer> split = DataSplit.of(samples, new Random(seed));
    assertThat(split.train()).hasSize((int) (0.9 * count));
    assertThat(split.train().size() + split.validation().size())
        .isBetween((int) (0.95 * count) - 1, (int) (0.95 * count));
    List<Integer> all = new ArrayList<>(split.train());
    all.addAll(split.validation());
    all.addAll(split.test());
    assertThat(all).containsExactlyInAnyOrderElementsOf(samples);
    if (count == 200) {
      assertThat(all).as("shuffled").isNotEqualTo(samples);
    }
  }

  @Test
  void an_error_is_relative_to_the_label() {
    assertThat(DataSplit.mape(new float[] {3, 1}, new float[] {2, 4})).isEqualTo(0.625);
  }

  @Test
  void features_are_normalized_by_what_is_known() {
    List<Feature> features =
        Normalization.of(
            List.of("a", "constant", "missing"),
            () ->
                Stream.of(
                    new double[] {1, 5, Double.NaN},
                    new double[] {Double.NaN, 5, Double.NaN},
                    new double[] {5, 5, Double.NaN}));
    assertThat(features)
        .containsExactly(
            new Feature("a", 3, 2, 1, 5),
            new Feature("constant", 5, 1, 5, 5),
            new Feature("missing", 0, 1, 0, 0));
    float[] normalized = new float[4];
    new Normalization(features).apply(new double[] {5, 5, 0}, normalized, 1);
    assertThat(normalized).containsExactly(0, 1, 0, 0);
  }
}
