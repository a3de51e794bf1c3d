package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.shardtide.learn.ExclusionReason;
import io.shardtide.learn.Feedback;
import io.shardtide.plan.CostPart;
import io.shardtide.plan.CostQuantity;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.Effort;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.pool.StoredPool;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PoolSamples;
import io.shardtide.testing.Samples;
import io.shardtide.workload.RejectionReason;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What is counted under which name: dashboards rely on it. */
class PlannerMetricsTest {
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final PlannerMetrics metrics = new PlannerMetrics(meters);

  @Test
  void every_meter_exists_at_zero() {
    assertThat(meters.getMeters())
        .extracting(meter -> meter.getId().getName())
        .contains(
            "shardtide.events.applied",
            "shardtide.events.rejected",
            "shardtide.tables.predicted",
            "shardtide.prediction",
            "shardtide.plans.published",
            "shardtide.search",
            "shardtide.workloads.infeasible",
            "shardtide.searches.discarded",
            "shardtide.searches.failed",
            "shardtide.answer",
            "shardtide.trainings",
            "shardtide.training",
            "shardtide.workloads.pending",
            "shardtide.transactions.fenced",
            "shardtide.records.restored",
            "shardtide.measurements",
            "shardtide.training.samples",
            "shardtide.measurements.set.aside",
            "shardtide.drift.alarms",
            "shardtide.slow.devices",
            "shardtide.allocations",
            "shardtide.allocation",
            "shardtide.workloads.adjusted",
            "shardtide.claims.without.devices",
            "shardtide.pool.free.nodes",
            "shardtide.allocation.gap",
            "shardtide.allocation.fairness.loss",
            "shardtide.curve",
            "shardtide.curves.pending");
    assertThat(meters.get("shardtide.events.rejected").counters())
        .hasSize(RejectionReason.values().length)
        .allMatch(counter -> counter.count() == 0);
  }

  @Test
  void events_are_counted_under_their_tags() {
    metrics.count(Metric.EVENTS_REJECTED, RejectionReason.UNDECODABLE);
    metrics.add(Metric.TABLES_PREDICTED, 3);
    metrics.time(Metric.PREDICTION, 2);
    metrics.time(Metric.SEARCH, 1.5, Effort.DEEP);
    metrics.count(Metric.PLANS_PUBLISHED, Effort.QUICK);
    metrics.count(Metric.WORKLOADS_INFEASIBLE);
    metrics.count(Metric.SEARCHES_DISCARDED);
    metrics.time(Metric.ANSWER, 1_040 - 1_000);
    metrics.time(Metric.ANSWER, 900 - 1_000);
    metrics.count(Metric.TRAININGS, Metric.Trained.KEPT);
    metrics.time(Metric.TRAINING, 3);
    assertThat(meters.get("shardtide.trainings").tag("result", "kept").counter().count())
        .isEqualTo(1);
    assertThat(meters.get("shardtide.trainings").tag("result", "published").counter().count())
        .isZero();
    assertThat(meters.get("shardtide.training").timer().totalTime(TimeUnit.MILLISECONDS))
        .isEqualTo(3);
    assertThat(
            meters.get("shardtide.events.rejected").tag("reason", "UNDECODABLE").counter().count())
        .isEqualTo(1);
    assertThat(meters.get("shardtide.tables.predicted").counter().count()).isEqualTo(3);
    assertThat(meters.get("shardtide.prediction").timer().totalTime(TimeUnit.MILLISECONDS))
        .isEqualTo(2);
    assertThat(
            meters
                .get("shardtide.search")
                .tag("effort", "deep")
                .timer()
                .totalTime(TimeUnit.MILLISECONDS))
        .isEqualTo(1.5);
    assertThat(meters.get("shardtide.plans.published").tag("effort", "quick").counter().count())
        .isEqualTo(1);
    assertThat(meters.get("shardtide.workloads.infeasible").counter().count()).isEqualTo(1);
    assertThat(meters.get("shardtide.searches.discarded").counter().count()).isEqualTo(1);
    assertThat(meters.get("shardtide.answer").timer().count()).isEqualTo(2);
    assertThat(meters.get("shardtide.answer").timer().totalTime(TimeUnit.MILLISECONDS))
        .isEqualTo(40);
  }

