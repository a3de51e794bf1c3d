package io.shardtide.learning;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.SampleSet;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.ModelDecision.Trigger;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.TrainingPolicy;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What takes over, and what does not. */
class CandidateEvaluationTest {
  private static final CandidateModel CHAMPION = contender(Fixtures.bundle());
  private static final CandidateModel CHALLENGER = contender(dearer(Fixtures.bundle()));
  private static final CandidateEvaluation TRIAL = new CandidateEvaluation(TrainingPolicy.DEFAULTS);
  private static final SampleSet NONE = samples(CHAMPION, 0, 1);

  private static CandidateModel contender(ModelBundle bundle) {
    return new CandidateModel(new CostModel(bundle), new PlainTowers(bundle));
  }

  /** Returns a model that says 1.3 times the work for everything. */
  private static ModelBundle dearer(ModelBundle bundle) {
    return ModelBundleBuilder.builder(bundle)
        .modelId("")
        .computeCoefficients(bundle.computeCoefficients().stream().map(c -> 1.3 * c).toList())
        .build()
        .identified();
  }

  /** Computations that cost a factor of what a model says. */
  private static SampleSet samples(CandidateModel truth, int count, double factor) {
    List<TableSpec> tables =
        IntStream.range(0, 10)
            .mapToObj(t -> Fixtures.table("t" + t, 100_000L * (t + 1), 64, 2 + t))
            .toList();
    List<ComputeSample> asked = new ArrayList<>();
    for (int s = 0; s < count; s++) {
      asked.add(
          new ComputeSample(
              List.of(
                  new ComputeSample.SampledShard(s % 10, 64),
                  new ComputeSample.SampledShard((s + 3) % 10, 32)),
              1));
    }
    List<ComputeSample> told =
        Evaluation.of(
                truth.model(),
                truth.towers(),
                new SampleSet(tables, 65_536, asked, new TreeMap<>()))
            .computations()
            .stream()
            .map(c -> new ComputeSample(c.sample().shards(), factor * c.predictedMs()))
            .toList();
    return new SampleSet(tables, 65_536, told, new TreeMap<>());
  }

  private static ModelDecision decide(Trigger trigger, SampleSet recent, SampleSet old) {
    TrainingSet set =
        new TrainingSet(
            new TrainingSet.WeightedSamples(recent, recent),
            new TrainingSet.WeightedSamples(old, old),
            List.of("trainer"),
            0);
    return TRIAL.decide(trigger, set, CHAMPION, CHALLENGER, Fixtures.TIME);
  }

  @Test
  void what_is_better_on_the_recent_takes_over() {
    ModelDecision decision = decide(Trigger.SAMPLES, samples(CHALLENGER, 20, 1), NONE);
    assertThat(decision.published()).as(decision.reason()).isTrue();
    assertThat(decision.challengerRecentError().getAsDouble()).isLessThan(1e-5);
    assertThat(decision.championRecentError().getAsDouble()).isGreaterThan(0.01);
    assertThat(decision.championOldError()).isEmpty();
    assertThat(decision.reason()).startsWith("The challenger takes over: error on 20 recent");
  }

  @Test
  void what_is_no_better_does_not() {
    ModelDecision decision = decide(Trigger.SAMPLES, samples(CHAMPION, 20, 1), NONE);
    assertThat(decision.published()).isFalse();
    assertThat(decision.reason()).contains("must be better on the recent by 10%");
  }

  @Test
  void what_is_judged_by_too_little_does_not() {
    ModelDecision decision =
        decide(
            Trigger.SAMPLES, samples(CHALLENGER, CandidateEvaluation.MIN_HELD_BACK - 1, 1), NONE);
    assertThat(decision.published()).isFalse();
    assertThat(decision.reason()).contains("because 7 computations are held back and 8 are needed");
  }

  @Test
  void what_forgot_the_old_does_not_unless_the_world_changed_by_as_much() {
    SampleSet recent = samples(CHALLENGER, 20, 1);
    SampleSet old = samples(CHAMPION, 20, 1);
    ModelDecision forgot = decide(Trigger.SAMPLES, recent, old);
    assertThat(forgot.published()).as(forgot.reason()).isFalse();
    assertThat(forgot.reason()).contains("may be off by", "on the old");
    ModelDecision drifted = decide(Trigger.DRIFT, recent, old);
    assertThat(drifted.published())
        .as("as far from the old as the new is from there: %s", drifted.reason())
        .isTrue();
    // What is measured now lies between the two, and the challenger overshoots.
    ModelDecision beyond = decide(Trigger.DRIFT, samples(CHALLENGER, 20, 0.95), old);
    assertThat(beyond.published()).as(beyond.reason()).isFalse();
    assertThat(beyond.reason()).contains("by no more than the drift itself");
  }
}
