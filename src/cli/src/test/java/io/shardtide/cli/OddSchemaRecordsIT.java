package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURVE_REQUESTS;
import static io.shardtide.wire.TopicType.DRIFT_ALARMS;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.TABLE_FILLS;
import static io.shardtide.wire.TopicType.THROUGHPUT_CURVES;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.client.Endpoint;
import io.shardtide.client.PlanListener;
import io.shardtide.client.PlanSubscriber;
import io.shardtide.client.PlanUpdate;
import io.shardtide.cost.retraining.Retraining;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.RegistryAnswer;
import io.shardtide.testing.RegistryFront;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.topology.PlannerParts;
import io.shardtide.topology.PlannerService;
import io.shardtide.views.Views;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import io.shardtide.workload.RejectedEvent;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.GroupListing;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Records of seven bytes, one for each answer of a registry, on each topic: no topology loses a
 * thread, those with rejections reject each record, and each reader of the log goes on.
 */
@Tag("nightly")
class OddSchemaRecordsIT {
  private static final Duration PATIENCE = Duration.ofMinutes(3);
  private static final String PREFIX = SharedCluster.freshPrefix();

  /** All but the slow one, of which OddSchemaIdsIT has the same. */
  private static final List<RegistryAnswer> ANSWERS =
      Stream.of(RegistryAnswer.values()).filter(a -> a != RegistryAnswer.SLOW).toList();

  /** So that the test of many readers lasts a minute. */
  private static final Map<String, String> SHORT_WAITS =
      Map.of("missing.id.wait.ms", "5", "retries.wait.ms", "1");

  @TempDir private Path folder;

  private final List<PlanUpdate> updates = new CopyOnWriteArrayList<>();
  private final List<RejectedEvent> undecodable = new CopyOnWriteArrayList<>();
  private final List<RuntimeException> failures = new CopyOnWriteArrayList<>();
  private StringWriter out;
  private Endpoint endpoint;
  private Registry schemas;

  private final PlanListener listener =
      new PlanListener() {
        @Override
        public void plan(PlanUpdate update) {
          updates.add(update);
        }

        @Override
        public void undecodable(RejectedEvent record) {
          undecodable.add(record);
        }

        @Override
        public void failed(RuntimeException error) {
          failures.add(error);
        }
      };

  private int run(String... arguments) throws Exception {
    Path config = folder.resolve("client.properties");
    List<String> lines = new ArrayList<>();
    SHORT_WAITS.forEach((key, value) -> lines.add("registry." + key + "=" + value));
    Files.write(config, lines);
    List<String> all = new ArrayList<>(List.of(arguments));
    all.addAll(
        List.of(
            "--bootstrap",
            endpoint.bootstrapServers(),
            "--registry",
            endpoint.registryUrl(),
            "--prefix",
            PREFIX,
            "--kafka-config",
            config.toString()));
    out = new StringWriter();
    PrintWriter writer = new PrintWriter(out);
    return Shardtide.run(writer, writer, all.toArray(new String[0]));
  }

  /** Returns the members of all groups; a thread that is replaced is another member. */
  private Set<String> members(Admin admin) throws Exception {
    List<String> groups =
        admin.listGroups().all().get().stream()
            .map(GroupListing::groupId)
            .filter(group -> group.startsWith(PREFIX))
            .toList();
    Set<String> members = new TreeSet<>();
    for (ConsumerGroupDescription group :
        admin.describeConsumerGroups(groups).all().get().values()) {
      group.members().forEach(member -> members.add(group.groupId() + " " + member.consumerId()));
    }
    return members;
  }

