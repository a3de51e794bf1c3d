package io.shardtide.learn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.CostSample;
import io.shardtide.plan.CostQuantity;
import io.shardtide.plan.MeasuredCollective;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.MeasuredCostsBuilder;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanMoves;
import io.shardtide.plan.PlanOrigin;
import io.shardtide.plan.Region;
import io.shardtide.plan.Replication;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Transfer;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.FeedbackState;
import io.shardtide.state.PlanHistory;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.SimulatedTrainer;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.Random;
import java.util.function.IntToDoubleFunction;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** Comparing measured with predicted costs: samples, alarms and attribution. */
class FeedbackStepTest {
  private final SimulatedTrainer trainer = new SimulatedTrainer();

  private static IntToDoubleFunction all(double factor) {
    return d -> factor;
  }

  private static IntToDoubleFunction one(int device, double factor) {
    return d -> d == device ? factor : 1;
  }

  /** Measures a plan several times with 2% noise; returns the alarms. */
  private List<DriftAlarm> measure(ShardingPlan plan, int times, IntToDoubleFunction factors) {
    Random random = new Random(times);
    List<DriftAlarm> alarms = new ArrayList<>();
    for (int i = 0; i < times; i++) {
      alarms.addAll(
          trainer
              .measure(plan, d -> factors.applyAsDouble(d) * (1 + 0.02 * random.nextGaussian()))
              .alarms());
    }
    return alarms;
  }

  @Test
  void durations_of_all_to_alls_and_forward_computations_become_part_of_the_samples() {
    ShardingPlan plan = trainer.plan();
    MeasuredCosts plain = trainer.measured(plan, all(1));
    List<MeasuredDevice> devices =
        plain.devices().stream()
            .map(
                d ->
                    new MeasuredDevice(
                        d.computeMs(),
                        d.forwardCommMs(),
                        d.backwardCommMs(),
                        OptionalDouble.of(d.computeMs() / 4)))
            .toList();
    List<Double> forward = devices.stream().map(d -> d.forwardCommMs() / 2).toList();
    List<Double> backward = devices.stream().map(MeasuredDevice::backwardCommMs).toList();
    MeasuredCosts measured =
        MeasuredCostsBuilder.builder(plain)
            .devices(devices)
            .collectives(
                List.of(
                    MeasuredCollective.ofNames("device", "all_to_all", "backward", backward),
                    MeasuredCollective.ofNames("device", "all_to_all", "forward", forward)))
            .build();
    List<CostSample> samples = trainer.step.measure(trainer.store, measured).samples();
    CostSample.Computation computation = (CostSample.Computation) samples.get(0).cost();
    assertThat(computation.measuredForwardMs()).hasValue(computation.measuredMs() / 4);
    CostSample.StepCommunication allToAll = (CostSample.StepCommunication) samples.get(4).cost();
    assertThat(allToAll.forwardMs()).isEqualTo(forward);
    assertThat(allToAll.backwardMs()).isEqualTo(backward);
    assertThat(allToAll.measured()).isEqualTo(devices);
  }

  @Test
  void a_measurement_becomes_samples_with_their_provenance() {
    ShardingPlan plan = trainer.plan();
    MeasuredCosts measured = trainer.measured(plan, all(1.5));
    Feedback feedback = trainer.step.measure(trainer.store, measured);
    assertThat(feedback.alarms()).isEmpty();
    assertThat(feedback.samples()).hasSize(5);
    CostSample first = feedback.samples().get(0);
    assertThat(first.measurementId()).isEqualTo(measured.measurementId());
    assertThat(first.planId()).isEqualTo(plan.planId());
    assertThat(first.modelId()).isEqualTo(plan.origin().modelId());
    assertThat(first.hardware()).isEqualTo(TestModels.bundle().hardware());
    assertThat(first.batchSize()).isEqualTo(65_536);
    assertThat(first.steps()).isEqualTo(10);
    CostSample.Computation computation = (CostSample.Computation) first.cost();
    assertThat(computation.measuredMs()).isEqualTo(1.5 * computation.predictedMs());
    assertThat(computation.predictedMs())
        .isEqualTo(plan.prediction().deviceCosts().get(0).computeMs());
    int columns = 0;
    for (int s = 0; s < 4; s++) {
      CostSample.Computation device = (CostSample.Computation) feedback.samples().get(s).cost();
      assertThat(device.device()).isEqualTo(s);
      columns += device.shards().stream().mapToInt(shard -> shard.table().columns()).sum();
    }
    CostSample.StepCommunication allToAll =
        (CostSample.StepCommunication) feedback.samples().get(4).cost();
    assertThat(columns).isEqualTo(12 * 64);
    assertThat(allToAll.columns().stream().mapToInt(c -> c).sum()).isEqualTo(12 * 64);
    assertThat(allToAll.measured()).isEqualTo(measured.devices());
    assertThat(feedback.ratios().get(CostQuantity.COMPUTE)).isCloseTo(1.5, within(1e-9));
  }

