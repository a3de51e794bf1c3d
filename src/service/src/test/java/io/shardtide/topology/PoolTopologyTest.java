package io.shardtide.topology;

import static io.shardtide.testing.PoolSamples.POOL;
import static io.shardtide.testing.PoolSamples.claim;
import static io.shardtide.testing.PoolSamples.event;
import static io.shardtide.wire.TopicType.ALLOCATIONS;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_ALLOCATIONS;
import static io.shardtide.wire.TopicType.CURVE_REQUESTS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.THROUGHPUT_CURVES;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.allocation.AllocationRequest;
import io.shardtide.allocation.Allocator;
import io.shardtide.allocation.PoolStep;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.PlanPrediction;
import io.shardtide.plan.Replication;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationChange;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.CurvePoint;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.CurveRequest;
import io.shardtide.pool.NodeTransfer;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate.ClaimWithdrawn;
import io.shardtide.pool.PoolUpdate.PoolNodeAdded;
import io.shardtide.pool.PoolUpdate.PoolNodeLost;
import io.shardtide.pool.PoolUpdate.PoolSet;
import io.shardtide.pool.ThroughputCurve;
import io.shardtide.pool.WorkloadAllocation;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PoolSamples;
import io.shardtide.wire.Topic;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.WorkloadChange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Pools, curves, workloads and planning, one topology after the other, without a broker. */
class PoolTopologyTest extends TopologyFixture {
  private static final ModelBundle BUNDLE = ModelFiles.shippedForNodes();
  private static final Pool NODES =
      Pool.of(
          2,
          8 * Fixtures.GIB,
          0,
          BUNDLE.hardware(),
          Stream.of("n1", "n2", "n3", "n4").map(n -> new PoolNode(n, "")).toList());
  private static final ClusterSpec CLUSTER =
      new ClusterSpec(2, Fixtures.GIB, 65_536, 2, BUNDLE.hardware());

  private TopologyTestDriver curves;
  private TopologyTestDriver pool;
  private TestInputTopic<String, PoolChange> pools;
  private TestInputTopic<String, CurveReport> reports;
  private TestInputTopic<String, CostPredictions> followed;
  private TestInputTopic<String, CurveRequest> requests;
  private TestInputTopic<String, ShardingPlan> planned;
  private TestOutputTopic<String, CurveRequest> requested;
  private TestOutputTopic<String, CurveReport> reported;
  private TestOutputTopic<String, Allocation> allocations;
  private TestOutputTopic<String, Allocation> currentAllocations;
  private TestOutputTopic<String, WorkloadChange> sent;
  private TestOutputTopic<String, RejectedEvent> rejectedPools;
  private TestOutputTopic<String, RejectedEvent> rejectedRequests;

  private int searches;
  private final List<PoolChange> events = new ArrayList<>();
  private final List<Allocation> made = new ArrayList<>();
  private final List<CurveReport> curveLog = new ArrayList<>();
  private final List<WorkloadChange> clusters = new ArrayList<>();
  private final Map<String, ShardingPlan> latest = new HashMap<>();

  @BeforeEach
  void startPools() {
    predictors.takeOver(BUNDLE);
    curves =
        driver(
            "curves",
            TopologyFixture.skeleton(TopologyName.CURVES, registry, topics, PlannerMetrics.unread())
                .topology(
                    skeleton ->
                        new CurvesTopology(
                            skeleton,
                            TopologyFixture.curves(predictors),
                            predictors::changes,
                            search -> {
                              searches++;
                              search.run();
                            })));
    pool =
        driver(
            "pool",
            TopologyFixture.skeleton(TopologyName.POOL, registry, topics, PlannerMetrics.unread())
                .topology(
                    skeleton ->
                        new PoolTopology(skeleton, new PoolStep(AllocationPolicy.DEFAULTS))));
    pools = input(pool, topics.of(POOL_CHANGES));
    reports = input(pool, topics.of(THROUGHPUT_CURVES));
    followed = input(curves, topics.of(COST_PREDICTIONS));
    requests = input(curves, topics.of(CURVE_REQUESTS));
    planned = input(curves, topics.of(SHARDING_PLANS));
    requested = output(pool, topics.of(CURVE_REQUESTS));
    allocations = output(pool, topics.of(ALLOCATIONS));
    currentAllocations = output(pool, topics.of(CURRENT_ALLOCATIONS));
    sent = output(pool, topics.of(WORKLOAD_CHANGES));
    rejectedPools = output(pool, topics.of(REJECTED_EVENTS));
    reported = output(curves, topics.of(THROUGHPUT_CURVES));
    rejectedRequests = output(curves, topics.of(REJECTED_EVENTS));
  }

