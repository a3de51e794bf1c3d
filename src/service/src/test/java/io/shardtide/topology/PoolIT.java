package io.shardtide.topology;

import static io.shardtide.testing.PoolSamples.POOL;
import static io.shardtide.testing.PoolSamples.claim;
import static io.shardtide.testing.PoolSamples.event;
import static io.shardtide.wire.TopicType.ALLOCATIONS;
import static io.shardtide.wire.TopicType.CURRENT_ALLOCATIONS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.THROUGHPUT_CURVES;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.allocation.AllocationRequest;
import io.shardtide.allocation.Allocator;
import io.shardtide.embedded.JavaProcess;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.pool.PoolUpdate.PoolNodeAdded;
import io.shardtide.pool.PoolUpdate.PoolNodeLost;
import io.shardtide.pool.PoolUpdate.PoolSet;
import io.shardtide.pool.ThroughputCurve;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PoolSamples;
import io.shardtide.wire.Extension;
import io.shardtide.workload.Change;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.SourcePosition;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** While nodes come and go and tables change, the planner is killed. */
@Tag("nightly")
class PoolIT extends ExtensionFixture {
  private static final Logger log = LoggerFactory.getLogger(PoolIT.class);

  /** More than may be adjusted at once. */
  private static final List<String> WORKLOADS =
      IntStream.range(0, AllocationPolicy.DEFAULTS.adjustedAtOnce() + 2)
          .mapToObj(w -> "w" + w)
          .toList();

  private static final int NODES = 12;
  private static final int LEAST_NODES = 8;

  private final List<PoolChange> published = new ArrayList<>();

  private void publish(PoolChange event) throws Exception {
    published.add(event);
    client.publishValue(topics.of(POOL_CHANGES), event.poolId(), event);
  }

  private void publishWorkloads() throws Exception {
    for (int w = 0; w < WORKLOADS.size(); w++) {
      List<Change> all = new ArrayList<>(List.of(Fixtures.set(1, Fixtures.GIB)));
      for (int t = 0; t <= w; t++) {
        all.add(Fixtures.upsert("t" + t, 100_000, 32, 10 + 10 * t));
      }
      change(WORKLOADS.get(w), all.toArray(Change[]::new));
    }
  }

  private void publishPool() throws Exception {
    List<PoolUpdate> updates =
        new ArrayList<>(List.of(new PoolSet(PoolSamples.pool(NODES, Fixtures.GIB))));
    WORKLOADS.forEach(workload -> updates.add(claim(workload, 1, 4, 1)));
    publish(event(updates.toArray(PoolUpdate[]::new)));
  }

  /** Changes tables and nodes until {@link #publishing} ends; some events must be rejected. */
  private Void publishChanges() throws Exception {
    Set<String> nodes = new TreeSet<>(PoolSamples.pool(NODES, Fixtures.GIB).nodes().keySet());
    for (int i = 0; publishing; i++) {
      switch (random.nextInt(8)) {
        case 0, 1 -> {
          if (nodes.size() > LEAST_NODES) {
            String lost = List.copyOf(nodes).get(random.nextInt(nodes.size()));
            nodes.remove(lost);
            publish(event(new PoolNodeLost(lost)));
          }
        }
        case 2 -> {
          nodes.add("added" + i);
          publish(event(new PoolNodeAdded(new PoolNode("added" + i, ""))));
        }
        case 3 -> publish(published.get(random.nextInt(published.size())));
        case 4 -> publish(event(new PoolNodeLost("unknown" + i)));
        default ->
            change(
                WORKLOADS.get(random.nextInt(WORKLOADS.size())),
                Fixtures.upsert("t" + random.nextInt(3), 50_000 + i, 32, 1 + random.nextInt(80)));
      }
      Thread.sleep(random.nextInt(300));
    }
    return null;
  }

  /** Returns the events of the pool, in their order, that must be applied. */
  private List<PoolChange> accepted() {
    List<PoolChange> accepted = new ArrayList<>();
    Set<UUID> ids = new HashSet<>();
    PoolState state = PoolState.empty(POOL);
    for (PoolChange event : published) {
      try {
        PoolState next = state.apply(event);
        if (ids.add(event.eventId())) {
          state = next;
          accepted.add(event);
        }
      } catch (RejectedException e) {
        // Nor does the planner apply it.
        log.debug("Must be rejected", e);
      }
    }
    return accepted;
  }

  private boolean isAllocated() {
    List<Allocation> allocations = client.committed(topics.of(ALLOCATIONS));
    return !allocations.isEmpty()
        && allocations.get(allocations.size() - 1).generation() == accepted().size();
  }

