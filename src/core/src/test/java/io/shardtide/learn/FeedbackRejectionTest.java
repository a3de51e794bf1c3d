package io.shardtide.learn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.CostSample;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.MeasuredCollective;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.MeasuredCostsBuilder;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanHistory;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.SimulatedTrainer;
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntToDoubleFunction;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;

/** Rejected measurements leave the state unchanged and name the reason. */
class FeedbackRejectionTest {
  private final SimulatedTrainer trainer = new SimulatedTrainer();

  private static IntToDoubleFunction all(double factor) {
    return d -> factor;
  }

  private static IntToDoubleFunction one(int device, double factor) {
    return d -> d == device ? factor : 1;
  }

  private void assertRejected(MeasuredCosts measured, RejectionReason reason, String message) {
    Map<String, Object> before = trainer.entries();
    assertThatThrownBy(() -> trainer.step.measure(trainer.store, measured))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> {
              assertThat(e.reason()).isEqualTo(reason);
              assertThat(e).hasMessageContaining(message);
            });
    assertThat(trainer.entries()).isEqualTo(before);
  }

  @Test
  void a_measurement_of_an_unknown_plan_is_rejected() {
    ShardingPlan plan = trainer.plan();
    MeasuredCosts m = trainer.measured(plan, all(1));
    assertRejected(
        MeasuredCostsBuilder.builder(m).planId("no-such-plan").build(),
        RejectionReason.UNKNOWN_PLAN,
        "of unknown plan no-such-plan; workload \"feed-ranking\" has 1 stored plans");
    assertRejected(
        MeasuredCostsBuilder.builder(m).workloadId("another").build(),
        RejectionReason.UNKNOWN_PLAN,
        "workload \"another\" has 0 stored plans (the latest 64, the running one and the one before"
            + " it)");
  }

  @Test
  void a_duplicate_measurement_is_rejected() {
    ShardingPlan plan = trainer.plan();
    MeasuredCosts measured = trainer.measured(plan, all(1));
    trainer.step.measure(trainer.store, measured);
    assertRejected(
        measured, RejectionReason.DUPLICATE_MEASUREMENT, "each measurement must have a new id");
  }

  private MeasuredCosts at(ShardingPlan plan, String id, String run, long step) {
    return MeasuredCostsBuilder.builder(trainer.measured(plan, all(1)))
        .measurementId(id)
        .run(run)
        .step(step)
        .build();
  }

  @Test
  void a_step_that_is_not_above_the_last_of_its_run_is_rejected() {
    ShardingPlan plan = trainer.plan();
    trainer.step.measure(trainer.store, at(plan, "a", "one", 100));
    assertStaleStep(at(plan, "b", "one", 100));
    assertStaleStep(at(plan, "b", "one", 99));
    trainer.step.measure(trainer.store, at(plan, "b", "two", 1));
    assertStaleStep(at(plan, "c", "one", 50));
    trainer.step.measure(trainer.store, at(plan, "c", "one", 101));
  }

  private void assertStaleStep(MeasuredCosts measured) {
    assertRejected(
        measured,
        RejectionReason.STALE_MEASUREMENT,
        "must be above 100, the last one of its run, got %d. A trainer that restarts"
            .formatted(measured.step()));
  }

  private void report(ShardingPlan plan, PlanStatus.StatusKind kind, long step) {
    trainer.report(
        new PlanStatus(
            plan.workloadId(),
            plan.planId(),
            kind,
            step,
            Optional.empty(),
            "t",
            "run",
            Fixtures.TIME,
            1,
            1));
  }

  @Test
  void a_plan_is_outdated_once_a_newer_one_was_adopted() {
    ShardingPlan old = trainer.plan();
    trainer.measure(old, all(1));
    report(old, PlanStatus.StatusKind.ADOPTED, 1);
    ShardingPlan next = trainer.plan(Fixtures.upsert("new", 1_000, 4, 1));
    trainer.measure(old, all(1));
    trainer.measure(next, all(1));
    report(next, PlanStatus.StatusKind.ADOPTED, 2);
    assertReplaced(old, next);
    assertThatThrownBy(() -> report(old, PlanStatus.StatusKind.ADOPTED, 1))
        .hasMessageContaining("must be at least 2");
    assertReplaced(old, next);
    report(next, PlanStatus.StatusKind.REJECTED, 3);
    trainer.measure(old, all(1));
  }

  private void assertReplaced(ShardingPlan old, ShardingPlan running) {
    assertRejected(
        trainer.measured(old, all(1)),
        RejectionReason.OUTDATED_MEASUREMENT,
        "must be of the running plan %s or a later one, got plan %s"
            .formatted(CanonicalHash.shown(running.planId()), CanonicalHash.shown(old.planId())));
  }

  @Test
  void without_reports_the_latest_plan_is_the_running_one() {
    ShardingPlan old = trainer.plan();
    assertReplaced(old, trainer.plan(Fixtures.upsert("new", 1_000, 4, 1)));
  }

  @Test
  void a_measurement_of_changed_tables_is_outdated() {
    ShardingPlan plan = trainer.plan();
    report(plan, PlanStatus.StatusKind.ADOPTED, 1);
    trainer.plan(Fixtures.upsert("other", 1_000, 4, 1));
    trainer.measure(plan, all(1));
    trainer.plan(Fixtures.upsert("t3", 5_000_000, 64, 20));
    assertOutdated(
        trainer.measured(plan, all(1)), "Table t3 has changed since the plan's generation 1;");
    ShardingPlan next = trainer.plan(Fixtures.drop("t3"));
    trainer.measure(next, all(1));
    assertOutdated(
        trainer.measured(plan, all(1)), "Table t3 was dropped since the plan's generation 1;");
  }

  private void assertOutdated(MeasuredCosts measured, String message) {
    assertRejected(measured, RejectionReason.OUTDATED_MEASUREMENT, message);
  }

  private void assertIncomparable(MeasuredCosts measured, String message) {
    assertRejected(measured, RejectionReason.INCOMPARABLE_MEASUREMENT, message);
  }

  @Test
  void a_measurement_of_another_batch_size_is_outdated() {
    ShardingPlan plan = trainer.plan();
    report(plan, PlanStatus.StatusKind.ADOPTED, 1);
    ClusterSpec cluster = Fixtures.cluster(4, 8 * Fixtures.GIB);
    trainer.plan(
        new Change.ClusterSet(
            new ClusterSpec(4, cluster.memoryBytesPerDevice(), 1_024, 8, cluster.hardware())));
    assertOutdated(
        trainer.measured(plan, all(1)),
        "the last change of batch size, hardware, devices per node or bytes on the wire, in"
            + " generation 2; got generation 1");
  }

  private static List<MeasuredDevice> devices(ShardingPlan plan) {
    return new ArrayList<>(
        plan.prediction().deviceCosts().stream()
            .map(c -> new MeasuredDevice(c.computeMs(), c.forwardCommMs(), c.backwardCommMs()))
            .toList());
  }

  @Test
  void implausible_costs_are_rejected() {
    ShardingPlan plan = trainer.plan();
    assertIncomparable(
        trainer.measured(plan, devices(plan).subList(0, 3)),
        "must have one entry for each of the plan's 4 devices, got 3");
    List<MeasuredDevice> idle = devices(plan);
    idle.set(1, new MeasuredDevice(0, 1, 1));
    assertIncomparable(
        trainer.measured(plan, idle),
        "The computation of device 1 must be above 0 ms, since the plan has shards on it, got 0.0");
    String range = "The computation of device 3 must be 1/100 to 100 times the predicted";
    assertIncomparable(trainer.measured(plan, one(3, 101)), range);
    assertIncomparable(trainer.measured(plan, one(3, 0.001)), range);
    List<MeasuredDevice> withoutBackward = devices(plan);
    withoutBackward.replaceAll(d -> new MeasuredDevice(d.computeMs(), d.forwardCommMs(), 0));
    assertIncomparable(
        trainer.measured(plan, withoutBackward),
        "The backward communication of device 0 must be 1/100 to 100 times the predicted");
  }

  @Test
  void costs_of_other_hardware_may_be_off_by_ten_thousand() {
    SimulatedTrainer other = new SimulatedTrainer();
    FeedbackStep cold = new FeedbackStep(modelId -> true);
    ShardingPlan plan = other.plan();
    assertThat(cold.measure(other.store, other.measured(plan, device -> 9_000)).samples())
        .hasSize(5);
    assertThatThrownBy(() -> cold.measure(other.store, other.measured(plan, device -> 11_000)))
        .isInstanceOf(RejectedException.class)
        .hasMessageContaining("must be 1/10000 to 10000 times the predicted");
  }

  @Test
  void collectives_that_the_plan_does_not_need_are_rejected() {
    ShardingPlan plan = trainer.plan();
    List<Double> backward = devices(plan).stream().map(MeasuredDevice::backwardCommMs).toList();
    List<Double> none = List.of(0.0, 0.0, 0.0, 0.0);
    MeasuredCollective backwardAllToAll =
        MeasuredCollective.ofNames("device", "all_to_all", "backward", backward);
    assertIncomparable(
        withCollectives(
            plan,
            backwardAllToAll,
            MeasuredCollective.ofNames("cluster", "reduce_scatter", "forward", none)),
        "The plan needs no reduce_scatter for scope cluster; the collectives must be for scope"
            + " device");
    assertIncomparable(
        withCollectives(
            plan,
            backwardAllToAll,
            MeasuredCollective.ofNames("device", "all_to_all", "forward", none)),
        "The forward all_to_all for scope device on device 0 must be above 0 ms, since the plan has"
            + " shards, got 0.0 ms");
  }

  private MeasuredCosts withCollectives(ShardingPlan plan, MeasuredCollective... collectives) {
    return MeasuredCostsBuilder.builder(trainer.measured(plan, all(1)))
        .collectives(List.of(collectives))
        .build();
  }

  @Test
  void computation_on_a_device_without_shards_is_rejected() {
    ShardingPlan plan =
        trainer.plan(Fixtures.set(3, 8 * Fixtures.GIB), Fixtures.upsert("a", 1_000, 4, 1));
    List<MeasuredDevice> busy = devices(plan);
    for (int d = 0; d < 3; d++) {
      if (busy.get(d).computeMs() == 0) {
        busy.set(d, new MeasuredDevice(1, busy.get(d).forwardCommMs(), 0.1));
        break;
      }
    }
    assertIncomparable(
        trainer.measured(plan, busy), "must be 0 ms, since the plan has no shards on it, got 1.0");
  }

  /** As planning has it: a reshard takes as long as 40 changes, and fails. */
  @Test
  void a_plan_that_shards_move_away_from_is_kept() {
    ShardingPlan first = trainer.plan();
    report(first, PlanStatus.StatusKind.ADOPTED, 1);
    ShardingPlan second = trainer.plan(Fixtures.upsert("b", 1_000, 4, 1));
    report(second, PlanStatus.StatusKind.ADOPTED, 2);
    for (int i = 0; i < 40; i++) {
      trainer.plan(Fixtures.upsert("x", 1_000 + i, 4, 1));
    }
    report(second, PlanStatus.StatusKind.REJECTED, 2);
    assertThat(trainer.store.header(Fixtures.WORKLOAD).plans().running()).contains(first.planId());
    trainer.measure(first, all(1));
  }

  @Test
  void the_state_is_bounded() {
    ShardingPlan first = trainer.plan();
    report(first, PlanStatus.StatusKind.ADOPTED, 1);
    for (int i = 0; i < 80; i++) {
      trainer.plan(Fixtures.upsert("x" + i, 1_000, 4, 1));
      trainer.step.measure(trainer.store, at(first, "id" + i, "run" + i, i));
    }
    var header = trainer.store.header(Fixtures.WORKLOAD);
    assertThat(header.plans().ids()).hasSize(PlanHistory.MOST_FOLLOWED).contains(first.planId());
    assertThat(header.measurements()).hasSize(32);
    assertThat(header.runs()).hasSize(8);
    assertThat(trainer.entries().keySet().stream().filter(k -> k.startsWith("plan|")))
        .hasSize(PlanHistory.MOST_FOLLOWED);
  }

  /** A rejected measurement leaves the state unchanged. */
  @Property(tries = 300)
  void any_measurement_is_either_processed_or_rejected(
      @ForAll("measurements") MeasuredCosts measured) {
    SimulatedTrainer some = PLANNED;
    Map<String, Object> before = some.entries();
    try {
      Feedback feedback = some.step.measure(some.store, measured);
      assertThat(feedback.ratios().values()).allMatch(r -> r >= 0.009 && r <= 101);
      assertThat(feedback.samples())
          .allMatch(
              s ->
                  !(s.cost() instanceof CostSample.Computation c)
                      || (c.measuredMs() > 0 && !c.shards().isEmpty()));
    } catch (RejectedException e) {
      assertThat(some.entries()).isEqualTo(before);
    }
  }

  private static final SimulatedTrainer PLANNED = planned();

  private static SimulatedTrainer planned() {
    SimulatedTrainer planned = new SimulatedTrainer();
    planned.plan();
    return planned;
  }

  @Provide
  Arbitrary<MeasuredCosts> measurements() {
    SimulatedTrainer some = PLANNED;
    String planId = some.store.header(Fixtures.WORKLOAD).plans().ids().get(0);
    List<DeviceCost> costs =
        some.store.plans().get(Fixtures.WORKLOAD, planId).orElseThrow().prediction().deviceCosts();
    Arbitrary<Double> any =
        Arbitraries.oneOf(
            Arbitraries.of(0.0, Double.MIN_VALUE, MeasuredDevice.MAX_MS),
            Arbitraries.doubles().between(0, 10).ofScale(15),
            Arbitraries.doubles().between(0, MeasuredDevice.MAX_MS).ofScale(15));
    Arbitrary<List<MeasuredDevice>> arbitrary =
        Combinators.combine(any, any, any).as(MeasuredDevice::new).list().ofMinSize(1).ofMaxSize(6);
    Arbitrary<List<MeasuredDevice>> plausible =
        Arbitraries.doubles()
            .between(0.5, 2)
            .ofScale(15)
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
            Arbitraries.oneOf(arbitrary, plausible))
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
                    .collectives(List.of())
                    .source("t")
                    .measuredAt(Fixtures.TIME)
                    .build());
  }
}