  @AfterEach
  void stopPools() {
    curves.close();
    pool.close();
  }

  private <V> TestInputTopic<String, V> input(TopologyTestDriver driver, Topic<V> topic) {
    return driver.createInputTopic(
        topic.name(), new StringSerializer(), registry.serde(topic).serializer());
  }

  private void publish(PoolChange event) {
    events.add(event);
    pools.pipeInput(event.poolId(), event);
    settle();
  }

  private void workload(String id, int tables) {
    List<Change> all = new ArrayList<>(List.of(new Change.ClusterSet(CLUSTER)));
    for (int t = 0; t < tables; t++) {
      all.add(Fixtures.upsert("t" + t, 200_000, 64, 20));
    }
    change(id, all.toArray(new Change[0]));
  }

  private void change(String id, Change... changed) {
    pipe(
        new WorkloadChange(
            UUID.randomUUID(), id, Fixtures.TIME, "test", OptionalLong.empty(), List.of(changed)));
    settle();
  }

  private void pipe(WorkloadChange event) {
    changes.pipeInput(
        event.workloadId().getBytes(java.nio.charset.StandardCharsets.UTF_8), bytes(event));
  }

  /** Carries records between the topologies until there are none. */
  private void settle() {
    boolean moved = true;
    while (moved) {
      moved = false;
      for (var record : predictions.readKeyValuesToList()) {
        followed.pipeInput(record.key, record.value);
        predicted.pipeInput(record.key, record.value);
        moved = true;
      }
      for (ShardingPlan plan : plans.readValuesToList()) {
        latest.put(plan.workloadId(), plan);
        planned.pipeInput(plan.workloadId(), plan);
        moved = true;
      }
      for (var record : requested.readKeyValuesToList()) {
        requests.pipeInput(record.key, record.value);
        moved = true;
      }
      // A search runs in one look and is taken in the next.
      curves.advanceWallClockTime(TopologyName.CURVES.tick());
      curves.advanceWallClockTime(TopologyName.CURVES.tick());
      for (var record : reported.readKeyValuesToList()) {
        curveLog.add(record.value);
        reports.pipeInput(record.key, record.value);
        moved = true;
      }
      pool.advanceWallClockTime(TopologyName.POOL.tick());
      for (WorkloadChange change : sent.readValuesToList()) {
        clusters.add(change);
        pipe(change);
        moved = true;
      }
    }
    made.addAll(allocations.readValuesToList());
  }

  private Allocation last() {
    return made.get(made.size() - 1);
  }

  private WorkloadAllocation of(String workload) {
    return last().of(workload).orElseThrow();
  }

  private void twoWorkloads() {
    workload("ads", 12);
    workload("search", 6);
    publish(event(new PoolSet(NODES), claim("ads", 2, 8, 1), claim("search", 2, 8, 1)));
  }

  /** What is published is the pool's generation; each workload is planned on its devices. */
  @Test
  void workloads_with_a_claim_get_devices_and_plans_for_them() {
    twoWorkloads();
    assertThat(last().generation()).isEqualTo(1);
    assertThat(last().workloads())
        .extracting(WorkloadAllocation::workloadId)
        .containsExactly("ads", "search");
    assertThat(of("ads").nodes().size() + of("search").nodes().size()).isBetween(2, 4);
    for (String id : List.of("ads", "search")) {
      assertThat(of(id).change()).isEqualTo(AllocationChange.STARTED);
      assertThat(latest.get(id).prediction().deviceCosts()).as(id).hasSize(of(id).devices());
    }
    assertThat(made).as("both curves are waited for").hasSize(1);
    assertThat(currentAllocations.readKeyValuesToList())
        .extracting(r -> r.value)
        .containsExactlyElementsOf(made);
    assertThat(clusters).extracting(WorkloadChange::eventId).doesNotHaveDuplicates();
    assertThat(clusters).allMatch(c -> c.changes().get(0) instanceof Change.ClusterSet);
    assertThat(rejected.isEmpty()).isTrue();
  }

