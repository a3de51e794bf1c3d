package io.shardtide.learning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.CostSample;
import io.shardtide.domain.Change;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.CostQuantity;
import io.shardtide.domain.DetectorKind;
import io.shardtide.domain.DeviceCost;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.MeasuredCostsBuilder;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.Move;
import io.shardtide.domain.Overlap;
import io.shardtide.domain.PlanMoves;
import io.shardtide.domain.PlanOrigin;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.Region;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.RememberedPlans;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Trainer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.function.IntToDoubleFunction;
import java.util.function.UnaryOperator;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Measured beside predicted costs: what is learned from, what is an alarm, what is refused. */
class FeedbackStepTest {
  private final Trainer trainer = new Trainer();

  private static IntToDoubleFunction all(double factor) {
    return d -> factor;
  }

  private static IntToDoubleFunction one(int device, double factor) {
    return d -> d == device ? factor : 1;
  }

  /** Measures again and again, with a little noise; returns what was alarming. */
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
  void a_measurement_becomes_samples_with_where_they_come_from() {
    ShardingPlan plan = trainer.plan();
    MeasuredCosts measured = trainer.measured(plan, all(1.5));
    Feedback feedback = trainer.step.measure(trainer.store, measured);
    assertThat(feedback.alarms()).isEmpty();
    assertThat(feedback.samples()).hasSize(5);
    CostSample first = feedback.samples().get(0);
    assertThat(first.measurementId()).isEqualTo(measured.measurementId());
    assertThat(first.planId()).isEqualTo(plan.planId());
    assertThat(first.modelId()).isEqualTo(plan.modelId());
    assertThat(first.hardware()).isEqualTo(Fixtures.bundle().hardware());
    assertThat(first.batchSize()).isEqualTo(65_536);
    assertThat(first.steps()).isEqualTo(10);
    CostSample.Computation computation = (CostSample.Computation) first.cost();
    assertThat(computation.measuredMs()).isEqualTo(1.5 * computation.predictedMs());
    assertThat(computation.predictedMs()).isEqualTo(plan.deviceCosts().get(0).computeMs());
    int columns = 0;
    for (int s = 0; s < 4; s++) {
      CostSample.Computation device = (CostSample.Computation) feedback.samples().get(s).cost();
      assertThat(device.device()).isEqualTo(s);
      columns += device.shards().stream().mapToInt(t -> t.columns()).sum();
    }
    CostSample.AllToAll exchange = (CostSample.AllToAll) feedback.samples().get(4).cost();
    assertThat(columns).isEqualTo(12 * 64);
    assertThat(exchange.columns().stream().mapToInt(c -> c).sum()).isEqualTo(12 * 64);
    assertThat(exchange.measured()).isEqualTo(measured.devices());
    assertThat(feedback.ratios().get(CostQuantity.COMPUTE)).isCloseTo(1.5, within(1e-9));
  }

  /** Waiting is not the exchange: a slow computation elsewhere leaves the exchange as it was. */
  @Test
  void waiting_for_a_slow_device_is_not_taken_for_a_slow_exchange() {
    ShardingPlan plan = trainer.plan();
    Feedback feedback = trainer.measure(plan, one(1, 3));
    assertThat(feedback.ratios().get(CostQuantity.FORWARD)).isCloseTo(1, within(1e-9));
    assertThat(feedback.ratios().get(CostQuantity.BACKWARD)).isCloseTo(1, within(1e-9));
    assertThat(feedback.ratios().get(CostQuantity.COMPUTE)).isCloseTo(1, within(1e-9));
  }

  @Test
  void one_device_alone_exchanges_nothing() {
    ShardingPlan plan =
        trainer.plan(Fixtures.set(1, 8 * Fixtures.GIB), Fixtures.upsert("a", 1_000_000, 64, 20));
    Feedback feedback = trainer.measure(plan, all(1));
    assertThat(feedback.samples()).hasSize(1);
    assertThat(feedback.ratios()).containsOnlyKeys(CostQuantity.COMPUTE);
  }

