package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.JavaProcess;
import io.shardtide.embedded.KafkaCluster;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PlannerProgram;
import io.shardtide.testing.PlannerProgram.Planning;
import io.shardtide.testing.SharedCluster;
import io.shardtide.workload.Change;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Planners join, close and are killed while workloads change. Each change must be answered once,
 * and a takeover with standby replicas restores next to nothing. Logs the longest time from a
 * change to its plan, for workloads whose partitions stay with their planners and for those that
 * move: docs/BENCHMARKS.md. {@code -Delastic.session.ms=6000} measures the default session, {@code
 * -Delastic.standby=0} planners without standby replicas, {@code -Delastic.settings=NAME=VALUE,...}
 * other settings of Kafka Streams.
 */
@Tag("nightly")
class ElasticIT {
  private static final Logger log = LoggerFactory.getLogger(ElasticIT.class);

  private static final int SESSION_MS = Integer.getInteger("elastic.session.ms", 2_000);
  private static final int STANDBY = Integer.getInteger("elastic.standby", 1);
  private static final List<String> SETTINGS =
      Stream.of(System.getProperty("elastic.settings", "").split(","))
          .filter(setting -> !setting.isEmpty())
          .toList();
  private static final int PARTITIONS = 4;
  private static final int WORKLOADS = 12;
  private static final int PAUSE_MS = 40;
  private static final Duration PATIENCE = Duration.ofMinutes(2);
  private static final Pattern RESTORED = Pattern.compile("Restored (\\d+) records of ");

  @TempDir private Path folder;
  private final String prefix = SharedCluster.freshPrefix();
  private final ExecutorService threads = Executors.newFixedThreadPool(2);
  private DevelopmentRegistry registry;
  private KafkaCluster broker;
  private LogClient client;
  private Admin admin;
  private volatile boolean publishing = true;

  /** A change and, once there is one, its plan, by {@link System#nanoTime}. */
  private record AnsweredChange(String workload, long published, long planned) {
    double seconds() {
      return (planned - published) / 1e9;
    }
  }

  private final Map<String, List<Long>> published = new ConcurrentHashMap<>();
  private final List<AnsweredChange> answers = new ArrayList<>();
  private List<ShardingPlan> plans = List.of();

  @BeforeEach
  void start() throws Exception {
    registry = DevelopmentRegistry.start(0, Optional.empty());
    broker = KafkaCluster.of(folder.resolve("broker"), 1).start();
    client = new LogClient(broker.bootstrapServers(), registry.url(), prefix);
    admin = Admin.create(Map.of("bootstrap.servers", broker.bootstrapServers()));
  }

  @AfterEach
  void stop() throws Exception {
    threads.shutdownNow();
    admin.close();
    client.close();
    broker.close();
    registry.close();
  }