  @Test
  void a_lost_node_changes_two_workloads_at_most_and_says_who_lost_it() {
    twoWorkloads();
    String node = of("ads").nodes().get(0);
    publish(event(new PoolNodeLost(node)));
    assertThat(made).as("a shorter curve leads to no third one").hasSize(2);
    assertThat(last().generation()).isEqualTo(2);
    assertThat(PoolSamples.transfer(last(), "ads", node))
        .map(NodeTransfer::reason)
        .contains("the pool no longer has the node");
    assertThat(last().quality().adjusted()).isLessThanOrEqualTo(2);
    assertThat(of("ads").nodes()).doesNotContain(node);
    for (String id : List.of("ads", "search")) {
      assertThat(latest.get(id).prediction().deviceCosts()).as(id).hasSize(of(id).devices());
    }
  }

  @Test
  void a_withdrawn_claim_frees_its_nodes_and_the_workload_is_left_alone() {
    twoWorkloads();
    publish(event(new ClaimWithdrawn("search")));
    assertThat(last().of("search")).isEmpty();
    clusters.clear();
    change("search", Fixtures.upsert("more", 100_000, 64, 10));
    assertThat(clusters).isEmpty();
    assertThat(last().generation()).isEqualTo(2);
  }

  /** Each allocation is a function of the events, the curves and the allocation before. */
  @Test
  void allocations_are_recomputed_from_the_log() {
    twoWorkloads();
    change("ads", Fixtures.upsert("more", 2_000_000, 64, 80));
    publish(event(new PoolNodeLost("n4")));
    publish(event(new PoolNodeAdded(new PoolNode("n5", "rack"))));
    assertThat(made).hasSizeGreaterThanOrEqualTo(4);
    Map<String, ThroughputCurve> byId = new HashMap<>();
    curveLog.forEach(report -> report.curve().ifPresent(curve -> byId.put(curve.id(), curve)));
    Optional<Allocation> before = Optional.empty();
    for (Allocation allocation : made) {
      PoolState state = PoolState.empty(POOL);
      for (PoolChange event : events.subList(0, (int) allocation.generation())) {
        state = state.apply(event);
      }
      Map<String, ThroughputCurve> of = new HashMap<>();
      allocation.curveIds().forEach((id, curveId) -> of.put(id, byId.get(curveId)));
      assertThat(
              Allocator.allocate(
                  new AllocationRequest(state, of, before, AllocationPolicy.DEFAULTS)))
          .isEqualTo(allocation);
      before = Optional.of(allocation);
    }
  }

  @Test
  void devices_that_a_publisher_sets_are_set_back_and_its_batch_stays() {
    twoWorkloads();
    int devices = of("ads").devices();
    change(
        "ads",
        new Change.ClusterSet(
            ClusterSpecBuilder.builder(CLUSTER)
                .devices(1)
                .devicesPerNode(1)
                .batchSize(32_768)
                .build()));
    ClusterSpec set =
        ((Change.ClusterSet) clusters.get(clusters.size() - 1).changes().get(0)).cluster();
    assertThat(set.batchSize()).isEqualTo(32_768);
    assertThat(set.devices()).isEqualTo(of("ads").devices());
    assertThat(latest.get("ads").prediction().deviceCosts()).hasSize(of("ads").devices());
    assertThat(devices).isPositive();
  }