  @ParameterizedTest
  @EnumSource(DetectorKind.class)
  void a_model_that_becomes_wrong_for_all_is_an_alarm_of_the_model(DetectorKind kind) {
    Trainer other = new Trainer(kind);
    ShardingPlan plan = other.plan();
    List<DriftAlarm> alarms = new ArrayList<>();
    int at = -1;
    for (int i = 0; i < 160 && alarms.isEmpty(); i++) {
      double factor = i < 100 ? 1 : 1.6;
      alarms.addAll(other.measure(plan, all(factor)).alarms());
      at = i;
    }
    DriftAlarm alarm = alarms.get(0);
    assertThat(alarms).hasSize(1);
    assertThat(at).isBetween(100, 159);
    assertThat(alarm.kind()).isEqualTo(DriftAlarm.AlarmKind.MODEL);
    assertThat(alarm.quantity()).isEqualTo(CostQuantity.COMPUTE);
    assertThat(alarm.detector()).isEqualTo(kind.key());
    assertThat(alarm.samples()).isEqualTo(at + 1);
    assertThat(alarm.usualRatio()).isCloseTo(1, within(1e-3));
    assertThat(alarm.recentRatio()).isCloseTo(1.6, within(1e-3));
    assertThat(alarm.modelId()).isEqualTo(plan.modelId());
    for (int i = 0; i < 100; i++) {
      assertThat(other.measure(plan, all(1.6)).alarms()).as("what is usual now").isEmpty();
    }
  }

