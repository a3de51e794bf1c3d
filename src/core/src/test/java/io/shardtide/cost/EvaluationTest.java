package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.Evaluation.ComputePrediction;
import io.shardtide.cost.Evaluation.Familiarity;
import io.shardtide.plan.OutOfRange;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

class EvaluationTest {
  private static final List<TableSpec> TABLES =
      List.of(
          new TableSpec("known", 1_000_000, 64, 20, Fixtures.reuse(), 4),
          new TableSpec("new", 2_000_000, 64, 10, Fixtures.reuse(), 4),
          new TableSpec("huge", 9_000_000_000L, 64, 10, Fixtures.reuse(), 4),
          withCdf());

  private static final Comparator<Double> TOLERANT =
      (a, b) -> Math.abs(a - b) < 1e-12 ? 0 : Double.compare(a, b);

  /** The table "known" with a CDF: its most used row has a tenth of the lookups. */
  private static TableSpec withCdf() {
    List<Double> shares = new ArrayList<>(Fixtures.times(AccessCdf.size(1_000_000), 0.1));
    shares.set(shares.size() - 1, 1.0);
    return TableSpecBuilder.builder(new TableSpec("cdf", 1_000_000, 64, 20, Fixtures.reuse(), 4))
        .accessCdf(new AccessCdf(shares))
        .build();
  }

  private final CostModel model = holdingOut("new", "huge");

  private static CostModel holdingOut(String... tables) {
    ModelBundle shipped = TestModels.allCollectives();
    ModelCard card = shipped.card();
    return new CostModel(
        ModelBundleBuilder.builder(shipped)
            .modelId("")
            .card(
                new ModelCard(
                    card.description(),
                    card.simulated(),
                    card.seed(),
                    card.computeSamples(),
                    card.collectiveSamples(),
                    card.sources(),
                    new TreeSet<>(List.of(tables)),
                    card.errors(),
                    card.beganAs()))
            .build());
  }

  private static ComputeSample sample(double ms, int... tables) {
    return new ComputeSample(
        Arrays.stream(tables)
            .mapToObj(t -> DeviceShard.ofColumns(TABLES.get(t).withColumns(32), 65_536))
            .toList(),
        ms);
  }

  private Evaluation evaluate(List<ComputeSample> compute, CollectiveSample... collectives) {
    try (PlainTowers towers = new PlainTowers(model.bundle())) {
      return Evaluation.of(model, towers, new SampleSet(compute, List.of(collectives)));
    }
  }

  private double predictedMs(ComputeSample sample, UnaryOperator<TableSpec> seen) {
    return evaluate(new SampleSet(List.of(sample), List.of()).seenAs(seen).compute())
        .computations()
        .get(0)
        .predictedMs();
  }

  @Test
  void samples_are_told_apart_by_what_the_training_saw() {
    Evaluation evaluation = evaluate(List.of(sample(1, 0), sample(1, 0, 1), sample(1, 1, 2)));
    assertThat(evaluation.computations())
        .extracting(ComputePrediction::familiarity)
        .containsExactly(Familiarity.KNOWN, Familiarity.PARTLY_UNSEEN, Familiarity.UNSEEN);
    assertThat(evaluation.computations().get(0).outOfRange()).isEmpty();
    assertThat(evaluation.computations().get(2).outOfRange())
        .extracting(OutOfRange::subject, OutOfRange::quantity)
        .containsExactly(org.assertj.core.groups.Tuple.tuple("huge", "rows"));
  }

  @Test
  void errors_are_relative_to_what_was_measured() {
    Evaluation first = evaluate(List.of(sample(1, 0)));
    double ms = first.computations().get(0).predictedMs();
    Evaluation evaluation = evaluate(List.of(sample(ms, 0), sample(ms / 2, 0), sample(2 * ms, 0)));
    assertThat(evaluation.computations())
        .extracting(ComputePrediction::error)
        .containsExactly(0.0, 1.0, 0.5);
    Accuracy errors = Accuracy.ofComputations(evaluation.computations());
    assertThat(errors.mape()).isEqualTo(0.5);
    assertThat(errors.p99RelativeError()).isEqualTo(1);
    assertThat(errors.samples()).isEqualTo(3);
  }

  /** A measurement of a collective, which took some times as long as predicted. */
  private CollectiveSample collective(
      Collective collective, Optional<Direction> direction, double... factors) {
    double[] bytes = new double[factors.length];
    double[] ms = new double[factors.length];
    Arrays.setAll(bytes, d -> 1e6 * (d + 1));
    Arrays.fill(ms, 1);
    CollectiveSample unlabelled = new CollectiveSample(collective, direction, 2, 2, bytes, ms);
    double[] predicted = model.evaluator().collectiveMs(unlabelled);
    Arrays.setAll(ms, d -> factors[d] * predicted[d]);
    return new CollectiveSample(collective, direction, 2, 2, bytes, ms);
  }

