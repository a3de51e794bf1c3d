package io.shardtide.learning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.CostSampleBuilder;
import io.shardtide.cost.SampleSet;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.TrainingPolicy;
import io.shardtide.domain.TrainingState;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Machine;
import io.shardtide.testing.MeasuredMachine;
import io.shardtide.testing.PlainTowers;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TrainingSetTest {
  private static final CandidateModel CHAMPION =
      new CandidateModel(Fixtures.model(), new PlainTowers(Fixtures.bundle()));

  private static List<CostSample> samples(String source, int plans, long seed, double factor) {
    return MeasuredMachine.samples(
        new Machine(0, Machine.Change.NONE, 0.01).measure(plans, seed),
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
  void a_fifth_of_the_measurements_is_held_back_and_not_learned_from() {
    TrainingSet set =
        TrainingSet.of(
            samples("a", 50, 1, 1), OptionalInt.empty(), TrainingPolicy.DEFAULTS, CHAMPION);
    int learned = set.recent().learned().compute().size();
    int held = set.recent().heldBack().compute().size();
    assertThat(learned + held).isEqualTo(200);
    assertThat(held).isBetween(40, 80);
    assertThat(labels(set.recent().learned().compute()))
        .doesNotContainAnyElementsOf(labels(set.recent().heldBack().compute()));
    assertThat(set.old().learned().compute()).isEmpty();
    assertThat(set.recent().learned().tables()).as("alike but for columns").hasSizeBetween(35, 40);
  }

  /** Whoever measures a plan twice knows what the second measurement says. */
  @Test
  void whole_plans_are_held_back() {
    List<CostSample> all = measured(10, 5);
    TrainingSet set = TrainingSet.of(all, OptionalInt.empty(), TrainingPolicy.DEFAULTS, CHAMPION);
    assertThat(set.recent().heldBack().compute()).hasSizeBetween(10, 25);
    assertThat(set.recent().learned().compute())
        .hasSize(50 - set.recent().heldBack().compute().size());
    assertThat(plans(set.recent().learned()))
        .doesNotContainAnyElementsOf(plans(set.recent().heldBack()));
  }

  @Test
  void of_one_plan_measurements_are_held_back() {
    TrainingSet.WeightedSamples part =
        TrainingSet.of(measured(1, 50), OptionalInt.empty(), TrainingPolicy.DEFAULTS, CHAMPION)
            .recent();
    assertThat(part.heldBack().compute()).hasSizeBetween(10, 25);
    assertThat(part.learned().compute()).hasSize(50 - part.heldBack().compute().size());
  }

  @Test
  void a_plan_that_has_more_than_half_is_never_held_back() {
    List<CostSample> all = new ArrayList<>(measured(1, 50));
    all.addAll(measured(5, 4));
    TrainingSet.WeightedSamples part =
        TrainingSet.of(all, OptionalInt.empty(), TrainingPolicy.DEFAULTS, CHAMPION).recent();
    assertThat(part.heldBack().compute()).hasSizeBetween(14, 24);
    assertThat(part.learned().compute()).hasSize(70 - part.heldBack().compute().size());
  }

  /** Each plan has one device with one table, and is measured several times. */
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
                    0, List.of(Fixtures.table("t", 1_000 + p, 4 * (1 + p), 1)), 1 + p, 1)));
      }
    }
    return samples;
  }

  private static Set<Integer> plans(SampleSet samples) {
    Set<Integer> widths = new HashSet<>();
    samples.compute().forEach(sample -> widths.add(sample.shards().get(0).width()));
    return widths;
  }

  @Test
  void after_a_drift_the_recent_are_those_since_the_alarm_and_the_doubtful_are_left_out() {
    List<CostSample> all = new ArrayList<>(samples("a", 40, 1, 1));
    all.addAll(samples("b", 10, 2, 1.5));
    TrainingSet set = TrainingSet.of(all, OptionalInt.of(200), TrainingPolicy.DEFAULTS, CHAMPION);
    assertThat(set.recent().learned().compute().size() + set.recent().heldBack().compute().size())
        .isEqualTo(40);
    // 200 samples before, of which 80 are doubtful; a fifth of the rest are exchanges.
    assertThat(set.old().learned().compute().size() + set.old().heldBack().compute().size())
        .isEqualTo(96);
    assertThat(set.sources()).containsExactly("a", "b");
  }

  @Test
  void no_source_has_more_than_its_share() {
    List<CostSample> all = new ArrayList<>(samples("a", 60, 1, 1));
    all.addAll(samples("b", 20, 2, 1));
    all.addAll(samples("c", 20, 3, 1));
    assertThat(SourceQuota.of(all)).hasSize(300);
    assertThat(SourceQuota.of(all)).filteredOn(s -> s.source().equals("a")).hasSize(100);
    assertThat(SourceQuota.of(all.subList(0, 300))).as("one source alone").hasSize(300);
    assertThat(SourceQuota.thinned(all, 10)).hasSize(10).contains(all.get(all.size() - 1));
  }

  @Test
  void labels_count_no_more_than_their_group_says() {
    List<CostSample> all = new ArrayList<>(samples("a", 20, 1, 1));
    all.addAll(samples("b", 20, 2, 1));
    all.addAll(samples("liar", 20, 3, 10));
    TrainingSet set = TrainingSet.of(all, OptionalInt.empty(), TrainingPolicy.DEFAULTS, CHAMPION);
    List<Double> ratios = new ArrayList<>();
    for (var c :
        io.shardtide.cost.Evaluation.of(CHAMPION.model(), CHAMPION.towers(), set.recent().learned())
            .computations()) {
      ratios.add(c.sample().computeMs() / c.predictedMs());
    }
    assertThat(ratios).allMatch(ratio -> ratio < 2.05).anyMatch(ratio -> ratio > 1.9);
    assertThat(ratios.stream().filter(ratio -> ratio > 1.5).count())
        .isLessThanOrEqualTo(ratios.size() * 45 / 100);
  }

  @Test
  void batches_of_another_size_than_most_are_left_out_and_counted() {
    List<CostSample> all = new ArrayList<>(samples("a", 20, 1, 1));
    CostSample odd = all.get(0);
    all.add(
        CostSampleBuilder.builder()
            .measurementId("odd")
            .hardware(odd.hardware())
            .workloadId(odd.workloadId())
            .planId(odd.planId())
            .modelId(odd.modelId())
            .source(odd.source())
            .batchSize(17)
            .steps(1)
            .measuredAt(odd.measuredAt())
            .cost(odd.cost())
            .build());
    TrainingSet set = TrainingSet.of(all, OptionalInt.empty(), TrainingPolicy.DEFAULTS, CHAMPION);
    assertThat(set.otherBatches()).isEqualTo(1);
    assertThat(set.recent().learned().batchSize()).isEqualTo(Machine.BATCH);
  }

  @Test
  void samples_that_are_none_are_refused() {
    for (double ms : new double[] {Double.NaN, -1, 0, Double.POSITIVE_INFINITY, 3.15e10}) {
      CostSample bad =
          MeasuredMachine.sample(
              "m",
              "p",
              "a",
              new CostSample.Computation(0, List.of(Fixtures.table("t", 10, 4, 1)), ms, 1));
      assertThatThrownBy(() -> SampleCheck.check(bad))
          .isInstanceOf(RejectedException.class)
          .hasMessage(
              "The training sample has a computation of %s ms; legal are numbers above 0 to 600000 ms"
                  .formatted(ms));
    }
  }

  @Test
  void trainings_begin_after_drifts_samples_and_time_and_wait_longer_in_vain() {
    TrainingPolicy policy = TrainingPolicy.DEFAULTS;
    TrainingState state = TrainingState.begin(0);
    for (int i = 0; i < 500; i++) {
      assertThat(state.due(policy, 1_000)).isEmpty();
      state = state.received(true);
    }
    assertThat(state.due(policy, 1_000)).contains(ModelDecision.Trigger.SAMPLES);
    TrainingState vain = state.decided(false, 1_000);
    assertThat(after(vain, 999).due(policy, 1_000)).isEmpty();
    assertThat(after(vain, 1_000).due(policy, 1_000)).contains(ModelDecision.Trigger.SAMPLES);
    TrainingState good = state.decided(true, 1_000);
    assertThat(after(good, 40).due(policy, 86_401_000)).contains(ModelDecision.Trigger.SCHEDULE);
    assertThat(after(good, 39).due(policy, 86_401_000)).isEmpty();
    TrainingState alarmed = after(good, 39).alarmed("m");
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
  void after_a_drift_is_trained_again_each_time_there_is_twice_as_much() {
    TrainingPolicy policy = TrainingPolicy.DEFAULTS;
    TrainingState state = after(TrainingState.begin(0), 7).alarmed("m");
    List<Integer> trainedAt = new ArrayList<>();
    for (int i = 1; i <= 2_000; i++) {
      state = state.received(true);
      if (state.due(policy, 1_000).isPresent()) {
        trainedAt.add(i);
        state = state.decided(true, 1_000);
      }
    }
    assertThat(trainedAt).containsExactly(40, 80, 160, 320, 640, 1140, 1640);
    assertThat(state.driftFrom()).as("where the world of today begins").hasValue(7);
    // What did not help at 80 is tried again with twice as many new ones.
    TrainingState vain =
        after(
            after(after(TrainingState.begin(0).alarmed("m"), 40).decided(true, 0), 40)
                .decided(false, 0),
            159);
    assertThat(vain.due(policy, 1_000)).isEmpty();
    assertThat(after(vain, 1).due(policy, 1_000)).contains(ModelDecision.Trigger.DRIFT);
  }

  @Test
  void a_drift_that_is_long_ago_does_not_part_the_samples() {
    List<CostSample> all = samples("a", TrainingPolicy.DEFAULTS.recent() + 300, 1, 1);
    TrainingSet past = TrainingSet.of(all, OptionalInt.of(200), TrainingPolicy.DEFAULTS, CHAMPION);
    TrainingSet none = TrainingSet.of(all, OptionalInt.empty(), TrainingPolicy.DEFAULTS, CHAMPION);
    assertThat(past.recent().learned().compute()).isEqualTo(none.recent().learned().compute());
    assertThat(past.old().learned().compute()).isEqualTo(none.old().learned().compute());
  }

  private static TrainingState after(TrainingState state, int computations) {
    TrainingState next = state;
    for (int i = 0; i < computations; i++) {
      next = next.received(true);
    }
    return next;
  }
}