  private JavaProcess planner(String name) throws IOException {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                broker.bootstrapServers(),
                registry.url(),
                prefix,
                Integer.toString(PARTITIONS),
                folder.resolve(name).toString(),
                Planning.EACH.name(),
                "main.consumer.session.timeout.ms=" + SESSION_MS,
                "producer.transaction.timeout.ms=10000",
                "num.standby.replicas=" + STANDBY));
    arguments.addAll(SETTINGS);
    return PlannerProgram.start(folder, Map.of(), arguments);
  }

  /** Changes one workload after the other until {@link #publishing} ends. */
  private Void publish() throws Exception {
    for (int i = 0; publishing; i++) {
      String workload = "w" + i % WORKLOADS;
      Change table = upsert("t" + i / WORKLOADS % 20, 1_000 + i, 16, 2);
      WorkloadChange event =
          new WorkloadChange(
              UUID.randomUUID(),
              workload,
              Fixtures.TIME,
              "test",
              OptionalLong.empty(),
              i < WORKLOADS ? List.of(set(2, Fixtures.GIB), table) : List.of(table));
      published.computeIfAbsent(workload, w -> new ArrayList<>());
      synchronized (published) {
        published.get(workload).add(System.nanoTime());
      }
      client.publish(event);
      Thread.sleep(PAUSE_MS);
    }
    return null;
  }

  /** Reads plans until it is interrupted, also while a planner starts or stops. */
  private Void readPlansRepeatedly() throws InterruptedException {
    while (true) {
      readPlans();
      Thread.sleep(20);
    }
  }

  /** Reads the plans that have come since the last call, and when they were first seen. */
  private synchronized void readPlans() {
    List<ShardingPlan> all = client.committed(client.topics().of(SHARDING_PLANS));
    long now = System.nanoTime();
    synchronized (published) {
      for (ShardingPlan plan : all.subList(plans.size(), all.size())) {
        for (long g = plan.origin().firstGeneration(); g <= plan.generation(); g++) {
          long at = published.get(plan.workloadId()).get((int) g - 1);
          answers.add(new AnsweredChange(plan.workloadId(), at, now));
        }
      }
    }
    plans = all;
  }

  private long changes() {
    synchronized (published) {
      return published.values().stream().mapToInt(List::size).sum();
    }
  }

  private synchronized List<AnsweredChange> answers() {
    return List.copyOf(answers);
  }

  /** Waits for some seconds, and then until every change published so far has a plan. */
  private void settle() throws Exception {
    Thread.sleep(4_000 + SESSION_MS);
    long all = changes();
    await()
        .atMost(PATIENCE)
        .pollInterval(Duration.ofMillis(20))
        .until(() -> answers().size() >= all);
  }

  /** Returns which client owns each partition of both topologies, once both groups are stable. */
  private Map<String, String> owners() {
    return await()
        .atMost(PATIENCE)
        .pollInterval(Duration.ofMillis(50))
        .until(this::stableOwners, owners -> owners.size() == 2 * PARTITIONS);
  }

  /** Returns the owners; empty during a rebalance. */
  private Map<String, String> stableOwners() throws Exception {
    Map<String, String> owners = new TreeMap<>();
    for (ConsumerGroupDescription group :
        admin
            .describeConsumerGroups(List.of(prefix + "workload", prefix + "planning"))
            .all()
            .get()
            .values()) {
      if (group.groupState() != GroupState.STABLE) {
        return Map.of();
      }
      for (MemberDescription member : group.members()) {
        for (TopicPartition partition : member.assignment().topicPartitions()) {
          owners.put(group.groupId() + "-" + partition.partition(), member.clientId());
        }
      }
    }
    return owners;
  }

  /** Logs how long changes waited since an event. */
  private void report(String event, Map<String, String> before, long since) throws Exception {
    settle();
    Map<String, String> after = owners();
    Map<Boolean, Double> longest = new HashMap<>(Map.of(true, 0.0, false, 0.0));
    for (AnsweredChange answer : answers()) {
      if (answer.planned() >= since) {
        int partition =
            BuiltInPartitioner.partitionForKey(
                answer.workload().getBytes(StandardCharsets.UTF_8), PARTITIONS);
        boolean moved =
            List.of("workload-", "planning-").stream()
                .map(topology -> prefix + topology + partition)
                .anyMatch(owned -> !after.get(owned).equals(before.get(owned)));
        longest.merge(moved, answer.seconds(), Math::max);
      }
    }
    log.info(
        "{}: {} of {} tasks moved; longest time to a plan {} s for workloads that stay, {} s for those that move",
        event,
        after.entrySet().stream()
            .filter(owned -> !owned.getValue().equals(before.get(owned.getKey())))
            .count(),
        after.size(),
        Math.round(longest.get(false) * 10) / 10.0,
        Math.round(longest.get(true) * 10) / 10.0);
  }

  private static long restored(JavaProcess planner) throws IOException {
    return RESTORED
        .matcher(planner.output())
        .results()
        .mapToLong(r -> Long.parseLong(r.group(1)))
        .sum();
  }

  /** Returns the records of all changelogs: what a takeover without standby replicas restores. */
  private long changelogs() throws Exception {
    List<String> names =
        admin.listTopics().names().get().stream()
            .filter(t -> t.startsWith(prefix) && t.endsWith("-changelog"))
            .toList();
    Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
    for (String name : names) {
      for (int p = 0; p < PARTITIONS; p++) {
        ends.put(new TopicPartition(name, p), OffsetSpec.latest());
      }
    }
    return admin.listOffsets(ends).all().get().values().stream().mapToLong(o -> o.offset()).sum();
  }

  @Test
  void planners_join_close_and_are_killed_while_workloads_change() throws Exception {
    try (JavaProcess first = planner("first");
        JavaProcess second = planner("second")) {
      first.awaitReady();
      second.awaitReady();
      Future<?> publisher = threads.submit(this::publish);
      Future<?> reader = threads.submit(this::readPlansRepeatedly);
      settle();
      report("Nothing happens", owners(), System.nanoTime());

      Map<String, String> before = owners();
      long since = System.nanoTime();
      try (JavaProcess third = planner("third")) {
        third.awaitReady();
        report("A third planner joins", before, since);

        before = owners();
        since = System.nanoTime();
        first.stop();
        report("A planner closes", before, since);

        before = owners();
        long restoredBefore = restored(third);
        since = System.nanoTime();
        second.kill();
        report("A planner is killed", before, since);
        long restored = restored(third) - restoredBefore;
        long all = changelogs();
        log.info("The takeover restored {} records; the changelogs have {}", restored, all);

        publishing = false;
        publisher.get();
        settle();
        assertThat(reader.isDone()).as("reads plans").isFalse();
        reader.cancel(true);
        if (STANDBY > 0) {
          assertThat(restored).as("of %d records", all).isLessThan(all / 10);
        }
      }
    }
    Map<String, Long> next = new HashMap<>();
    for (ShardingPlan plan : plans) {
      assertThat(plan.origin().firstGeneration())
          .as(plan.workloadId())
          .isEqualTo(next.getOrDefault(plan.workloadId(), 1L));
      next.put(plan.workloadId(), plan.generation() + 1);
    }
    published.forEach(
        (workload, times) ->
            assertThat(next).as("answered once").containsEntry(workload, times.size() + 1L));
  }
}