  @Test
  void a_workload_without_a_cluster_waits_and_holds_up_others_for_a_while_only() {
    workload("ads", 12);
    publish(event(new PoolSet(NODES), claim("ads", 2, 8, 1), claim("nobody", 2, 8, 1)));
    assertThat(made).isEmpty();
    pool.advanceWallClockTime(Duration.ofMillis(PoolTopology.CURVES_WITHIN_MS));
    settle();
    assertThat(of("ads").devices()).isPositive();
    assertThat(of("nobody").change()).isEqualTo(AllocationChange.WAITS);
    assertThat(of("nobody").reason()).isEqualTo("has no predicted throughput yet");
  }

  /** With its old curve, it would be adjusted twice. */
  @Test
  void a_claim_that_is_raised_waits_for_its_longer_curve() {
    workload("ads", 12);
    publish(event(new PoolSet(NODES), claim("ads", 2, 2, 1)));
    assertThat(of("ads").devices()).isEqualTo(2);
    publish(event(claim("ads", 2, 8, 1)));
    assertThat(made).hasSize(2);
    assertThat(of("ads").devices()).isGreaterThan(2);
  }

  @Test
  void refined_curves_come_to_rest_and_so_does_the_pool() {
    twoWorkloads();
    for (int tick = 0; tick < 20; tick++) {
      settle();
    }
    int before = searches;
    int curvesBefore = curveLog.size();
    List<Allocation> allocationsBefore = List.copyOf(made);
    List<WorkloadChange> clustersBefore = List.copyOf(clusters);
    for (int tick = 0; tick < 20; tick++) {
      settle();
    }
    assertThat(searches).isEqualTo(before);
    assertThat(curveLog).hasSize(curvesBefore);
    assertThat(made).isEqualTo(allocationsBefore);
    assertThat(clusters).isEqualTo(clustersBefore);
  }

  /** The background search may find a better plan than a curve has. */
  @Test
  void a_curve_is_never_worse_than_the_running_plan() {
    twoWorkloads();
    ShardingPlan plan = latest.get("ads");
    double better = plan.predictedMs() / 3;
    planned.pipeInput("ads", withStep(plan, better));
    for (int tick = 0; tick < 20; tick++) {
      settle();
    }
    ThroughputCurve curve = curve("ads");
    assertThat(curve.samplesPerSecond(plan.ranks()).getAsDouble())
        .isCloseTo(65_536e3 / better, within(1e-3));
    planned.pipeInput("ads", withStep(plan, plan.predictedMs() * 2));
    for (int tick = 0; tick < 5; tick++) {
      settle();
    }
    assertThat(curve("ads")).as("one that is worse changes nothing").isEqualTo(curve);
    for (String id : List.of("ads", "search")) {
      assertThat(curve(id).samplesPerSecond(latest.get(id).ranks()).getAsDouble())
          .isGreaterThanOrEqualTo(65_536e3 / latest.get(id).predictedMs() * (1 - 1e-12));
    }
  }

  private ThroughputCurve curve(String workload) {
    return curveLog.stream()
        .flatMap(report -> report.curve().stream())
        .filter(curve -> curve.workloadId().equals(workload))
        .reduce((a, b) -> b)
        .orElseThrow();
  }

  private static ShardingPlan withStep(ShardingPlan plan, double stepMs) {
    PlanPrediction of = plan.prediction();
    return new ShardingPlan(
        plan.planId(),
        plan.origin(),
        plan.reason(),
        plan.shards(),
        Replication.NONE,
        List.of(),
        List.of(),
        new PlanPrediction(
            of.deviceCosts(),
            stepMs,
            of.insight(),
            of.outOfRange(),
            of.outOfRangeCount(),
            of.cacheMisses(),
            List.of()),
        plan.transition(),
        plan.run());
  }

  @Test
  void invalid_events_are_rejected_and_change_nothing() {
    twoWorkloads();
    assertRejected(lostIn("other", new PoolNodeLost("n1")), RejectionReason.UNKNOWN_POOL);
    assertRejected(event(new PoolNodeLost("n9")), RejectionReason.UNKNOWN_NODE);
    assertRejected(
        event(new PoolNodeAdded(new PoolNode("n1", ""))), RejectionReason.DUPLICATE_NODE);
    assertRejected(event(new ClaimWithdrawn("nobody")), RejectionReason.UNKNOWN_CLAIM);
    assertRejected(events.get(0), RejectionReason.DUPLICATE_EVENT);
    assertThat(made).hasSize(1);
  }