  /** As many ratios as there are kinds of hardware, times three: no workload, no device. */
  @Test
  void measurements_are_counted_and_ratios_are_by_hardware_and_quantity() {
    for (String workload : List.of("a", "b", "c")) {
      Feedback feedback =
          new Feedback(
              "gpu",
              List.of(Samples.sample(Samples.computation())),
              List.of(Samples.alarm(OptionalInt.of(workload.length()))),
              Optional.of(Samples.speeds()),
              new TreeMap<>(Map.of(CostQuantity.COMPUTE, 1.5)),
              new TreeMap<>(Map.of(ExclusionReason.SLOW_DEVICE, 2)));
      FeedbackTopology.count(metrics, feedback);
    }
    assertThat(meters.get("shardtide.measurements").counter().count()).isEqualTo(3);
    assertThat(meters.get("shardtide.training.samples").counter().count()).isEqualTo(3);
    assertThat(
            meters
                .get("shardtide.measurements.set.aside")
                .tag("reason", "slow_device")
                .counter()
                .count())
        .isEqualTo(6);
    assertThat(meters.get("shardtide.drift.alarms").tag("kind", "straggler").counter().count())
        .isEqualTo(3);
    assertThat(meters.get("shardtide.measured.ratio").gauges())
        .singleElement()
        .satisfies(
            gauge -> {
              assertThat(gauge.value()).isEqualTo(1.5);
              assertThat(gauge.getId().getTag("hardware")).isEqualTo("gpu");
              assertThat(gauge.getId().getTag("quantity")).isEqualTo("compute");
            });
  }

  /** A device that is slow in computation and communication is one device. */
  @Test
  void slow_devices_are_counted_once_until_they_recover_or_their_workload_goes() {
    assertThat(slowDevices()).isZero();
    DeviceSpeed speed = new DeviceSpeed(1, CostPart.COMPUTATION, 1.5, 0.02, Fixtures.TIME);
    DeviceSpeed link = new DeviceSpeed(1, CostPart.COMMUNICATION, 2, 0.1, Fixtures.TIME);
    Map<String, DeviceSpeeds> here = new HashMap<>();
    Map<String, DeviceSpeeds> moves = new HashMap<>();
    showSlowDevices(here);
    Runnable move = showSlowDevices(moves);
    here.put("a", speeds("a", speed, link, Fixtures.on(3, link)));
    moves.put("b", speeds("b", link));
    assertThat(slowDevices()).isEqualTo(3);
    here.put("a", speeds("a", link));
    here.put("c", speeds("c", link));
    assertThat(slowDevices()).isEqualTo(3);
    here.put("a", speeds("a"));
    assertThat(slowDevices()).as("a recovered").isEqualTo(2);
    here.remove("c");
    assertThat(slowDevices()).as("c was deleted").isEqualTo(1);
    move.run();
    assertThat(slowDevices()).as("the partition of b moved").isZero();
  }

  private Runnable showSlowDevices(Map<String, DeviceSpeeds> speeds) {
    return metrics.show(
        Metric.SLOW_DEVICES,
        () -> speeds.values().stream().mapToDouble(FeedbackTopology::slowDevices));
  }

  private double slowDevices() {
    return meters.get("shardtide.slow.devices").gauge().value();
  }

  private static DeviceSpeeds speeds(String workload, DeviceSpeed... slow) {
    return new DeviceSpeeds(workload, "plan", Fixtures.TIME, List.of(slow));
  }

