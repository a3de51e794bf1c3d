package io.shardtide.topology;

import static io.shardtide.testing.PoolSamples.POOL;
import static io.shardtide.testing.PoolSamples.claim;
import static io.shardtide.testing.PoolSamples.event;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.allocation.AllocationRequest;
import io.shardtide.allocation.Allocator;
import io.shardtide.domain.Change;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.domain.pool.Allocation;
import io.shardtide.domain.pool.AllocationPolicy;
import io.shardtide.domain.pool.CurveReport;
import io.shardtide.domain.pool.PoolChange;
import io.shardtide.domain.pool.PoolNode;
import io.shardtide.domain.pool.PoolState;
import io.shardtide.domain.pool.PoolUpdate;
import io.shardtide.domain.pool.PoolUpdate.PoolNodeAdded;
import io.shardtide.domain.pool.PoolUpdate.PoolNodeLost;
import io.shardtide.domain.pool.PoolUpdate.PoolSet;
import io.shardtide.domain.pool.ThroughputCurve;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.embedded.JavaProcess;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PlannerProgram;
import io.shardtide.testing.PlannerProgram.Planning;
import io.shardtide.testing.PoolSamples;
import io.shardtide.testing.SharedCluster;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Pools have the guarantees that plans have: while nodes come and go and tables change, the planner
 * is ended by {@code kill -9} at moments drawn by a seed, and at the end the log is checked against
 * what was published. {@code -Dpool.seed=N} repeats a run, {@code -Dpool.kills=N} kills more often.
 */
@Tag("nightly")
class PoolIT {
  private static final Logger log = LoggerFactory.getLogger(PoolIT.class);

  private static final long SEED =
      Long.getLong("pool.seed", Math.floorMod(System.nanoTime(), 1_000_000));
  private static final int KILLS = Integer.getInteger("pool.kills", 3);
  private static final int PARTITIONS = 3;

  /** More than may be adjusted at once. */
  private static final List<String> WORKLOADS =
      IntStream.range(0, AllocationPolicy.DEFAULTS.adjustedAtOnce() + 2)
          .mapToObj(w -> "w" + w)
          .toList();

  private static final int NODES = 12;
  private static final int LEAST_NODES = 8;
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  /** Longer than any step from one topic to the next takes. */
  private static final Duration IDLE = Duration.ofSeconds(2);

  @TempDir private Path folder;
  private final String prefix = SharedCluster.freshPrefix();
  private final ExecutorService publisher = Executors.newSingleThreadExecutor();
  private final Random random = new Random(SEED);
  private final List<PoolChange> published = new ArrayList<>();
  private volatile boolean publishing = true;
  private DevelopmentRegistry registry;
  private EmbeddedKafka kafka;
  private LogClient client;
  private Topics topics;

  @BeforeEach
  void start() throws Exception {
    log.info("Seed {}; -Dpool.seed repeats it", SEED);
    registry = DevelopmentRegistry.start(0, Optional.empty());
    kafka = EmbeddedKafka.start(folder.resolve("kafka"));
    client = new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
    topics = client.topics();
  }

  @AfterEach
  void stop() throws Exception {
    publisher.shutdownNow();
    client.close();
    kafka.close();
    registry.close();
  }

