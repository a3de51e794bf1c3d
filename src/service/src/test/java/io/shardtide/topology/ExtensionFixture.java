package io.shardtide.topology;

import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.embedded.JavaProcess;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PlannerProgram;
import io.shardtide.testing.PlannerProgram.Planning;
import io.shardtide.testing.SharedCluster;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import io.shardtide.workload.Change;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.WorkloadChange;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An optional part has the guarantees that plans have: it costs nothing while it is off, and while
 * it is on, the planner is ended by {@code kill -9} at moments drawn by a seed. At the end the log
 * is checked against what was published. {@code -Dextension.seed=N} repeats a run, {@code
 * -Dextension.kills=N} kills more often.
 */
abstract class ExtensionFixture {
  static final Duration PATIENCE = Duration.ofMinutes(2);

  private static final Logger log = LoggerFactory.getLogger(ExtensionFixture.class);
  private static final long SEED =
      Long.getLong("extension.seed", Math.floorMod(System.nanoTime(), 1_000_000));
  private static final int KILLS = Integer.getInteger("extension.kills", 3);
  private static final int PARTITIONS = 3;

  /**
   * Longer than any step from one topic to the next takes, and than the transaction of a planner
   * that was killed holds up others.
   */
  private static final Duration IDLE = Duration.ofSeconds(5);

  final Random random = new Random(SEED);
  LogClient client;
  Topics topics;
  volatile boolean publishing;

  @TempDir private Path folder;
  private final String prefix = SharedCluster.freshPrefix();
  private final ExecutorService publisher = Executors.newSingleThreadExecutor();
  private DevelopmentRegistry registry;
  private EmbeddedKafka kafka;

  @BeforeEach
  void start() throws Exception {
    log.info("Seed {}; -Dextension.seed repeats it", SEED);
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

  /** Starts a planner, and waits until it runs. */
  JavaProcess planner(Extension... extensions) throws Exception {
    JavaProcess planner = starting(extensions);
    planner.awaitReady();
    return planner;
  }

  private JavaProcess starting(Extension... extensions) throws Exception {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                kafka.bootstrapServers(),
                registry.url(),
                prefix,
                Integer.toString(PARTITIONS),
                state().toString(),
                Planning.EACH.name()));
    for (Extension extension : extensions) {
      arguments.add(PlannerProgram.enabling(extension));
    }
    return PlannerProgram.start(folder, Map.of(), arguments);
  }

  private Path state() {
    return folder.resolve("state");
  }

  /** Removes the planner's local state; no planner runs. */
  void loseState() throws Exception {
    if (Files.exists(state())) {
      PlanningGuarantees.delete(state());
    }
  }

  /** Kills a planner and its successors, some of which lost their state, while this publishes. */
  void killWhile(JavaProcess first, Extension extension, Callable<Void> publish) throws Exception {
    publishing = true;
    Future<?> published = publisher.submit(publish);
    Thread.sleep(2_000 + random.nextInt(1_000));
    first.kill();
    log.info("Killed the planner while it ran");
    for (int kill = 1; kill < KILLS; kill++) {
      boolean stateLost = random.nextInt(3) == 0;
      if (stateLost) {
        loseState();
      }
      JavaProcess next = starting(extension);
      boolean whileStarting = random.nextInt(3) == 0;
      if (!whileStarting) {
        next.awaitReady();
      }
      Thread.sleep(500 + random.nextInt(2_500));
      next.kill();
      log.info(
          "Killed the planner{} while it {}",
          stateLost ? ", which had lost its state," : "",
          whileStarting ? "started" : "ran");
    }
    publishing = false;
    published.get();
  }

  void change(String workload, Change... changes) throws Exception {
    client.publish(Fixtures.eventOf(workload, changes));
  }

  /** Returns the positions of a topic's rejected records; each must be rejected once. */
  Set<SourcePosition> rejected(Topic<?> topic) {
    List<SourcePosition> positions =
        client.committed(topics.of(REJECTED_EVENTS)).stream()
            .map(RejectedEvent::source)
            .filter(source -> source.topic().equals(topic.name()))
            .toList();
    assertThat(positions).as("rejected on %s", topic.name()).doesNotHaveDuplicates();
    return Set.copyOf(positions);
  }

  private Map<String, Long> planned() {
    Map<String, Long> planned = new HashMap<>();
    client
        .committed(topics.of(SHARDING_PLANS))
        .forEach(plan -> planned.put(plan.workloadId(), plan.generation()));
    return planned;
  }

  private Map<String, Long> changes() {
    Map<String, Long> changes = new HashMap<>();
    client
        .committed(topics.of(WORKLOAD_CHANGES))
        .forEach(change -> changes.merge(change.workloadId(), 1L, Long::sum));
    return changes;
  }

  void awaitPlanned() {
    await().atMost(PATIENCE).until(() -> planned().equals(changes()));
  }

  /** Waits until something is true, all is planned, and no topic gets more records. */
  void awaitEnd(BooleanSupplier isEnd) {
    await()
        .atMost(PATIENCE)
        .pollInterval(Duration.ofMillis(100))
        .during(IDLE)
        .untilAsserted(
            () -> {
              assertThat(isEnd.getAsBoolean()).as("is at its end").isTrue();
              assertThat(planned()).as("planned generations").isEqualTo(changes());
            });
  }

  /**
   * What was off is as if it had never been written.
   *
   * @param names a pattern of topics that a part has
   */
  void assertNothingOfExtensions(String names) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      Set<String> found = new TreeSet<>(admin.listTopics().names().get());
      found.removeIf(name -> !name.startsWith(prefix));
      assertThat(found)
          .contains(topics.of(SHARDING_PLANS).name())
          .noneMatch(name -> name.matches(".*(%s).*".formatted(names)));
    }
    List<String> optional = new ArrayList<>(topics.all().stream().map(Topic::name).toList());
    optional.removeAll(Topics.inUse(prefix, Set.of()).all().stream().map(Topic::name).toList());
    assertThat(client.registry().unregistered(topics))
        .containsExactlyElementsOf(optional.stream().map(name -> name + "-value").toList());
  }

  /** Returns what a source changed; each of its events is on the log once, and was applied. */
  List<WorkloadChange> changesOf(String source) {
    List<WorkloadChange> changes =
        client.committed(topics.of(WORKLOAD_CHANGES)).stream()
            .filter(change -> change.source().equals(source))
            .toList();
    assertThat(changes).extracting(WorkloadChange::eventId).doesNotHaveDuplicates();
    assertThat(rejected(topics.of(WORKLOAD_CHANGES))).isEmpty();
    return changes;
  }

  void assertEachGenerationHasOnePlan() {
    Map<String, Long> next = new HashMap<>();
    for (ShardingPlan plan : client.committed(topics.of(SHARDING_PLANS))) {
      assertThat(plan.origin().firstGeneration())
          .as(plan.workloadId())
          .isEqualTo(next.getOrDefault(plan.workloadId(), 1L));
      next.put(plan.workloadId(), plan.generation() + 1);
    }
    changes().forEach((workload, count) -> assertThat(next).containsEntry(workload, count + 1));
  }
}