  @Test
  void pending_workloads_are_summed_over_open_tasks() {
    Runnable one = metrics.show(Metric.WORKLOADS_PENDING, () -> DoubleStream.of(2));
    Runnable two = metrics.show(Metric.WORKLOADS_PENDING, () -> DoubleStream.of(5));
    Runnable searches = metrics.show(Metric.BACKGROUND_SEARCHES, () -> DoubleStream.of(1));
    metrics.show(Metric.BACKGROUND_SEARCHES, () -> DoubleStream.of(3));
    assertThat(meters.get("shardtide.workloads.pending").gauge().value()).isEqualTo(7);
    assertThat(metrics.backgroundSearches()).isEqualTo(4);
    one.run();
    searches.run();
    assertThat(meters.get("shardtide.workloads.pending").gauge().value()).isEqualTo(5);
    assertThat(metrics.backgroundSearches()).isEqualTo(3);
    two.run();
    assertThat(meters.get("shardtide.workloads.pending").gauge().value()).isZero();
  }

  private double gauge(String name) {
    return meters.get(name).gauge().value();
  }

  @Test
  void pools_are_shown_while_their_task_is_open() {
    StoredPool allocated = PoolSamples.header();
    PoolState claimed =
        PoolState.empty("other")
            .apply(
                new PoolChange(
                    UUID.randomUUID(),
                    "other",
                    Fixtures.TIME,
                    "test",
                    List.of(
                        new PoolUpdate.PoolSet(PoolSamples.pool(3, Fixtures.GIB)),
                        PoolSamples.claim("w", 1, 4, 1),
                        PoolSamples.claim("x", 1, 4, 1))));
    Map<String, StoredPool> one = new HashMap<>(Map.of(PoolSamples.POOL, allocated));
    Map<String, StoredPool> two = Map.of("other", StoredPool.empty("other").with(claimed));
    List<Runnable> tasks =
        Stream.of(one, two)
            .flatMap(
                pools ->
                    PoolTopology.METRICS.entrySet().stream()
                        .map(
                            shown ->
                                metrics.show(
                                    shown.getKey(),
                                    () -> pools.values().stream().mapToDouble(shown.getValue()))))
            .toList();
    assertThat(gauge("shardtide.claims.without.devices")).isEqualTo(2);
    assertThat(gauge("shardtide.pool.free.nodes")).isEqualTo(3);
    assertThat(gauge("shardtide.allocation.gap")).isEqualTo(0.01);
    assertThat(gauge("shardtide.allocation.fairness.loss")).isEqualTo(0.25);
    one.put(PoolSamples.POOL, StoredPool.empty(PoolSamples.POOL).with(allocated.state()));
    assertThat(gauge("shardtide.claims.without.devices")).as("no allocation yet").isEqualTo(3);
    assertThat(gauge("shardtide.allocation.gap")).isZero();
    tasks.forEach(Runnable::run);
    assertThat(gauge("shardtide.claims.without.devices")).isZero();
    assertThat(gauge("shardtide.pool.free.nodes")).isZero();
  }

  @Test
  void allocations_and_curves_are_counted() {
    PoolTopology.count(metrics, PoolSamples.allocation(), 3);
    metrics.time(Metric.CURVE, 1_040 - 1_000);
    metrics.time(Metric.CURVE, 900 - 1_000);
    assertThat(meters.get("shardtide.allocations").counter().count()).isEqualTo(1);
    assertThat(meters.get("shardtide.allocation").timer().count()).isEqualTo(1);
    assertThat(meters.get("shardtide.workloads.adjusted").counter().count())
        .isEqualTo(PoolSamples.allocation().quality().adjusted());
    assertThat(meters.get("shardtide.curve").timer().count()).isEqualTo(2);
    assertThat(meters.get("shardtide.curve").timer().totalTime(TimeUnit.MILLISECONDS))
        .isEqualTo(40);
    Runnable pending = metrics.show(Metric.CURVES_PENDING, () -> DoubleStream.of(2));
    assertThat(gauge("shardtide.curves.pending")).isEqualTo(2);
    pending.run();
    assertThat(gauge("shardtide.curves.pending")).isZero();
  }
}
