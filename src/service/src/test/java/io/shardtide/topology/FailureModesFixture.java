package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import io.shardtide.workload.Change;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.UnknownHardware;
import io.shardtide.workload.WorkloadChange;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.OptionalLong;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/**
 * One planner and one partition for all tests of a class, so that a test that stops the partition
 * fails the tests after it.
 */
abstract class FailureModesFixture {
  static final Duration PATIENCE = Duration.ofSeconds(60);
  static final String TOO_MUCH = "too-much-";
  static final byte[] NOISE = "noise".getBytes(StandardCharsets.UTF_8);

  @TempDir private static Path data;
  static EmbeddedKafka kafka;
  static DevelopmentRegistry registry;
  static LogClient client;
  static Topics topics;
  private static PlannerService service;
  private static final ListAppender<ILoggingEvent> LOGGED = new ListAppender<>();

  final String workload = "w-" + UUID.randomUUID();

  @BeforeAll
  static void start() throws Exception {
    ((Logger) LoggerFactory.getLogger("io.shardtide")).addAppender(LOGGED);
    LOGGED.start();
    kafka = SharedCluster.kafka();
    registry = SharedCluster.registry();
    String prefix = SharedCluster.freshPrefix();
    client = new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
    topics = client.topics();
    service =
        PlannerService.start(
            new PlannerParts(
                TestSettings.of(
                        kafka.bootstrapServers(), registry.url(), prefix, data.resolve("state"))
                    .unknownHardware(UnknownHardware.REJECT)
                    .build(),
                List.of(TestModels.bundle()),
                FailureModesFixture::towers));
  }

  private static TowerPredictor towers(ModelBundle bundle) {
    if (bundle.hardware().startsWith(TOO_MUCH)) {
      throw new IllegalStateException("TensorFlow has no memory for it");
    }
    return new TensorFlowTowers(bundle);
  }

  @AfterAll
  static void stop() throws Exception {
    service.close();
    client.close();
    ((Logger) LoggerFactory.getLogger("io.shardtide")).detachAppender(LOGGED);
  }

  @BeforeEach
  void begin() throws Exception {
    client.publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    plans(1);
  }

  /** Whatever the test did, other workloads and this one go on. */
  @AfterEach
  void other_workloads_are_planned() throws Exception {
    int before = planned().size();
    client.publish(event("other-" + workload, set(2, Fixtures.GIB), upsert("a", 1_000, 8, 2)));
    client.publish(event(upsert("the-end", 1_000, 8, 2)));
    plans(before + 1);
    await()
        .atMost(PATIENCE)
        .until(
            () ->
                client.committed(topics.of(CURRENT_PLANS)).stream()
                    .anyMatch(p -> p.workloadId().equals("other-" + workload)));
  }

  WorkloadChange event(Change... changes) {
    return event(workload, changes);
  }

  static WorkloadChange event(String workloadId, Change... changes) {
    return event(workloadId, Fixtures.TIME, changes);
  }

  static WorkloadChange event(String workloadId, Instant occurredAt, Change... changes) {
    return new WorkloadChange(
        UUID.randomUUID(), workloadId, occurredAt, "test", OptionalLong.empty(), List.of(changes));
  }

  List<ShardingPlan> planned() {
    return client.committed(topics.of(SHARDING_PLANS)).stream()
        .filter(plan -> plan.workloadId().equals(workload))
        .toList();
  }

  ShardingPlan latest() {
    List<ShardingPlan> plans = planned();
    return plans.get(plans.size() - 1);
  }

  /** Waits for the workload's plans, and returns them. */
  List<ShardingPlan> plans(int count) {
    return await().atMost(PATIENCE).until(this::planned, plans -> plans.size() >= count);
  }

  /** Waits until a topic's record is rejected, and returns the latest rejection. */
  RejectedEvent rejection(Topic<?> topic, int before) {
    List<RejectedEvent> rejected =
        await().atMost(PATIENCE).until(() -> rejections(topic), all -> all.size() > before);
    assertThat(rejected).hasSize(before + 1);
    return rejected.get(before);
  }

  static List<RejectedEvent> rejections(Topic<?> topic) {
    return client.committed(topics.of(REJECTED_EVENTS)).stream()
        .filter(e -> e.source().topic().equals(topic.name()))
        .toList();
  }

  RejectedEvent rejected(Topic<?> topic, String key, byte[] value) throws Exception {
    int before = rejections(topic).size();
    client.publish(topic, key, value);
    return rejection(topic, before);
  }

  static void awaitLog(String... parts) {
    await()
        .atMost(PATIENCE)
        .until(
            () ->
                List.copyOf(LOGGED.list).stream()
                    .map(ILoggingEvent::getFormattedMessage)
                    .anyMatch(line -> List.of(parts).stream().allMatch(line::contains)));
  }
}
