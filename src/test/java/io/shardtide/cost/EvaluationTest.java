package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.Evaluation.ComputePrediction;
import io.shardtide.cost.Evaluation.Familiarity;
import io.shardtide.domain.OutOfRange;
import io.shardtide.domain.TableSpec;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Plans;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class EvaluationTest {
  private static final List<TableSpec> TABLES =
      List.of(
          new TableSpec("known", 1_000_000, 64, 20, Fixtures.reuse(), 4),
          new TableSpec("new", 2_000_000, 64, 10, Fixtures.reuse(), 4),
          new TableSpec("huge", 9_000_000_000L, 64, 10, Fixtures.reuse(), 4));

  private final CostModel model = holdingOut("new", "huge");

  private static CostModel holdingOut(String... tables) {
    ModelBundle shipped = Fixtures.bundle();
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
                    card.communicationSamples(),
                    card.sources(),
                    new TreeSet<>(List.of(tables)),
                    card.errors()))
            .build());
  }

  private static ComputeSample sample(double ms, int... tables) {
    return new ComputeSample(
        java.util.Arrays.stream(tables)
            .mapToObj(t -> new ComputeSample.SampledShard(t, 32))
            .toList(),
        ms);
  }

  private Evaluation evaluate(List<ComputeSample> compute) {
    TreeMap<Integer, List<CommunicationSample>> communication = new TreeMap<>();
    int[] columns = {64, 256};
    CommunicationCost cost = model.evaluator().allToAll(Plans.elements(columns, 65_536));
    double[] more = {2 * cost.backwardMs()[0], 4 * cost.backwardMs()[1]};
    communication.put(
        2,
        List.of(
            new CommunicationSample(
                columns,
                new double[] {0, 3},
                new double[] {cost.forwardMs()[0] + 3, 2 * cost.forwardMs()[1]},
                more)));
    try (PlainTowers towers = new PlainTowers(model.bundle())) {
      return Evaluation.of(model, towers, new SampleSet(TABLES, 65_536, compute, communication));
    }
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
    Accuracy.Compute errors = Accuracy.ofComputations(evaluation.computations());
    assertThat(errors.mape()).isEqualTo(0.5);
    assertThat(errors.p99RelativeError()).isEqualTo(1);
    assertThat(errors.samples()).isEqualTo(3);
    assertThat(Accuracy.withoutReuse(evaluation.computations()).mape()).isNotEqualTo(0.5);
  }

  @Test
  void waiting_is_no_error_of_an_exchange() {
    Evaluation.CommunicationPrediction exchange = evaluate(List.of()).allToAlls().get(2).get(0);
    assertThat(exchange.forwardError())
        .as("the mean of none and a half")
        .isCloseTo(0.25, within(1e-12));
    assertThat(exchange.backwardError())
        .as("the mean of a half and three quarters")
        .isCloseTo(0.625, within(1e-12));
  }

  @Test
  void errors_without_histograms_are_relative_as_well() {
    ComputePrediction prediction =
        new ComputePrediction(0, sample(2, 0), 3, 5, Familiarity.KNOWN, List.of());
    assertThat(prediction.error()).isEqualTo(0.5);
    assertThat(prediction.withoutReuseError()).isEqualTo(1.5);
    Accuracy.Compute accuracy = Accuracy.withoutReuse(List.of(prediction));
    assertThat(accuracy.mape()).isEqualTo(1.5);
    assertThat(accuracy.p99RelativeError()).isEqualTo(1.5);
  }

  @Test
  void kendall_counts_pairs_in_order() {
    double one = evaluate(List.of(sample(1, 0))).computations().get(0).predictedMs();
    double two = evaluate(List.of(sample(1, 0, 1))).computations().get(0).predictedMs();
    assertThat(
            Accuracy.ofComputations(
                    evaluate(List.of(sample(one, 0), sample(two, 0, 1))).computations())
                .kendall())
        .isEqualTo(1);
    assertThat(
            Accuracy.ofComputations(
                    evaluate(List.of(sample(two, 0), sample(one, 0, 1))).computations())
                .kendall())
        .isEqualTo(-1);
    assertThat(Accuracy.ofComputations(List.of())).isEqualTo(new Accuracy.Compute(0, 0, 0, 1));
    assertThat(Accuracy.ofAllToAlls(List.of())).isEqualTo(new Accuracy.Communication(0, 0, 0));
  }
}
