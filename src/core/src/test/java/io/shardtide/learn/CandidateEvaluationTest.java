package io.shardtide.learn;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.NearestModel;
import io.shardtide.cost.SampleSet;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.ModelDecision.Trigger;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** When a challenger is published, and when the champion is kept. */
class CandidateEvaluationTest {
  private static final CandidateModel CHAMPION = candidate(TestModels.bundle());
  private static final CandidateModel CHALLENGER = candidate(moreExpensive(TestModels.bundle()));
  private static final CandidateEvaluation EVALUATION =
      new CandidateEvaluation(TrainingPolicy.DEFAULTS);
  private static final SampleSet NO_SAMPLES = samples(CHAMPION, 0, 1);

  private static CandidateModel candidate(ModelBundle bundle) {
    return new CandidateModel(new CostModel(bundle), new PlainTowers(bundle));
  }

  /** Returns a model with 1.3 times the coefficients of computations. */
  private static ModelBundle moreExpensive(ModelBundle bundle) {
    return ModelBundleBuilder.builder(bundle)
        .modelId("")
        .forwardCoefficients(bundle.forwardCoefficients().stream().map(c -> 1.3 * c).toList())
        .backwardCoefficients(bundle.backwardCoefficients().stream().map(c -> 1.3 * c).toList())
        .build()
        .identified();
  }

  /** Computations that cost {@code factor} times the prediction of a model. */
  private static SampleSet samples(CandidateModel truth, int count, double factor) {
    List<TableSpec> tables =
        IntStream.range(0, 10)
            .mapToObj(t -> Fixtures.table("t" + t, 100_000L * (t + 1), 64, 2 + t))
            .toList();
    List<ComputeSample> unlabelled = new ArrayList<>();
    for (int s = 0; s < count; s++) {
      unlabelled.add(
          new ComputeSample(
              List.of(
                  DeviceShard.ofColumns(tables.get(s % 10), 65_536),
                  DeviceShard.ofColumns(tables.get((s + 3) % 10).withColumns(32), 65_536)),
              1));
    }
    List<ComputeSample> labelled =
        Evaluation.of(truth.model(), truth.towers(), new SampleSet(unlabelled, List.of()))
            .computations()
            .stream()
            .map(c -> new ComputeSample(c.sample().shards(), factor * c.predictedMs()))
            .toList();
    return new SampleSet(labelled, allToAlls(count));
  }