  @Test
  void the_error_of_an_all_to_all_is_the_mean_over_its_devices() {
    Evaluation evaluation =
        evaluate(
            List.of(),
            collective(Collective.ALL_TO_ALL, Optional.of(Direction.FORWARD), 1, 2),
            collective(Collective.ALL_TO_ALL, Optional.of(Direction.BACKWARD), 2, 4),
            collective(Collective.ALL_TO_ALL, Optional.empty(), 1, 4),
            collective(Collective.ALL_REDUCE, Optional.of(Direction.BACKWARD), 0.5));
    assertThat(evaluation.collectives())
        .extracting(Evaluation.CollectivePrediction::error)
        .usingElementComparator(TOLERANT)
        .containsExactly(0.25, 0.625, 0.375, 1.0);
    assertThat(evaluation.notPredicted()).isZero();
    Accuracy accuracy = Accuracy.ofCollectives(evaluation.collectives());
    assertThat(accuracy.samples()).isEqualTo(4);
    assertThat(accuracy.mape()).isCloseTo((0.25 + 0.625 + 0.375 + 1) / 4, within(1e-12));
    assertThat(accuracy.p99RelativeError()).isCloseTo(1, within(1e-12));
  }

  @Test
  void collectives_that_the_model_does_not_predict_are_counted() {
    CollectiveSample unknown =
        new CollectiveSample(
            Collective.ALL_GATHER,
            Optional.of(Direction.FORWARD),
            2,
            2,
            new double[] {1e6},
            new double[] {1});
    Evaluation evaluation =
        evaluate(
            List.of(),
            unknown,
            collective(Collective.ALL_GATHER, Optional.of(Direction.BACKWARD), 1));
    assertThat(evaluation.notPredicted()).isEqualTo(1);
    assertThat(evaluation.collectives())
        .singleElement()
        .extracting(Evaluation.CollectivePrediction::number)
        .isEqualTo(1);
  }

  /** The model says that it knows forward and backward apart, or not. */
  @Test
  void parts_are_compared_where_they_are_measured_and_predicted() {
    ComputeSample whole = sample(1, 0);
    ComputeSample parts = ComputeSample.of(whole.shards(), 1, 3);
    for (boolean measures : new boolean[] {false, true}) {
      CostModel some =
          new CostModel(
              ModelBundleBuilder.builder(model.bundle()).measuresDirections(measures).build());
      try (PlainTowers towers = new PlainTowers(some.bundle())) {
        SampleSet set = new SampleSet(List.of(whole, parts), List.of());
        List<ComputePrediction> predicted = Evaluation.of(some, towers, set).computations();
        assertThat(predicted.get(0).forwardError()).isEmpty();
        assertThat(predicted.get(0).backwardError()).isEmpty();
        assertThat(predicted.get(1).predictedForwardMs().isPresent()).isEqualTo(measures);
        Accuracy accuracy = Accuracy.ofComputations(predicted);
        assertThat(accuracy.forwardMape().isPresent()).isEqualTo(measures);
        if (measures) {
          double forwardMs = predicted.get(1).predictedForwardMs().getAsDouble();
          double backwardMs = predicted.get(1).predictedMs() - forwardMs;
          assertThat(forwardMs).isBetween(0.0, predicted.get(1).predictedMs());
          assertThat(accuracy.forwardMape().getAsDouble())
              .isCloseTo(Math.abs(forwardMs - 1), within(1e-12));
          assertThat(accuracy.backwardMape().getAsDouble())
              .isCloseTo(Math.abs(backwardMs - 3) / 3, within(1e-12));
        }
      }
    }
  }

  @Test
  void an_error_without_its_parts_is_relative_as_well() {
    ComputePrediction prediction =
        new ComputePrediction(
            0, sample(2, 0), 3, OptionalDouble.of(1), Familiarity.KNOWN, List.of());
    assertThat(prediction.error()).isEqualTo(0.5);
    Accuracy accuracy = Accuracy.ofComputations(List.of(prediction));
    assertThat(accuracy.mape()).isEqualTo(0.5);
    assertThat(accuracy.p99RelativeError()).isEqualTo(0.5);
    assertThat(accuracy.forwardMape()).isEmpty();
  }

  /** Predictions are made with all knowledge, without the CDF, and without any. */
  @Test
  void samples_are_predicted_with_less_knowledge() {
    double known = predictedMs(sample(1, 0), table -> table);
    assertThat(predictedMs(sample(1, 0), TableSpec::withoutCdf)).isEqualTo(known);
    double unknown = predictedMs(sample(1, 0), TableSpec::withoutUse);
    assertThat(unknown).isNotEqualTo(known);
    assertThat(predictedMs(sample(1, 3), TableSpec::withoutCdf))
        .isNotEqualTo(predictedMs(sample(1, 3), table -> table))
        .isEqualTo(known);
    assertThat(predictedMs(sample(1, 3), TableSpec::withoutUse)).isEqualTo(unknown);
  }

  @Test
  void kendall_counts_pairs_in_order() {
    double one = evaluate(List.of(sample(1, 0))).computations().get(0).predictedMs();
    double two = evaluate(List.of(sample(1, 0, 1))).computations().get(0).predictedMs();
    assertThat(
            Accuracy.ofComputations(
                    evaluate(List.of(sample(one, 0), sample(two, 0, 1))).computations())
                .kendall())
        .hasValue(1);
    assertThat(
            Accuracy.ofComputations(
                    evaluate(List.of(sample(two, 0), sample(one, 0, 1))).computations())
                .kendall())
        .hasValue(-1);
    OptionalDouble none = OptionalDouble.empty();
    assertThat(Accuracy.ofComputations(List.of()))
        .isEqualTo(new Accuracy(0, 0, 0, OptionalDouble.of(1), none, none));
    assertThat(Accuracy.ofCollectives(List.of()))
        .isEqualTo(new Accuracy(0, 0, 0, none, none, none));
  }
}