  @Test
  void every_topology_and_every_reader_goes_on() throws Exception {
    EmbeddedKafka kafka = SharedCluster.kafka();
    DevelopmentRegistry registry = SharedCluster.registry();
    try (RegistryFront front =
            new RegistryFront(registry.url(), Optional.empty(), Optional.empty(), "");
        Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()));
        LogClient log = new LogClient(kafka.bootstrapServers(), registry.url(), PREFIX)) {
      front.answerOddly();
      endpoint =
          Endpoint.of(kafka.bootstrapServers(), front.url())
              .withPrefix(PREFIX)
              .withRegistry(SHORT_WAITS);
      schemas = endpoint.connectRegistry();
      try (PlannerService planner =
          PlannerService.start(
              new PlannerParts(
                      TestSettings.of(
                              kafka.bootstrapServers(),
                              front.url(),
                              PREFIX,
                              folder.resolve("state"))
                          .registry(SHORT_WAITS)
                          // A slow machine must not look like a lost thread.
                          .kafka(
                              Map.of(
                                  "main.consumer.session.timeout.ms", "300000",
                                  "main.consumer.heartbeat.interval.ms", "1000"))
                          .with(Extension.POOLS)
                          .with(Extension.GROWTH)
                          .build(),
                      List.of(TestModels.bundle()),
                      PlainTowers::new)
                  .with()
                  .trainer(Optional.of(Retraining::retrain))
                  .build())) {
        await().atMost(PATIENCE).until(planner::isRunning);
        Set<String> members = members(admin);
        assertThat(members).as("of seven topologies").hasSize(7);
        goesOn(log);
        assertThat(members(admin)).as("no thread was replaced").isEqualTo(members);
      } finally {
        schemas.close();
      }
    }
  }

  /** Returns the values of a topic's records, on the caller's thread. */
  private <V> List<V> readable(Topic<V> topic) {
    List<V> values = new ArrayList<>();
    try (TopicReader reader = endpoint.reader(schemas)) {
      reader
          .handle(topic, StartPosition.BEGINNING, (position, writtenAt, value) -> values.add(value))
          .onUndecodable(record -> {});
      reader.open();
      reader.readToEnd();
    }
    return values;
  }

  private void goesOn(LogClient log) throws Exception {
    Topics topics = log.topics();
    for (Topic<?> topic : topics.all()) {
      for (RegistryAnswer answer : ANSWERS) {
        log.publish(topic, Fixtures.WORKLOAD, answer.record());
      }
    }
    log.publish(Fixtures.event(Fixtures.set(2, Fixtures.GIB), Fixtures.upsert("a", 1_000, 16, 1)));
    await().atMost(PATIENCE).until(() -> readable(topics.of(SHARDING_PLANS)).size() == 1);
    ShardingPlan plan = readable(topics.of(SHARDING_PLANS)).get(0);

    // Feedback reads no topic that others do not, and curves reject what they are asked.
    for (Topic<?> topic :
        List.of(
            topics.of(WORKLOAD_CHANGES),
            topics.of(COST_PREDICTIONS),
            topics.of(PLAN_STATUS),
            topics.of(MEASURED_COSTS),
            topics.of(TRAINING_SAMPLES),
            topics.of(DRIFT_ALARMS),
            topics.of(POOL_CHANGES),
            topics.of(CURVE_REQUESTS),
            topics.of(THROUGHPUT_CURVES),
            topics.of(TABLE_FILLS))) {
      await()
          .atMost(PATIENCE)
          .alias(topic.name())
          .until(
              () ->
                  readable(topics.of(REJECTED_EVENTS)).stream()
                          .filter(r -> r.source().topic().equals(topic.name()))
                          .count()
                      == ANSWERS.size());
    }
    assertThat(readable(topics.of(REJECTED_EVENTS)))
        .filteredOn(r -> r.source().topic().equals(topics.of(WORKLOAD_CHANGES).name()))
        .extracting(RejectedEvent::reason)
        .containsExactlyElementsOf(ANSWERS.stream().map(RegistryAnswer::reason).toList());

    try (Views views = Views.start(endpoint, EnumSet.allOf(Extension.class), failures::add);
        PlanSubscriber plans =
            PlanSubscriber.start(endpoint, Optional.of(Fixtures.WORKLOAD), listener)) {
      assertThat(plans).isNotNull();
      await().atMost(PATIENCE).until(() -> views.plan(plan.planId()).isPresent());
      assertThat(views.plan(plan.planId())).contains(plan);
      await().atMost(PATIENCE).until(() -> updates.size() == 1);
      assertThat(undecodable).hasSizeBetween(1, ANSWERS.size());
      assertThat(failures).isEmpty();
    }

    Path export = folder.resolve("export");
    assertThat(run("export", "--out", export.toString())).as("%s", out).isZero();
    assertThat(out.toString())
        .contains(
            "%s: %d records that cannot be decoded"
                .formatted(topics.of(WORKLOAD_CHANGES).name(), ANSWERS.size()));
    assertThat(run("replay", "--out", folder.resolve("made.jsonl").toString()))
        .as("%s", out)
        .isZero();
    assertThat(run("why", "--workload", Fixtures.WORKLOAD)).as("%s", out).isZero();
    assertThat(run("watch", "--once")).as("%s", out).isZero();
    assertThat(out.toString()).contains("generation 1  " + Fixtures.WORKLOAD);
    assertThat(run("models", "list")).as("%s", out).isZero();
    assertThat(run("pools", "list")).as("%s", out).isZero();
  }
}