  /** All-to-alls that cost what both models predict. */
  private static List<CollectiveSample> allToAlls(int count) {
    List<CollectiveSample> samples = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      double[] bytes = {1e6 * (1 + i), 2e6, 3e6, 4e6};
      samples.add(
          new CollectiveSample(
              Collective.ALL_TO_ALL,
              Optional.of(Direction.FORWARD),
              4,
              4,
              bytes,
              CHAMPION
                  .model()
                  .evaluator()
                  .collectiveMs(
                      new CollectiveSample(
                          Collective.ALL_TO_ALL,
                          Optional.of(Direction.FORWARD),
                          4,
                          4,
                          bytes,
                          new double[] {1, 1, 1, 1}))));
    }
    return samples;
  }

  /**
   * The challenger runs its towers for the recent and for the old held-out samples, once; the
   * champion has predicted them.
   */
  @Test
  void towers_run_once_for_each_set_of_held_out_samples() {
    CountedTowers champion = new CountedTowers(CHAMPION);
    CountedTowers challenger = new CountedTowers(CHALLENGER);
    SampleSet samples = samples(CHALLENGER, 20, 1);
    EVALUATION.decide(
        Trigger.SAMPLES,
        new TrainingSet(
            split(CHAMPION, samples, samples),
            split(CHAMPION, samples, samples),
            List.of("trainer")),
        champion.candidate(),
        challenger.candidate(),
        Fixtures.TIME);
    assertThat(champion.runs()).isZero();
    assertThat(challenger.runs()).isEqualTo(2);
  }

  private static TrainingSet.SampleSplit split(
      CandidateModel champion, SampleSet training, SampleSet heldOut) {
    return new TrainingSet.SampleSplit(
        training, Evaluation.of(champion.model(), champion.towers(), heldOut));
  }

  private static ModelDecision decide(Trigger trigger, SampleSet recent, SampleSet old) {
    TrainingSet set =
        new TrainingSet(
            split(CHAMPION, recent, recent), split(CHAMPION, old, old), List.of("trainer"));
    return EVALUATION.decide(trigger, set, CHAMPION, CHALLENGER, Fixtures.TIME);
  }

  @Test
  void a_challenger_that_is_better_on_recent_samples_is_published() {
    ModelDecision decision = decide(Trigger.SAMPLES, samples(CHALLENGER, 20, 1), NO_SAMPLES);
    assertThat(decision.published()).as(decision.reason()).isTrue();
    assertThat(decision.challengerRecentError().getAsDouble()).isLessThan(1e-5);
    assertThat(decision.championRecentError().getAsDouble()).isGreaterThan(0.01);
    assertThat(decision.championOldError()).isEmpty();
    assertThat(decision.reason()).startsWith("Challenger published: plans lose ");
  }

  /** All costs are 1.3 times as high: plans are the same, whatever the predictions. */
  @Test
  void a_challenger_that_predicts_better_and_plans_no_better_is_rejected() {
    SampleSet samples = samples(CHALLENGER, 20, 1);
    SampleSet computations =
        new SampleSet(Collections.nCopies(20, samples.compute().get(0)), List.of());
    ModelDecision decision = decide(Trigger.DRIFT, computations, NO_SAMPLES);
    assertThat(decision.challengerRecentError().getAsDouble()).isLessThan(1e-5);
    assertThat(decision.championRecentError().getAsDouble()).isGreaterThan(0.15);
    assertThat(decision.published()).as(decision.reason()).isFalse();
  }

  @Test
  void a_challenger_that_is_not_better_is_rejected() {
    ModelDecision decision = decide(Trigger.SAMPLES, samples(CHAMPION, 20, 1), NO_SAMPLES);
    assertThat(decision.published()).isFalse();
    assertThat(decision.reason())
        .startsWith(
            "Champion kept, the challenger's plans must lose less by 10%: plans lose 0.00% -> ");
  }

  /** Hardware that costs the same as the nearest: what was measured confirms the model. */
  @Test
  void against_the_costs_of_other_hardware_a_challenger_need_not_be_better() {
    CandidateModel begun =
        candidate(
            NearestModel.begin(
                    List.of(TestModels.bundle()), new ClusterSpec(4, 1, 65_536, 4, "h100"))
                .orElseThrow());
    TrainingSet.SampleSplit recent =
        split(begun, samples(CHAMPION, 20, 1), samples(CHAMPION, 20, 1));
    TrainingSet.SampleSplit none = split(begun, NO_SAMPLES, NO_SAMPLES);
    TrainingSet set = new TrainingSet(recent, none, List.of("trainer"));
    ModelDecision confirmed =
        EVALUATION.decide(
            Trigger.COLD_START, set, begun, candidate(TestModels.otherBundle()), Fixtures.TIME);
    assertThat(confirmed.published()).as(confirmed.reason()).isTrue();
    ModelDecision worse =
        EVALUATION.decide(Trigger.COLD_START, set, begun, CHALLENGER, Fixtures.TIME);
    assertThat(worse.published()).isFalse();
    assertThat(worse.reason())
        .startsWith("Champion kept, the challenger's plans must lose less or as much: ");
  }

  @Test
  void too_few_held_out_samples_reject_a_challenger() {
    ModelDecision decision =
        decide(
            Trigger.SAMPLES,
            samples(CHALLENGER, CandidateEvaluation.MIN_HELD_OUT - 1, 1),
            NO_SAMPLES);
    assertThat(decision.published()).isFalse();
    assertThat(decision.reason())
        .startsWith("Champion kept, at least 8 recent computations must be held out, got 7: ");
  }

  @Test
  void a_challenger_that_is_worse_on_old_samples_is_rejected_unless_the_drift_was_as_large() {
    SampleSet old = samples(CHAMPION, 20, 1);
    ModelDecision drifted = decide(Trigger.SAMPLES, samples(CHALLENGER, 20, 1), old);
    assertThat(drifted.published())
        .as("error on old samples equals the drift: %s", drifted.reason())
        .isTrue();
    // The recent measurements lie between the two models: the challenger overshoots.
    ModelDecision overshooting = decide(Trigger.DRIFT, samples(CHALLENGER, 20, 0.9), old);
    assertThat(overshooting.published()).as(overshooting.reason()).isFalse();
    assertThat(overshooting.reason())
        .startsWith(
            "Champion kept, the challenger's error on old samples of computations must be at most ")
        .contains("%, the drift included: plans lose");
  }

  /** A third of the labels is twice as high: their error is most of both models' errors. */
  @Test
  void wrong_labels_do_not_hide_that_a_challenger_is_better() {
    SampleSet right = samples(CHALLENGER, 40, 1);
    List<ComputeSample> wrong = new ArrayList<>(right.compute());
    wrong.addAll(samples(CHALLENGER, 20, 2).compute());
    SampleSet recent = new SampleSet(wrong, right.collectives());
    ModelDecision decision = decide(Trigger.SAMPLES, recent, NO_SAMPLES);
    assertThat(decision.published()).as(decision.reason()).isTrue();
    assertThat(decision.reason()).contains("error on 60 recent held-out computations");
    assertThat(decision.challengerRecentError().getAsDouble()).isLessThan(1e-5);
  }
}
