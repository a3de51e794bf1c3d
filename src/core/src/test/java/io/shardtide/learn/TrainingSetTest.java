package io.shardtide.learn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.CostSampleBuilder;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.SampleSet;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.state.TrainingState;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Machine;
import io.shardtide.testing.MeasuredMachine;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.RejectedException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TrainingSetTest {
  private static final CandidateModel CHAMPION =
      new CandidateModel(TestModels.model(), new PlainTowers(TestModels.bundle()));

  private static List<CostSample> samples(String source, int plans, long seed, double factor) {
    return MeasuredMachine.samples(
        new Machine(0, Machine.CostChange.NONE, 0.01).measure(plans, seed),
        source + "-",
        source,
        factor);
  }

  private static Set<Double> labels(List<ComputeSample> samples) {
    Set<Double> labels = new HashSet<>();
    samples.forEach(sample -> labels.add(sample.computeMs()));
    return labels;
  }

  @Test
  void at_least_a_fifth_of_the_measurements_is_held_out() {
    TrainingSet set =
        TrainingSet.of(
            samples("a", 50, 1, 1), OptionalInt.empty(), TrainingPolicy.DEFAULTS, CHAMPION);
    int training = set.recent().training().compute().size();
    int heldOut = set.recent().heldOut().samples().compute().size();
    assertThat(training + heldOut).isEqualTo(200);
    assertThat(heldOut).isBetween(40, 80);
    assertThat(labels(set.recent().training().compute()))
        .doesNotContainAnyElementsOf(labels(set.recent().heldOut().samples().compute()));
    assertThat(set.old().training().compute()).isEmpty();
    assertThat(set.recent().training().tables())
        .as("shards of different widths share a table")
        .hasSizeBetween(35, 40);
  }

  @Test
  void towers_run_once_for_recent_and_once_for_old_samples() {
    CountedTowers champion = new CountedTowers(CHAMPION);
    TrainingSet.of(
        samples("a", 50, 1, 1), OptionalInt.empty(), TrainingPolicy.DEFAULTS, champion.candidate());
    assertThat(champion.runs()).isEqualTo(2);
  }

  /** A second measurement of a plan is no independent evidence. */
  @Test
  void whole_plans_are_held_out() {
    List<CostSample> all = measured(10, 5);
    TrainingSet set = TrainingSet.of(all, OptionalInt.empty(), TrainingPolicy.DEFAULTS, CHAMPION);
    assertThat(set.recent().heldOut().samples().compute()).hasSizeBetween(10, 25);
    assertThat(set.recent().training().compute())
        .hasSize(50 - set.recent().heldOut().samples().compute().size());
    assertThat(plans(set.recent().training()))
        .doesNotContainAnyElementsOf(plans(set.recent().heldOut().samples()));
  }

  @Test
  void of_a_single_plan_measurements_are_held_out() {
    TrainingSet.SampleSplit split =
        TrainingSet.of(measured(1, 50), OptionalInt.empty(), TrainingPolicy.DEFAULTS, CHAMPION)
            .recent();
    assertThat(split.heldOut().samples().compute()).hasSizeBetween(10, 25);
    assertThat(split.training().compute()).hasSize(50 - split.heldOut().samples().compute().size());
  }

  @Test
  void a_plan_with_more_than_half_of_the_measurements_is_never_held_out() {
    List<CostSample> all = new ArrayList<>(measured(1, 50));
    all.addAll(measured(5, 4));
    TrainingSet.SampleSplit split =
        TrainingSet.of(all, OptionalInt.empty(), TrainingPolicy.DEFAULTS, CHAMPION).recent();
    assertThat(split.heldOut().samples().compute()).hasSizeBetween(14, 24);
    assertThat(split.training().compute()).hasSize(70 - split.heldOut().samples().compute().size());
  }

  /** Measures plans of one device with one table several times. */
  private static List<CostSample> measured(int plans, int times) {
    List<CostSample> samples = new ArrayList<>();
    for (int i = 0; i < times; i++) {
      for (int p = 0; p < plans; p++) {
        String plan = "plan %d of %d".formatted(p, plans);
        samples.add(
            MeasuredMachine.sample(
                "%s, measurement %d".formatted(plan, i),
                plan,
                "a",
                new CostSample.Computation(
                    0,
                    List.of(
                        DeviceShard.ofColumns(
                            Fixtures.table("t", 1_000 + p, 4 * (1 + p), 1), Machine.BATCH)),
                    1 + p,
                    OptionalDouble.empty(),
                    1)));
      }
    }
    return samples;
  }

  private static Set<Integer> plans(SampleSet samples) {
    Set<Integer> widths = new HashSet<>();
    samples.compute().forEach(sample -> widths.add(sample.shards().get(0).table().columns()));
    return widths;
  }

  @Test
  void after_a_drift_recent_samples_begin_at_the_alarm_and_the_transition_is_left_out() {
    List<CostSample> all = new ArrayList<>(samples("a", 40, 1, 1));
    all.addAll(samples("b", 10, 2, 1.5));
    TrainingSet set = TrainingSet.of(all, OptionalInt.of(200), TrainingPolicy.DEFAULTS, CHAMPION);
    assertThat(
            set.recent().training().compute().size()
                + set.recent().heldOut().samples().compute().size())
        .isEqualTo(40);
    // 200 samples before, 80 of them in the transition; a fifth of the others are all-to-alls.
    assertThat(
            set.old().training().compute().size() + set.old().heldOut().samples().compute().size())
        .isEqualTo(96);
    assertThat(set.sources()).containsExactly("a", "b");
  }

  @Test
  void no_source_exceeds_its_quota() {
    List<CostSample> all = new ArrayList<>(samples("a", 60, 1, 1));
    all.addAll(samples("b", 20, 2, 1));
    all.addAll(samples("c", 20, 3, 1));
    assertThat(SourceQuota.apply(all)).hasSize(300);
    assertThat(SourceQuota.apply(all)).filteredOn(s -> s.source().equals("a")).hasSize(100);
    assertThat(SourceQuota.apply(all.subList(0, 300))).as("a single source").hasSize(300);
    assertThat(SourceQuota.thin(all, 10)).hasSize(10).contains(all.get(all.size() - 1));
  }

  @Test
  void labels_are_winsorized() {
    List<CostSample> all = new ArrayList<>(samples("a", 20, 1, 1));
    all.addAll(samples("b", 20, 2, 1));
    all.addAll(samples("faulty", 20, 3, 10));
    TrainingSet set = TrainingSet.of(all, OptionalInt.empty(), TrainingPolicy.DEFAULTS, CHAMPION);
    List<Double> ratios = new ArrayList<>();
    for (var c :
        Evaluation.of(CHAMPION.model(), CHAMPION.towers(), set.recent().training())
            .computations()) {
      ratios.add(c.sample().computeMs() / c.predictedMs());
    }
    assertThat(ratios).allMatch(ratio -> ratio < 2.05).anyMatch(ratio -> ratio > 1.9);
    assertThat(ratios.stream().filter(ratio -> ratio > 1.5).count())
        .isLessThanOrEqualTo(ratios.size() * 45 / 100);
  }

  /** What is learned of one workload serves all on that hardware, whatever their batch sizes. */
  @Test
  void samples_of_all_batch_sizes_are_used() {
    List<CostSample> all = new ArrayList<>(samples("a", 20, 1, 1));
    int computations =
        (int) all.stream().filter(s -> s.cost() instanceof CostSample.Computation).count();
    for (CostSample sample : samples("b", 20, 1, 1)) {
      all.add(smaller(sample));
    }
    TrainingSet set = TrainingSet.of(all, OptionalInt.empty(), TrainingPolicy.DEFAULTS, CHAMPION);
    List<SampleSet> sets = List.of(set.recent().training(), set.recent().heldOut().samples());
    assertThat(sets).flatExtracting(SampleSet::compute).hasSize(2 * computations);
    assertThat(sets)
        .allSatisfy(
            half ->
                assertThat(half.compute())
                    .extracting(sample -> sample.shards().get(0).reuseBatchSize())
                    .contains(Machine.BATCH, Machine.BATCH / 4));
  }

  private static CostSample smaller(CostSample sample) {
    int batchSize = Machine.BATCH / 4;
    CostSampleBuilder smaller = CostSampleBuilder.builder(sample).batchSize(batchSize);
    return sample.cost() instanceof CostSample.Computation of
        ? smaller
            .cost(
                new CostSample.Computation(
                    of.device(),
                    of.shards().stream()
                        .map(shard -> DeviceShard.ofColumns(shard.table(), batchSize))
                        .toList(),
                    of.measuredMs(),
                    of.measuredForwardMs(),
                    of.predictedMs()))
            .build()
        : smaller.build();
  }

  @Test
  void implausible_samples_are_rejected() {
    for (double ms : new double[] {Double.NaN, -1, 0, Double.POSITIVE_INFINITY, 3.15e10}) {
      CostSample bad =
          MeasuredMachine.sample(
              "m",
              "p",
              "a",
              new CostSample.Computation(
                  0,
                  List.of(DeviceShard.ofColumns(Fixtures.table("t", 10, 4, 1), 100)),
                  ms,
                  OptionalDouble.empty(),
                  1));
      assertThatThrownBy(() -> SampleCheck.check(bad))
          .isInstanceOf(RejectedException.class)
          .hasMessage(
              "Invalid training sample: computation must be above 0 and at most 600000 ms, got %s ms"
                  .formatted(ms));
    }
  }

  @Test
  void retraining_is_triggered_by_drift_samples_and_schedule_and_backs_off_after_a_rejection() {
    TrainingPolicy policy = TrainingPolicy.DEFAULTS;
    TrainingState state = TrainingState.begin(0);
    for (int i = 0; i < 500; i++) {
      assertThat(state.due(policy, 1_000)).isEmpty();
      state = state.received(true);
    }
    assertThat(state.due(policy, 1_000)).contains(ModelDecision.Trigger.SAMPLES);
    TrainingState rejected = state.decided(false, 1_000);
    assertThat(after(rejected, 999).due(policy, 1_000)).isEmpty();
    assertThat(after(rejected, 1_000).due(policy, 1_000)).contains(ModelDecision.Trigger.SAMPLES);
    TrainingState published = state.decided(true, 1_000);
    assertThat(after(published, 40).due(policy, 86_401_000))
        .contains(ModelDecision.Trigger.SCHEDULE);
    assertThat(after(published, 39).due(policy, 86_401_000)).isEmpty();
    TrainingState alarmed = after(published, 39).alarmed("m");
    assertThat(alarmed.driftFrom()).hasValue(539);
    assertThat(after(alarmed, 39).due(policy, 2_000)).isEmpty();
    assertThat(after(alarmed, 40).due(policy, 2_000)).contains(ModelDecision.Trigger.DRIFT);
    assertThat(after(alarmed, 40).alarmed("m")).isEqualTo(after(alarmed, 40));
    assertThat(alarmed.forModel("other").driftFrom()).isEmpty();
    TrainingState again = after(alarmed, 40).decided(false, 2_000);
    assertThat(after(again, 79).due(policy, 2_000)).isEmpty();
    assertThat(after(again, 80).due(policy, 2_000)).contains(ModelDecision.Trigger.DRIFT);
  }

  @Test
  void after_a_drift_the_model_is_retrained_each_time_the_samples_double() {
    TrainingPolicy policy = TrainingPolicy.DEFAULTS;
    TrainingState state = after(TrainingState.begin(0), 7).alarmed("m");
    List<Integer> retrainedAt = new ArrayList<>();
    for (int i = 1; i <= 2_000; i++) {
      state = state.received(true);
      if (state.due(policy, 1_000).isPresent()) {
        retrainedAt.add(i);
        state = state.decided(true, 1_000);
      }
    }
    assertThat(retrainedAt).containsExactly(40, 80, 160, 320, 640, 1140, 1640);
    assertThat(state.driftFrom()).hasValue(7);
    // After a rejected challenger at 80, twice as many new samples are required.
    TrainingState rejected =
        after(
            after(after(TrainingState.begin(0).alarmed("m"), 40).decided(true, 0), 40)
                .decided(false, 0),
            159);
    assertThat(rejected.due(policy, 1_000)).isEmpty();
    assertThat(after(rejected, 1).due(policy, 1_000)).contains(ModelDecision.Trigger.DRIFT);
  }

  @Test
  void a_drift_before_the_recent_samples_is_ignored() {
    List<CostSample> all = samples("a", TrainingPolicy.DEFAULTS.recent() + 300, 1, 1);
    TrainingSet past = TrainingSet.of(all, OptionalInt.of(200), TrainingPolicy.DEFAULTS, CHAMPION);
    TrainingSet none = TrainingSet.of(all, OptionalInt.empty(), TrainingPolicy.DEFAULTS, CHAMPION);
    assertThat(past.recent().training().compute()).isEqualTo(none.recent().training().compute());
    assertThat(past.old().training().compute()).isEqualTo(none.old().training().compute());
  }

  private static TrainingState after(TrainingState state, int computations) {
    TrainingState next = state;
    for (int i = 0; i < computations; i++) {
      next = next.received(true);
    }
    return next;
  }
}