  @Test
  void pools_cost_nothing_while_off_and_survive_kills_when_on() throws Exception {
    try (JavaProcess off = planner()) {
      assertThat(off).isNotNull();
      publishWorkloads();
      awaitPlanned();
      assertNothingOfExtensions("pool|curve|allocation");
    }
    log.info("Planned without pools");
    try (JavaProcess first = planner(Extension.POOLS)) {
      publishPool();
      awaitEnd(this::isAllocated);
      assertPlannedWithThePool();
      log.info("Allocated");
      killWhile(first, Extension.POOLS, this::publishChanges);
    }
    try (JavaProcess last = planner(Extension.POOLS)) {
      assertThat(last).isNotNull();
      log.info("Runs to the end");
      awaitEnd(this::isAllocated);
    }
    log.info(
        "{} events of pools, {} allocations; {} allocations and {} curves were in aborted transactions",
        published.size(),
        client.committed(topics.of(ALLOCATIONS)).size(),
        client.aborted(topics.of(ALLOCATIONS)),
        client.aborted(topics.of(THROUGHPUT_CURVES)));
    assertEventsAreAppliedOnce();
    assertAllocationsAreRecomputed();
    assertThat(changesOf("pool " + POOL)).hasSizeGreaterThanOrEqualTo(WORKLOADS.size());
    assertEachGenerationHasOnePlan();
    assertPlannedWithThePool();
  }

  /** Each workload has devices, its latest plan is for as many, and that cluster was sent. */
  private void assertPlannedWithThePool() {
    Map<String, ShardingPlan> latest = new HashMap<>();
    client
        .committed(topics.of(SHARDING_PLANS))
        .forEach(plan -> latest.put(plan.workloadId(), plan));
    List<Allocation> current = client.committed(topics.of(CURRENT_ALLOCATIONS));
    Allocation allocation = current.get(current.size() - 1);
    assertThat(allocation)
        .isEqualTo(
            client
                .committed(topics.of(ALLOCATIONS))
                .get(client.committed(topics.of(ALLOCATIONS)).size() - 1));
    assertThat(allocation.workloads()).hasSize(WORKLOADS.size());
    allocation
        .workloads()
        .forEach(
            has -> {
              assertThat(has.devices()).as(has.workloadId()).isPositive();
              assertThat(latest.get(has.workloadId()).prediction().deviceCosts())
                  .as(has.workloadId())
                  .hasSize(has.devices());
            });
  }

  /** Each event is applied once and in order, or rejected once. */
  private void assertEventsAreAppliedOnce() {
    List<PoolChange> written = client.committed(topics.of(POOL_CHANGES));
    assertThat(written).isEqualTo(published);
    List<PoolChange> accepted = accepted();
    List<Long> rejected =
        rejected(topics.of(POOL_CHANGES)).stream().map(SourcePosition::offset).toList();
    List<PoolChange> applied = new ArrayList<>();
    for (int i = 0; i < written.size(); i++) {
      if (!rejected.contains((long) i)) {
        applied.add(written.get(i));
      }
    }
    assertThat(applied).isEqualTo(accepted);
    assertThat(rejected).as("the run has events to reject").isNotEmpty();
  }

  /** Each allocation follows from the one before, the events and the curves on the log. */
  private void assertAllocationsAreRecomputed() {
    List<PoolChange> accepted = accepted();
    Map<String, ThroughputCurve> byId = new HashMap<>();
    for (CurveReport report : client.committed(topics.of(THROUGHPUT_CURVES))) {
      report.curve().ifPresent(curve -> byId.put(curve.id(), curve));
    }
    Optional<Allocation> before = Optional.empty();
    int losses = 0;
    for (Allocation allocation : client.committed(topics.of(ALLOCATIONS))) {
      long generationBefore = before.map(Allocation::generation).orElse(0L);
      assertThat(allocation.generation()).isGreaterThanOrEqualTo(generationBefore);
      assertThat(allocation.previousId()).isEqualTo(before.map(Allocation::allocationId));
      PoolState state = PoolState.empty(POOL);
      for (PoolChange event : accepted.subList(0, (int) allocation.generation())) {
        state = state.apply(event);
      }
      Map<String, ThroughputCurve> curves = new HashMap<>();
      allocation.curveIds().forEach((id, curveId) -> curves.put(id, byId.get(curveId)));
      assertThat(
              Allocator.allocate(
                  new AllocationRequest(state, curves, before, AllocationPolicy.DEFAULTS)))
          .isEqualTo(allocation);
      List<PoolChange> since =
          accepted.subList((int) generationBefore, (int) allocation.generation());
      if (since.size() == 1 && since.get(0).updates().get(0) instanceof PoolNodeLost) {
        losses++;
        assertThat(allocation.quality().adjusted())
            .as("adjusted for a lost node in generation %d", allocation.generation())
            .isLessThanOrEqualTo(AllocationPolicy.DEFAULTS.adjustedAtOnce());
      }
      before = Optional.of(allocation);
    }
    assertThat(before.map(Allocation::generation)).contains((long) accepted.size());
    assertThat(losses).as("nodes are lost").isPositive();
  }
}
