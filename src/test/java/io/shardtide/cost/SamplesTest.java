package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableSpec;
import io.shardtide.testing.Fixtures;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Samples, predictions and features at and beyond the ends of their ranges. */
class SamplesTest {
  @ParameterizedTest
  @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY})
  void a_computation_takes_time(double ms) {
    List<ComputeSample.SampledShard> shards = List.of(new ComputeSample.SampledShard(0, 4));
    assertThat(new ComputeSample(shards, Double.MIN_VALUE).shards()).isEqualTo(shards);
    assertThatThrownBy(() -> new ComputeSample(shards, ms))
        .hasMessage("cost of a compute sample must be above 0 ms, got " + ms + " ms");
    assertThatThrownBy(() -> new ComputeSample(List.of(), 1))
        .hasMessage("a compute sample must have shards, got none");
  }

  @ParameterizedTest
  @CsvSource({
    "-1, 0, 1, 1",
    "0, -1, 1, 1",
    "0, Infinity, 1, 1",
    "0, 0, 0, 1",
    "0, 0, Infinity, 1",
    "0, 0, 1, 0",
    "0, 0, 1, Infinity"
  })
  void an_all_to_all_takes_time_on_each_device(
      int columns, double start, double forward, double backward) {
    double[] ones = {1, 1};
    new CommunicationSample(new int[] {4, 0}, new double[] {1, 0}, ones, ones);
    assertThatThrownBy(
            () ->
                new CommunicationSample(
                    new int[] {4, columns},
                    new double[] {1, start},
                    new double[] {1, forward},
                    new double[] {1, backward}))
        .hasMessageStartingWith(
            "columns and start of a communication sample must be at least 0 and costs above 0, got"
                + " %d columns, start %s ms",
            columns, start);
  }

  @ParameterizedTest
  @CsvSource({"1, 1, 1, 1", "2, 1, 2, 2", "2, 2, 1, 2", "2, 2, 2, 3"})
  void an_all_to_all_has_numbers_for_two_devices_or_more(
      int columns, int starts, int forward, int backward) {
    assertThatThrownBy(
            () ->
                new CommunicationSample(
                    new int[columns],
                    new double[starts],
                    new double[forward],
                    new double[backward]))
        .hasMessageEndingWith(
            "got %d, %d, %d and %d".formatted(columns, starts, forward, backward));
  }

  /** Starts are counted from the first device to begin; the others wait for the last one. */
  @Test
  void a_measured_step_has_an_all_to_all() {
    List<MeasuredDevice> measured =
        List.of(new MeasuredDevice(3, 9, 2), new MeasuredDevice(1, 11, 1));
    CommunicationSample sample =
        new CostSample.AllToAll(List.of(8, 4), measured, measured).sample();
    assertThat(sample.columns()).containsExactly(8, 4);
    assertThat(sample.startMs()).containsExactly(3, 0);
    assertThat(sample.forwardMs()).containsExactly(9, 11);
    assertThat(sample.backwardMs()).containsExactly(2, 1);
    assertThat(sample.waitMs(0)).isZero();
    assertThat(sample.waitMs(1)).isEqualTo(3);
    assertThat(sample.elements(100)).containsExactly(800, 400);
    assertThatThrownBy(() -> new CostSample.AllToAll(List.of(8), measured, measured))
        .hasMessageEndingWith("got 1 columns, 2 measured and 2 predicted costs");
    assertThatThrownBy(() -> new CostSample.AllToAll(List.of(8, 4), measured, List.of()))
        .hasMessageEndingWith("got 2 columns, 2 measured and 0 predicted costs");
  }

  private static CostPredictions part(int part, int parts) {
    return CostPredictionsBuilder.builder()
        .workloadId("w")
        .generation(3)
        .eventId(new UUID(1, 2))
        .source(Fixtures.at(3))
        .modelId("m")
        .part(part)
        .parts(parts)
        .cluster(Fixtures.cluster(2, 100))
        .update(Optional.of(new Update.Dropped("gone")))
        .build();
  }

  @Test
  void predictions_are_complete_with_the_last_part() {
    assertThat(part(0, 2).isLast()).isFalse();
    assertThat(part(1, 2).isLast()).isTrue();
    assertThat(part(0, 2).withoutTable().isLast()).isTrue();
    assertThat(part(0, 2).withoutTable().update()).isEmpty();
    assertThat(part(0, 2).update().orElseThrow().table()).contains("gone");
    assertThatThrownBy(() -> part(2, 2)).hasMessage("part must be between 0 and 1, got 2");
    assertThatThrownBy(() -> part(-1, 2)).hasMessage("part must be between 0 and 1, got -1");
  }

  @Test
  void a_prediction_has_a_tower_for_each_width() {
    TableSpec table = Fixtures.table("a", 10, 8, 1);
    List<float[]> towers = List.of(new float[] {1}, new float[] {2});
    TablePrediction prediction = new TablePrediction(table, towers, List.of());
    assertThat(prediction.tower(4)).isSameAs(towers.get(0));
    assertThat(new Update.Predicted(prediction).table()).contains("a");
    assertThatThrownBy(() -> new TablePrediction(table, towers.subList(0, 1), List.of()))
        .hasMessage(
            "predictions of table a of 8 columns must be 2, one for each multiple of 4 columns, got"
                + " 1");
  }

  @ParameterizedTest
  @CsvSource({
    "NaN, 1, 0, 1",
    "0, 0, 0, 1",
    "0, Infinity, 0, 1",
    "0, 1, -Infinity, 1",
    "0, 1, 0, Infinity",
    "0, 1, 2, 1"
  })
  void a_feature_has_a_finite_range(double mean, double scale, double min, double max) {
    assertThat(new Feature("f", 0, 1, 1, 1).normalize(9)).isEqualTo(1f);
    assertThatThrownBy(() -> new Feature("f", mean, scale, min, max))
        .isInstanceOf(InvalidModelException.class)
        .hasMessageStartingWith("mean, scale and range of feature f must be finite");
  }

  @ParameterizedTest
  @CsvSource({"0, 2, 0, 2", "2, 0, 0, 0", "2, 2, 4, 1", "2, 2, 3, 2"})
  void a_layer_has_inputs_and_outputs(int inputs, int outputs, int weights, int biases) {
    assertThat(new DenseLayer(1, 1, new float[1], new float[1]).outputs()).isEqualTo(1);
    assertThatThrownBy(() -> new DenseLayer(inputs, outputs, new float[weights], new float[biases]))
        .isInstanceOf(InvalidModelException.class)
        .hasMessageEndingWith("got %d and %d".formatted(weights, biases));
  }

  @Test
  void biases_are_finite() {
    assertThatThrownBy(
            () -> new DenseLayer(1, 1, new float[1], new float[] {Float.POSITIVE_INFINITY}))
        .hasMessage("weights of a layer must be finite, got Infinity");
  }

  @Test
  void a_net_tells_its_size() {
    Mlp net =
        new Mlp(
            List.of(
                new DenseLayer(3, 2, new float[6], new float[2]),
                new DenseLayer(2, 5, new float[10], new float[5])));
    assertThat(net.inputs()).isEqualTo(3);
    assertThat(net.outputs()).isEqualTo(5);
  }

  /** Means and spreads of log2 of uses, over rows and over lookups, by their definitions. */
  @Property(tries = 100)
  void features_describe_a_histogram(
      @ForAll @Size(17) List<@DoubleRange(min = 0.01, max = 1) Double> weights) {
    double total = weights.stream().mapToDouble(w -> w).sum();
    List<Double> shares = weights.stream().map(w -> w / total).toList();
    double[] features =
        ShardFeatures.of(
            ShardShape.ofColumns(
                new TableSpec("a", 1_000, 8, 2, new ReuseHistogram(shares), 4), 4, 100));
    double[] uses = new double[17];
    double allUses = 0;
    for (int k = 0; k < 17; k++) {
      // The middle of the uses above 2^(k-1), up to 2^k.
      uses[k] = k == 0 ? 1 : (Math.pow(2, k - 1) + Math.pow(2, k)) / 2;
      allUses += shares.get(k) * uses[k];
    }
    double ofRows = 0;
    double ofLookups = 0;
    for (int k = 0; k < 17; k++) {
      ofRows += shares.get(k) * k;
      ofLookups += shares.get(k) * uses[k] / allUses * k;
    }
    double spreadOfRows = 0;
    double spreadOfLookups = 0;
    for (int k = 0; k < 17; k++) {
      spreadOfRows += shares.get(k) * Math.pow(k - ofRows, 2);
      spreadOfLookups += shares.get(k) * uses[k] / allUses * Math.pow(k - ofLookups, 2);
    }
    assertThat(ShardFeatures.meanUses(new ReuseHistogram(shares)))
        .isCloseTo(allUses, within(1e-9 * allUses));
    assertThat(features)
        .containsExactly(
            new double[] {
              Math.log(1_000) / Math.log(2),
              Math.log(201) / Math.log(2),
              2,
              1,
              Math.log(1 + 200 / allUses) / Math.log(2),
              ofRows,
              Math.sqrt(spreadOfRows),
              ofLookups,
              Math.sqrt(spreadOfLookups),
              shares.get(0)
            },
            within(1e-6));
  }

  /** Whatever a device holds: the factors are what the lower bound of a plan relies on. */
  @Property(tries = 200)
  void no_computation_is_below_its_least_factors(
      @ForAll @Size(64) List<@DoubleRange(min = 0, max = 1_000) Double> sums) {
    CostEvaluator evaluator = Fixtures.model().evaluator();
    double[] sum = new double[evaluator.towerSize()];
    for (int i = 0; i < sum.length; i++) {
      sum[i] = sums.get(i % sums.size());
    }
    double least = 0;
    double[] factors = evaluator.leastFactors();
    for (int k = 0; k < factors.length; k++) {
      assertThat(factors[k]).isPositive();
      least += factors[k] * sum[k];
    }
    assertThat(evaluator.computeMs(sum)).isGreaterThanOrEqualTo(least * (1 - 1e-6));
  }

  /** A head whose bounds can be read off: it scales by 1/(1+1.5) to 1+0.5. */
  @Test
  void least_factors_follow_from_the_weights() {
    ModelBundle shipped = Fixtures.bundle();
    int inputs = shipped.towerSize();
    float[] first = new float[2 * inputs];
    first[0] = 1;
    first[1] = -1;
    first[2] = 1;
    DenseLayer hidden = new DenseLayer(inputs, 2, first, new float[] {0, 0.5f});
    DenseLayer last = new DenseLayer(2, 2, new float[] {-1, 0, 1, 2}, new float[] {0.5f, 1});
    double[] factors =
        new CostEvaluator(ModelBundleBuilder.builder(shipped).head(List.of(hidden, last)).build())
            .leastFactors();
    // Hidden: 0 to 2, and 0 to 0.5. Outputs: 0.5 - 2 = -1.5 at least, and 1 at least.
    assertThat(factors).containsExactly(new double[] {1 / 2.5, 2}, within(1e-12));
  }

  @Test
  void one_device_is_predicted_as_all_are() {
    CostEvaluator evaluator = Fixtures.model().evaluator();
    double[] elements = {64e5, 32e5, 32e5, 0};
    CommunicationCost all = evaluator.allToAll(elements);
    for (int d = 0; d < 4; d++) {
      assertThat(Fixtures.model().evaluator().backwardMs(elements[d], 64e5, 128e5, 4))
          .isEqualTo(all.backwardMs()[d]);
      assertThat(evaluator.forwardMs(elements[d], 64e5, 128e5, 4)).isEqualTo(all.forwardMs()[d]);
    }
  }

  @Test
  void errors_of_all_to_alls_are_weighted_by_devices() {
    Accuracy.Communication accuracy =
        Accuracy.ofAllToAlls(List.of(predicted(2, 0.5, 0.1), predicted(6, 0.1, 0.5)));
    assertThat(accuracy.samples()).isEqualTo(2);
    assertThat(accuracy.forwardMape()).isCloseTo(0.2, within(1e-12));
    assertThat(accuracy.backwardMape()).isCloseTo(0.4, within(1e-12));
  }

  private static Evaluation.CommunicationPrediction predicted(
      int devices, double forward, double backward) {
    double[] ones = new double[devices];
    java.util.Arrays.fill(ones, 1);
    return new Evaluation.CommunicationPrediction(
        0,
        new CommunicationSample(new int[devices], new double[devices], ones, ones),
        forward,
        backward,
        List.of());
  }
}