  @Test
  void nothing_but_the_generation_is_kept_of_a_deleted_workload() {
    ShardingPlan plan = trainer.plan();
    trainer.measure(plan, all(1));
    MeasuredCosts late = trainer.measured(plan, all(1));
    assertThat(trainer.entries()).hasSizeGreaterThan(10);
    trainer.delete();
    assertThat(trainer.entries())
        .hasSize(1)
        .containsValue(FeedbackState.deleted(plan.generation() + 1, PlanHistory.NONE));
    assertThatThrownBy(() -> trainer.step.measure(trainer.store, late))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.UNKNOWN_PLAN));
    trainer.step.onPlan(trainer.store, plan);
    assertThat(trainer.entries()).as("the plan came after the deletion").hasSize(1);
    trainer.measure(trainer.plan(), all(1));
  }

  /** A slow computation on another device changes the idle time, not the all-to-all. */
  @Test
  void idle_time_is_not_part_of_the_all_to_all() {
    ShardingPlan plan = trainer.plan();
    Feedback feedback = trainer.measure(plan, one(1, 3));
    assertThat(feedback.ratios().get(CostQuantity.FORWARD)).isCloseTo(1, within(1e-9));
    assertThat(feedback.ratios().get(CostQuantity.BACKWARD)).isCloseTo(1, within(1e-9));
    assertThat(feedback.ratios().get(CostQuantity.COMPUTE)).isCloseTo(1, within(1e-9));
  }

  @Test
  void a_single_device_has_no_all_to_all() {
    ShardingPlan plan =
        trainer.plan(Fixtures.set(1, 8 * Fixtures.GIB), Fixtures.upsert("a", 1_000_000, 64, 20));
    Feedback feedback = trainer.measure(plan, all(1));
    assertThat(feedback.samples()).hasSize(1);
    assertThat(feedback.ratios()).containsOnlyKeys(CostQuantity.COMPUTE);
  }

  @Test
  void a_shift_of_all_devices_is_an_alarm_of_the_model() {
    ShardingPlan plan = trainer.plan();
    List<DriftAlarm> alarms = new ArrayList<>();
    int at = -1;
    for (int i = 0; i < 160 && alarms.isEmpty(); i++) {
      double factor = i < 100 ? 1 : 1.6;
      alarms.addAll(trainer.measure(plan, all(factor)).alarms());
      at = i;
    }
    DriftAlarm alarm = alarms.get(0);
    assertThat(alarms).hasSize(1);
    assertThat(at).isBetween(100, 159);
    assertThat(alarm.kind()).isEqualTo(DriftAlarm.AlarmKind.MODEL);
    assertThat(alarm.quantity()).isEqualTo(CostQuantity.COMPUTE);
    assertThat(alarm.detector()).isEqualTo("page-hinkley");
    assertThat(alarm.samples()).isEqualTo(at + 1);
    assertThat(alarm.usualRatio()).isCloseTo(1, within(1e-3));
    assertThat(alarm.recentRatio()).isCloseTo(1.6, within(1e-3));
    assertThat(alarm.modelId()).isEqualTo(plan.origin().modelId());
    for (int i = 0; i < 100; i++) {
      assertThat(trainer.measure(plan, all(1.6)).alarms()).as("the new baseline").isEmpty();
    }
  }

  @Test
  void a_straggler_is_identified_and_excluded_until_it_recovers() {
    ShardingPlan plan = trainer.plan();
    assertThat(measure(plan, 100, all(1))).isEmpty();
    List<DriftAlarm> alarms = measure(plan, 30, one(2, 1.8));
    assertThat(alarms).hasSize(1);
    assertThat(alarms.get(0).kind()).isEqualTo(DriftAlarm.AlarmKind.STRAGGLER);
    assertThat(alarms.get(0).device()).isEqualTo(OptionalInt.of(2));
    assertThat(alarms.get(0).recentRatio()).isBetween(1.7, 1.9);
    Feedback slow = trainer.measure(plan, one(2, 1.8));
    assertThat(slow.excluded()).containsEntry(ExclusionReason.SLOW_DEVICE, 1);
    assertThat(slow.samples())
        .hasSize(4)
        .noneMatch(s -> s.cost() instanceof CostSample.Computation c && c.device() == 2);
    for (int i = 0; i < 3; i++) {
      trainer.measure(plan, all(1));
    }
    assertThat(trainer.measure(plan, all(1)).samples()).hasSize(5);
    assertThat(measure(plan, 30, one(2, 1.8))).as("it is slow again").hasSize(1);
  }

  @Test
  void one_of_two_devices_can_be_a_straggler() {
    ShardingPlan plan =
        trainer.plan(
            Fixtures.set(2, 8 * Fixtures.GIB),
            Fixtures.upsert("a", 1_000_000, 64, 20),
            Fixtures.upsert("b", 1_000_000, 64, 20));
    assertThat(measure(plan, 60, all(1))).isEmpty();
    assertThat(measure(plan, 20, one(0, 2)))
        .singleElement()
        .satisfies(a -> assertThat(a.device()).isEqualTo(OptionalInt.of(0)));
  }

  @Test
  void three_slow_measurements_are_no_alarm() {
    ShardingPlan plan = trainer.plan();
    assertThat(measure(plan, 60, all(1))).isEmpty();
    for (int i = 0; i < 20; i++) {
      assertThat(measure(plan, 3, all(8))).isEmpty();
      assertThat(measure(plan, 17, all(1))).isEmpty();
    }
  }

  @Test
  void a_straggler_stays_one_under_another_model() {
    ShardingPlan plan = trainer.plan();
    measure(plan, 60, all(1));
    assertThat(measure(plan, 20, one(1, 2))).hasSize(1);
    ShardingPlan next = adopt(plan, p -> with(p, "other-model", p.transition().moves()));
    Feedback feedback = trainer.measure(next, one(1, 2));
    assertThat(feedback.excluded()).containsEntry(ExclusionReason.SLOW_DEVICE, 1);
    assertThat(measure(next, 60, one(1, 2))).as("no second alarm").isEmpty();
  }

  /** The tables cost more than predicted, on whichever device they are. */
  @Test
  void an_excess_that_moves_with_tables_is_an_alarm_of_the_model() {
    ShardingPlan plan = trainer.plan();
    measure(plan, 60, all(1));
    assertThat(measure(plan, 20, one(1, 1.8)))
        .extracting(DriftAlarm::kind)
        .containsExactly(DriftAlarm.AlarmKind.STRAGGLER);
    Transfer move = new Transfer(new Overlap("t1", new Region(0, 64, 0, 1_010_000), 1, 3), 1);
    ShardingPlan next = adopt(plan, p -> with(p, p.origin().modelId(), List.of(move)));
    List<DriftAlarm> alarms = measure(next, 20, one(3, 1.8));
    assertThat(alarms).extracting(DriftAlarm::kind).containsExactly(DriftAlarm.AlarmKind.MODEL);
    assertThat(trainer.measure(next, one(3, 1.8)).samples()).as("no straggler").hasSize(5);
  }

  @Test
  void an_excess_on_another_device_without_moved_tables_is_another_straggler() {
    ShardingPlan plan = trainer.plan();
    measure(plan, 60, all(1));
    assertThat(measure(plan, 20, one(1, 1.8))).hasSize(1);
    ShardingPlan next = adopt(plan, p -> with(p, p.origin().modelId(), List.of()));
    assertThat(measure(next, 20, one(3, 1.8)))
        .singleElement()
        .satisfies(a -> assertThat(a.device()).isEqualTo(OptionalInt.of(3)));
  }

  private ShardingPlan adopt(ShardingPlan plan, UnaryOperator<ShardingPlan> change) {
    ShardingPlan next = change.apply(plan).identified();
    trainer.step.onPlan(trainer.store, next);
    return next;
  }

  private static ShardingPlan with(ShardingPlan p, String modelId, List<Transfer> moves) {
    return new ShardingPlan(
        "",
        new PlanOrigin(
            p.workloadId(),
            p.generation(),
            p.origin().firstGeneration(),
            p.origin().effort(),
            p.origin().source(),
            modelId,
            p.origin().settings(),
            Optional.of(p.planId()),
            List.of()),
        "another",
        p.shards(),
        Replication.NONE,
        List.of(),
        List.of(),
        p.prediction(),
        new PlanMoves(moves, List.of()),
        p.run());
  }
}