  private JavaProcess planner(String... more) throws Exception {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                kafka.bootstrapServers(),
                registry.url(),
                prefix,
                Integer.toString(PARTITIONS),
                folder.resolve("state").toString(),
                Planning.EACH.name()));
    arguments.addAll(List.of(more));
    return PlannerProgram.start(folder, Map.of(), arguments);
  }

  private void change(String workload, Change... changes) throws Exception {
    client.publish(
        new WorkloadChange(
            UUID.randomUUID(),
            workload,
            Fixtures.TIME,
            "test",
            OptionalLong.empty(),
            List.of(changes)));
  }

  private void publish(PoolChange event) throws Exception {
    published.add(event);
    client.publishValue(topics.poolChanges(), event.poolId(), event);
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

  /** Returns the positions of a topic's rejected records; each must be rejected once. */
  private Set<Long> rejected(Topic<?> topic, Predicate<RejectedEvent> which) {
    List<Long> offsets =
        client.committed(topics.rejectedEvents()).stream()
            .filter(r -> r.source().topic().equals(topic.name()) && which.test(r))
            .map(r -> r.source().offset())
            .toList();
    assertThat(offsets).as("rejected on %s", topic.name()).doesNotHaveDuplicates();
    return new TreeSet<>(offsets);
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

  private Map<String, Long> planned() {
    Map<String, Long> planned = new HashMap<>();
    client
        .committed(topics.shardingPlans())
        .forEach(plan -> planned.put(plan.workloadId(), plan.generation()));
    return planned;
  }

  private Map<String, Long> changes() {
    Map<String, Long> changes = new HashMap<>();
    client
        .committed(topics.workloadChanges())
        .forEach(change -> changes.merge(change.workloadId(), 1L, Long::sum));
    return changes;
  }

  private boolean isAllocated() {
    List<Allocation> allocations = client.committed(topics.allocations());
    return !allocations.isEmpty()
        && allocations.get(allocations.size() - 1).generation() == accepted().size();
  }

  /** Waits until all is allocated and planned, and no topic gets more records. */
  private void awaitEnd() {
    await()
        .atMost(PATIENCE)
        .pollInterval(Duration.ofMillis(100))
        .during(IDLE)
        .until(() -> isAllocated() && planned().equals(changes()));
  }

  /** What was off is as if it had never been written; then it is on, and is killed. */
  @Test
  void pools_cost_nothing_while_off_and_survive_kills_when_on() throws Exception {
    try (JavaProcess off = planner()) {
      publishWorkloads();
      off.awaitReady();
      await().atMost(PATIENCE).until(() -> planned().equals(changes()));
      assertNothingOfPools();
    }
    log.info("Planned without pools");
    try (JavaProcess first = planner(PlannerProgram.enabling(Extension.POOLS))) {
      first.awaitReady();
      publishPool();
      awaitEnd();
      assertPlannedWithThePool();
      log.info("Allocated");
      Future<?> running = publisher.submit(this::publishChanges);
      Thread.sleep(2_000 + random.nextInt(1_000));
      first.kill();
      log.info("Killed the planner while it ran");
      for (int kill = 1; kill < KILLS; kill++) {
        JavaProcess next = planner(PlannerProgram.enabling(Extension.POOLS));
        boolean whileStarting = random.nextInt(3) == 0;
        if (!whileStarting) {
          next.awaitReady();
        }
        Thread.sleep(500 + random.nextInt(2_500));
        next.kill();
        log.info("Killed the planner while it {}", whileStarting ? "started" : "ran");
      }
      publishing = false;
      running.get();
    }
    try (JavaProcess last = planner(PlannerProgram.enabling(Extension.POOLS))) {
      last.awaitReady();
      log.info("Runs to the end");
      awaitEnd();
    }
    log.info(
        "{} events of pools, {} allocations; {} allocations and {} curves were in aborted transactions",
        published.size(),
        client.committed(topics.allocations()).size(),
        client.aborted(topics.allocations()),
        client.aborted(topics.throughputCurves()));
    assertEventsAreAppliedOnce();
    assertAllocationsAreRecomputed();
    assertClustersAreSentOnce();
    assertPlannedWithThePool();
  }

  private void assertNothingOfPools() throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      Set<String> names = new TreeSet<>(admin.listTopics().names().get());
      names.removeIf(name -> !name.startsWith(prefix));
      assertThat(names)
          .contains(topics.shardingPlans().name())
          .noneMatch(name -> name.matches(".*(pool|curve|allocation).*"));
    }
    List<String> ofPools = new ArrayList<>(topics.all().stream().map(Topic::name).toList());
    ofPools.removeAll(Topics.inUse(prefix, Set.of()).all().stream().map(Topic::name).toList());
    assertThat(client.registry().unregistered(topics))
        .containsExactlyElementsOf(ofPools.stream().map(name -> name + "-value").toList());
  }

  /** Each workload has devices, its latest plan is for as many, and that cluster was sent. */
  private void assertPlannedWithThePool() {
    Map<String, ShardingPlan> latest = new HashMap<>();
    client.committed(topics.shardingPlans()).forEach(plan -> latest.put(plan.workloadId(), plan));
    List<Allocation> current = client.committed(topics.currentAllocations());
    Allocation allocation = current.get(current.size() - 1);
    assertThat(allocation)
        .isEqualTo(
            client
                .committed(topics.allocations())
                .get(client.committed(topics.allocations()).size() - 1));
    assertThat(allocation.workloads()).hasSize(WORKLOADS.size());
    allocation
        .workloads()
        .forEach(
            has -> {
              assertThat(has.devices()).as(has.workloadId()).isPositive();
              assertThat(latest.get(has.workloadId()).deviceCosts())
                  .as(has.workloadId())
                  .hasSize(has.devices());
            });
  }

  /** Each event is applied once and in order, or rejected once. */
  private void assertEventsAreAppliedOnce() {
    List<PoolChange> written = client.committed(topics.poolChanges());
    assertThat(written).isEqualTo(published);
    List<PoolChange> accepted = accepted();
    Set<Long> rejected = rejected(topics.poolChanges(), r -> true);
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
    for (CurveReport report : client.committed(topics.throughputCurves())) {
      report.curve().ifPresent(curve -> byId.put(curve.id(), curve));
    }
    Optional<Allocation> before = Optional.empty();
    int losses = 0;
    for (Allocation allocation : client.committed(topics.allocations())) {
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

  /** Each cluster that the pool sent is on the log once, was applied, and has a plan. */
  private void assertClustersAreSentOnce() {
    List<WorkloadChange> sent =
        client.committed(topics.workloadChanges()).stream()
            .filter(change -> change.source().equals("pool " + POOL))
            .toList();
    assertThat(sent).extracting(WorkloadChange::eventId).doesNotHaveDuplicates();
    assertThat(sent).hasSizeGreaterThanOrEqualTo(WORKLOADS.size());
    assertThat(rejected(topics.workloadChanges(), r -> true)).isEmpty();
    Map<String, Long> next = new HashMap<>();
    for (ShardingPlan plan : client.committed(topics.shardingPlans())) {
      assertThat(plan.firstGeneration())
          .as(plan.workloadId())
          .isEqualTo(next.getOrDefault(plan.workloadId(), 1L));
      next.put(plan.workloadId(), plan.generation() + 1);
    }
    changes().forEach((workload, count) -> assertThat(next).containsEntry(workload, count + 1));
  }
}