  /** A step of 5e-324 ms has an infinite throughput, which no solver can compare. */
  @Test
  void events_whose_allocation_fails_are_reported_and_the_next_ones_allocated() {
    twoWorkloads();
    CurveReport good = curveLog.get(0);
    reports.pipeInput(POOL, withStep(good, Double.MIN_VALUE));
    pools.pipeInput(POOL, event(claim("more", 2, 8, 1)));
    pools.pipeInput(POOL, event(new PoolNodeLost("n4")));
    pool.advanceWallClockTime(Duration.ofMillis(PoolTopology.CURVES_WITHIN_MS));
    assertThat(rejectedPools.readValuesToList())
        .hasSize(2)
        .allSatisfy(
            failed -> {
              assertThat(failed.reason()).isEqualTo(RejectionReason.PLANNING_FAILED);
              assertThat(failed.workloadId()).contains(POOL);
              assertThat(failed.message())
                  .startsWith("The change was applied, but the pool could not be allocated: ");
            })
        .extracting(failed -> failed.source().offset())
        .containsExactly(1L, 2L);
    assertThat(allocations.isEmpty()).isTrue();
    reports.pipeInput(POOL, good);
    pool.advanceWallClockTime(TopologyName.POOL.tick());
    assertThat(allocations.readValue().generation()).isEqualTo(3);
    assertThat(rejectedPools.isEmpty()).isTrue();
  }

  private static CurveReport withStep(CurveReport report, double stepMs) {
    ThroughputCurve curve = report.curve().orElseThrow();
    return new CurveReport(
        report.poolId(),
        report.workloadId(),
        Optional.of(
            new ThroughputCurve(
                curve.workloadId(),
                curve.generation(),
                curve.modelId(),
                curve.cluster(),
                curve.points().stream()
                    .map(p -> new CurvePoint(p.devices(), OptionalDouble.of(stepMs)))
                    .toList())));
  }

  private static PoolChange lostIn(String id, PoolNodeLost lost) {
    return new PoolChange(UUID.randomUUID(), id, Fixtures.TIME, "test", List.of(lost));
  }

  private void assertRejected(PoolChange event, RejectionReason reason) {
    pools.pipeInput(event.poolId(), event);
    settle();
    RejectedEvent rejection = rejectedPools.readValue();
    assertThat(rejection.reason()).isEqualTo(reason);
    assertThat(rejection.workloadId()).contains(event.poolId());
    assertThat(rejectedPools.isEmpty()).isTrue();
  }

  @Test
  void a_claim_on_a_second_pool_is_rejected_until_the_first_is_withdrawn() {
    twoWorkloads();
    PoolChange second =
        new PoolChange(
            UUID.randomUUID(),
            "other",
            Fixtures.TIME,
            "test",
            List.of(new PoolSet(NODES), claim("ads", 2, 8, 1)));
    pools.pipeInput("other", second);
    settle();
    assertThat(rejectedRequests.readValue().reason()).isEqualTo(RejectionReason.INVALID_CLAIM);
    publish(event(new ClaimWithdrawn("ads")));
    pools.pipeInput(
        "other",
        new PoolChange(
            UUID.randomUUID(), "other", Fixtures.TIME, "test", List.of(claim("ads", 2, 8, 1))));
    settle();
    assertThat(last().poolId()).isEqualTo("other");
    assertThat(of("ads").devices()).isPositive();
  }

  @Test
  void a_deleted_workload_gets_no_more_clusters() {
    twoWorkloads();
    clusters.clear();
    change("ads", new Change.WorkloadDeleted("retired"));
    publish(event(new PoolNodeLost(of("search").nodes().get(0))));
    assertThat(clusters).extracting(WorkloadChange::workloadId).doesNotContain("ads");
  }
}