  @Test
  void a_slow_device_is_told_apart_and_not_learned_from_until_it_is_fast_again() {
    ShardingPlan plan = trainer.plan();
    assertThat(measure(plan, 100, all(1))).isEmpty();
    List<DriftAlarm> alarms = measure(plan, 30, one(2, 1.8));
    assertThat(alarms).hasSize(1);
    assertThat(alarms.get(0).kind()).isEqualTo(DriftAlarm.AlarmKind.STRAGGLER);
    assertThat(alarms.get(0).device()).isEqualTo(OptionalInt.of(2));
    assertThat(alarms.get(0).recentRatio()).isBetween(1.7, 1.9);
    Feedback slow = trainer.measure(plan, one(2, 1.8));
    assertThat(slow.setAside()).containsEntry(ExclusionReason.SLOW_DEVICE, 1);
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
  void one_of_two_devices_can_be_slow() {
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
  void spikes_of_a_few_measurements_are_no_alarm() {
    ShardingPlan plan = trainer.plan();
    assertThat(measure(plan, 60, all(1))).isEmpty();
    for (int i = 0; i < 20; i++) {
      assertThat(measure(plan, 3, all(8))).isEmpty();
      assertThat(measure(plan, 17, all(1))).isEmpty();
    }
  }

  @Test
  void a_slow_device_stays_slow_when_another_model_predicts() {
    ShardingPlan plan = trainer.plan();
    measure(plan, 60, all(1));
    assertThat(measure(plan, 20, one(1, 2))).hasSize(1);
    ShardingPlan next = take(plan, p -> with(p, "other-model", p.moves()));
    Feedback feedback = trainer.measure(next, one(1, 2));
    assertThat(feedback.setAside()).containsEntry(ExclusionReason.SLOW_DEVICE, 1);
    assertThat(measure(next, 60, one(1, 2))).as("it is known to be slow").isEmpty();
  }

  /** What moves with the tables is the tables' cost, not the device. */
  @Test
  void an_excess_that_moves_with_tables_is_the_models() {
    ShardingPlan plan = trainer.plan();
    measure(plan, 60, all(1));
    assertThat(measure(plan, 20, one(1, 1.8)))
        .extracting(DriftAlarm::kind)
        .containsExactly(DriftAlarm.AlarmKind.STRAGGLER);
    Move move = new Move(new Overlap("t1", new Region(0, 64, 0, 1_010_000), 1, 3), 1);
    ShardingPlan next = take(plan, p -> with(p, p.modelId(), List.of(move)));
    List<DriftAlarm> alarms = measure(next, 20, one(3, 1.8));
    assertThat(alarms).extracting(DriftAlarm::kind).containsExactly(DriftAlarm.AlarmKind.MODEL);
    assertThat(trainer.measure(next, one(3, 1.8)).samples()).as("nobody is slow").hasSize(5);
  }

  /** Without tables that moved it is another device. */
  @Test
  void an_excess_elsewhere_without_tables_is_another_slow_device() {
    ShardingPlan plan = trainer.plan();
    measure(plan, 60, all(1));
    assertThat(measure(plan, 20, one(1, 1.8))).hasSize(1);
    ShardingPlan next = take(plan, p -> with(p, p.modelId(), List.of()));
    assertThat(measure(next, 20, one(3, 1.8)))
        .singleElement()
        .satisfies(a -> assertThat(a.device()).isEqualTo(OptionalInt.of(3)));
  }

  private ShardingPlan take(ShardingPlan plan, UnaryOperator<ShardingPlan> change) {
    ShardingPlan next = change.apply(plan).identified();
    trainer.step.take(trainer.store, next);
    return next;
  }

  private static ShardingPlan with(ShardingPlan p, String modelId, List<Move> moves) {
    return new ShardingPlan(
        "",
        new PlanOrigin(
            p.workloadId(),
            p.generation(),
            p.firstGeneration(),
            p.effort(),
            p.source(),
            modelId,
            p.settings(),
            Optional.of(p.planId())),
        "another",
        p.shards(),
        p.prediction(),
        new PlanMoves(moves, List.of()),
        p.run());
  }

  private void assertRejected(MeasuredCosts measured, RejectionReason reason) {
    Map<String, Object> before = trainer.store.entries();
    assertThatThrownBy(() -> trainer.step.measure(trainer.store, measured))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> {
              assertThat(e.reason()).isEqualTo(reason);
              assertThat(e.getMessage()).containsAnyOf("legal", "must");
            });
    assertThat(trainer.store.entries()).isEqualTo(before);
  }

  @Test
  void a_plan_that_is_not_known_is_refused() {
    ShardingPlan plan = trainer.plan();
    MeasuredCosts m = trainer.measured(plan, all(1));
    assertRejected(
        MeasuredCostsBuilder.builder()
            .measurementId("x")
            .workloadId(m.workloadId())
            .planId("no-such-plan")
            .run("run")
            .step(1)
            .steps(1)
            .devices(m.devices())
            .source("t")
            .measuredAt(Fixtures.TIME)
            .build(),
        RejectionReason.UNKNOWN_PLAN);
    assertRejected(
        MeasuredCostsBuilder.builder()
            .measurementId("x")
            .workloadId("another")
            .planId(plan.planId())
            .run("run")
            .step(1)
            .steps(1)
            .devices(m.devices())
            .source("t")
            .measuredAt(Fixtures.TIME)
            .build(),
        RejectionReason.UNKNOWN_PLAN);
  }

  @Test
  void what_was_taken_before_is_refused() {
    ShardingPlan plan = trainer.plan();
    MeasuredCosts measured = trainer.measured(plan, all(1));
    trainer.step.measure(trainer.store, measured);
    assertRejected(measured, RejectionReason.DUPLICATE_MEASUREMENT);
  }

  private MeasuredCosts at(ShardingPlan plan, String id, String run, long step) {
    return MeasuredCostsBuilder.builder()
        .measurementId(id)
        .workloadId(plan.workloadId())
        .planId(plan.planId())
        .run(run)
        .step(step)
        .steps(1)
        .devices(trainer.measured(plan, all(1)).devices())
        .source("t")
        .measuredAt(Fixtures.TIME)
        .build();
  }

  @Test
  void a_step_that_is_not_after_the_last_of_its_run_is_refused() {
    ShardingPlan plan = trainer.plan();
    trainer.step.measure(trainer.store, at(plan, "a", "one", 100));
    assertRejected(at(plan, "b", "one", 100), RejectionReason.STALE_MEASUREMENT);
    assertRejected(at(plan, "b", "one", 99), RejectionReason.STALE_MEASUREMENT);
    trainer.step.measure(trainer.store, at(plan, "b", "two", 1));
    assertRejected(at(plan, "c", "one", 50), RejectionReason.STALE_MEASUREMENT);
    trainer.step.measure(trainer.store, at(plan, "c", "one", 101));
  }

  private void report(ShardingPlan plan, PlanStatus.StatusKind kind, long step) {
    trainer.step.report(
        trainer.store,
        new PlanStatus(
            plan.workloadId(),
            plan.planId(),
            kind,
            step,
            Optional.empty(),
            "t",
            "run",
            Fixtures.TIME));
  }

  @Test
  void a_plan_is_stale_once_a_newer_one_was_adopted() {
    ShardingPlan old = trainer.plan();
    trainer.measure(old, all(1));
    report(old, PlanStatus.StatusKind.ADOPTED, 1);
    ShardingPlan next = trainer.plan(Fixtures.upsert("new", 1_000, 4, 1));
    trainer.measure(old, all(1));
    trainer.measure(next, all(1));
    report(next, PlanStatus.StatusKind.ADOPTED, 2);
    assertRejected(trainer.measured(old, all(1)), RejectionReason.STALE_MEASUREMENT);
    report(old, PlanStatus.StatusKind.ADOPTED, 1);
    assertRejected(trainer.measured(old, all(1)), RejectionReason.STALE_MEASUREMENT);
    report(next, PlanStatus.StatusKind.REJECTED, 3);
    trainer.measure(old, all(1));
  }

  @Test
  void while_nobody_reports_the_latest_plan_is_the_one_that_runs() {
    ShardingPlan old = trainer.plan();
    trainer.plan(Fixtures.upsert("new", 1_000, 4, 1));
    assertRejected(trainer.measured(old, all(1)), RejectionReason.STALE_MEASUREMENT);
  }

  @Test
  void tables_that_are_not_what_they_were_cannot_be_compared() {
    ShardingPlan plan = trainer.plan();
    report(plan, PlanStatus.StatusKind.ADOPTED, 1);
    trainer.plan(Fixtures.upsert("other", 1_000, 4, 1));
    trainer.measure(plan, all(1));
    trainer.plan(Fixtures.upsert("t3", 5_000_000, 64, 20));
    assertRejected(trainer.measured(plan, all(1)), RejectionReason.INCOMPARABLE_MEASUREMENT);
    ShardingPlan next = trainer.plan(Fixtures.drop("t3"));
    trainer.measure(next, all(1));
    assertRejected(trainer.measured(plan, all(1)), RejectionReason.INCOMPARABLE_MEASUREMENT);
  }

  @Test
  void another_batch_size_cannot_be_compared() {
    ShardingPlan plan = trainer.plan();
    report(plan, PlanStatus.StatusKind.ADOPTED, 1);
    ClusterSpec cluster = Fixtures.cluster(4, 8 * Fixtures.GIB);
    trainer.plan(
        new Change.ClusterSet(
            new ClusterSpec(4, cluster.memoryBytesPerDevice(), 1_024, 8, cluster.hardware())));
    assertRejected(trainer.measured(plan, all(1)), RejectionReason.INCOMPARABLE_MEASUREMENT);
  }

  private static List<MeasuredDevice> devices(ShardingPlan plan) {
    return new ArrayList<>(
        plan.deviceCosts().stream()
            .map(c -> new MeasuredDevice(c.computeMs(), c.forwardCommMs(), c.backwardCommMs()))
            .toList());
  }

  @Test
  void costs_that_the_plan_cannot_have_are_refused() {
    ShardingPlan plan = trainer.plan();
    assertRejected(
        trainer.measured(plan, devices(plan).subList(0, 3)),
        RejectionReason.INCOMPARABLE_MEASUREMENT);
    List<MeasuredDevice> idle = devices(plan);
    idle.set(1, new MeasuredDevice(0, 1, 1));
    assertRejected(trainer.measured(plan, idle), RejectionReason.INCOMPARABLE_MEASUREMENT);
    assertRejected(trainer.measured(plan, one(3, 101)), RejectionReason.INCOMPARABLE_MEASUREMENT);
    assertRejected(trainer.measured(plan, one(3, 0.001)), RejectionReason.INCOMPARABLE_MEASUREMENT);
    List<MeasuredDevice> mute = devices(plan);
    mute.replaceAll(d -> new MeasuredDevice(d.computeMs(), d.forwardCommMs(), 0));
    assertRejected(trainer.measured(plan, mute), RejectionReason.INCOMPARABLE_MEASUREMENT);
  }

  @Test
  void work_on_a_device_without_shards_is_refused() {
    ShardingPlan plan =
        trainer.plan(Fixtures.set(3, 8 * Fixtures.GIB), Fixtures.upsert("a", 1_000, 4, 1));
    List<MeasuredDevice> busy = devices(plan);
    for (int d = 0; d < 3; d++) {
      if (busy.get(d).computeMs() == 0) {
        busy.set(d, new MeasuredDevice(1, busy.get(d).forwardCommMs(), 0.1));
        break;
      }
    }
    assertRejected(trainer.measured(plan, busy), RejectionReason.INCOMPARABLE_MEASUREMENT);
  }

  @Test
  void what_is_remembered_is_bounded() {
    ShardingPlan first = trainer.plan();
    report(first, PlanStatus.StatusKind.ADOPTED, 1);
    for (int i = 0; i < 40; i++) {
      trainer.plan(Fixtures.upsert("x" + i, 1_000, 4, 1));
      trainer.step.measure(trainer.store, at(first, "id" + i, "run" + i, i));
    }
    var header = trainer.store.header(Fixtures.WORKLOAD);
    assertThat(header.plans().ids()).hasSize(RememberedPlans.MOST).contains(first.planId());
    assertThat(header.measurements()).hasSize(32);
    assertThat(header.runs()).hasSize(8);
    assertThat(trainer.store.entries().keySet().stream().filter(k -> k.startsWith("plan|")))
        .hasSize(RememberedPlans.MOST);
  }

  /** Whatever is measured, it is taken or it is refused and nothing has changed. */
  @Property(tries = 300)
  void any_measurement_is_taken_or_refused_without_a_trace(
      @ForAll("measurements") MeasuredCosts measured) {
    Trainer some = PLANNED;
    Map<String, Object> before = some.store.entries();
    try {
      Feedback feedback = some.step.measure(some.store, measured);
      assertThat(feedback.ratios().values()).allMatch(r -> r >= 0.009 && r <= 101);
      assertThat(feedback.samples())
          .allMatch(
              s ->
                  !(s.cost() instanceof CostSample.Computation c)
                      || (c.measuredMs() > 0 && !c.shards().isEmpty()));
    } catch (RejectedException e) {
      assertThat(e.getMessage()).containsAnyOf("legal", "must");
      assertThat(some.store.entries()).isEqualTo(before);
    }
  }

  private static final Trainer PLANNED = planned();

  private static Trainer planned() {
    Trainer planned = new Trainer();
    planned.plan();
    return planned;
  }

  @Provide
  Arbitrary<MeasuredCosts> measurements() {
    Trainer some = PLANNED;
    String planId = some.store.header(Fixtures.WORKLOAD).plans().ids().get(0);
    List<DeviceCost> costs = some.store.plan(Fixtures.WORKLOAD, planId).orElseThrow().deviceCosts();
    Arbitrary<Double> any =
        Arbitraries.oneOf(
            Arbitraries.of(0.0, Double.MIN_VALUE, MeasuredDevice.MAX_MS),
            Arbitraries.doubles().between(0, 10),
            Arbitraries.doubles().between(0, MeasuredDevice.MAX_MS));
    Arbitrary<List<MeasuredDevice>> wild =
        Combinators.combine(any, any, any).as(MeasuredDevice::new).list().ofMinSize(1).ofMaxSize(6);
    Arbitrary<List<MeasuredDevice>> near =
        Arbitraries.doubles()
            .between(0.5, 2)
            .list()
            .ofSize(4)
            .map(
                factors -> {
                  List<MeasuredDevice> devices = new ArrayList<>();
                  for (int d = 0; d < 4; d++) {
                    DeviceCost c = costs.get(d);
                    devices.add(
                        new MeasuredDevice(
                            c.computeMs() * factors.get(d),
                            c.forwardCommMs() * factors.get(d),
                            c.backwardCommMs()));
                  }
                  return devices;
                });
    return Combinators.combine(
            Arbitraries.of(planId, "unknown"),
            Arbitraries.of("m1", "m2", "m3", "m4"),
            Arbitraries.longs().between(0, 1_000),
            Arbitraries.of("", "run", "other"),
            Arbitraries.oneOf(wild, near))
        .as(
            (plan, id, step, run, devices) ->
                MeasuredCostsBuilder.builder()
                    .measurementId(id + step)
                    .workloadId(Fixtures.WORKLOAD)
                    .planId(plan)
                    .run(run)
                    .step(step)
                    .steps(1)
                    .devices(devices)
                    .source("t")
                    .measuredAt(Fixtures.TIME)
                    .build());
  }
}
