package io.shardtide.topology;

import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.CURRENT_PREDICTIONS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import io.shardtide.config.ServiceSettings;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.state.PlanningSettings;
import io.shardtide.testing.TestSettings;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Topics on a real broker: made, accepted, or refused with what puts them right. */
class TopicCheckIT {
  @TempDir private static Path data;
  private static EmbeddedKafka kafka;
  private static Admin admin;

  private final String prefix = "t" + UUID.randomUUID().toString().substring(0, 8) + ".";
  private final Topics topics = Topics.withPrefix(prefix);

  @BeforeAll
  static void start() throws Exception {
    // A cluster that compacts unless told otherwise.
    kafka = EmbeddedKafka.start(data.resolve("kafka"), 0, Map.of("log.cleanup.policy", "compact"));
    admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()));
  }

  @AfterAll
  static void stop() {
    admin.close();
    kafka.close();
  }

  private List<TopicDifference> check(int partitions) throws InterruptedException {
    return check(partitions, 1, Map.of());
  }

  private List<TopicDifference> check(int partitions, int copies, Map<String, String> settings)
      throws InterruptedException {
    return TopicCheck.run(
            admin,
            TestSettings.of(kafka.bootstrapServers(), "http://registry", prefix, data)
                .partitions(partitions)
                .replication(copies)
                .planning(PlanningSettings.DEFAULTS)
                .kafka(settings)
                .with(Extension.POOLS)
                .with(Extension.GROWTH)
                .build())
        .harmless();
  }

  private TopicMismatchException refused(int partitions) {
    return catchThrowableOfType(TopicMismatchException.class, () -> check(partitions));
  }

  /** Sets a setting, and waits until the broker says so. */
  private void alter(String topic, String setting, String value) throws Exception {
    ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, prefix + topic);
    admin
        .incrementalAlterConfigs(
            Map.of(
                resource,
                List.of(
                    new AlterConfigOp(new ConfigEntry(setting, value), AlterConfigOp.OpType.SET))))
        .all()
        .get();
    await(setting)
        .until(
            () ->
                admin
                    .describeConfigs(List.of(resource))
                    .all()
                    .get()
                    .get(resource)
                    .get(setting)
                    .value()
                    .equals(value));
  }

  @Test
  void missing_topics_are_created_and_accepted_the_next_time() throws Exception {
    assertThat(check(3)).isEmpty();
    assertThat(check(3)).isEmpty();
    List<String> names = topics.all().stream().map(Topic::name).toList();
    assertThat(admin.describeTopics(names).allTopicNames().get().values())
        .hasSize(names.size())
        .allSatisfy(topic -> assertThat(topic.partitions()).hasSize(3));
  }

  /** Topics of 0.2.0 take smaller predictions: a planner starts, and refuses larger ones. */
  @Test
  void a_record_limit_of_an_earlier_version_is_noted() throws Exception {
    check(1);
    alter("cost-predictions", "max.message.bytes", "1048588");
    assertThat(check(1))
        .singleElement()
        .matches(d -> !d.refused())
        .matches(d -> d.found().equals("1048588") && d.wanted().equals("16777216"));
    alter("cost-predictions", "max.message.bytes", "1000000");
    assertThat(refused(1).differences()).singleElement().matches(TopicDifference::refused);
  }

  /** The command of each remedy, with the setting that a cluster's owner may have chosen. */
  @ParameterizedTest
  @CsvSource({
    "workload-changes, retention.ms,        604800000,      -1",
    "sharding-plans,   retention.bytes,     1000000000,     -1",
    "workload-changes, cleanup.policy,      compact,        delete",
    "cost-models,      cleanup.policy,      'compact,delete', delete",
    "current-plans,    cleanup.policy,      delete,         compact",
    "current-plans,    cleanup.policy,      'compact,delete', compact",
    "sharding-plans,   max.message.bytes,   1048588,        16777216",
    "rejected-events,  max.message.bytes,   16777216,       16842752",
    "cost-predictions, min.insync.replicas, 2,              1",
    "sharding-plans,   message.timestamp.before.max.ms, 3599999, 3600000",
    "sharding-plans,   message.timestamp.after.max.ms,  4999,    5000",
  })
  void settings_that_would_lose_records_are_refused(
      String topic, String setting, String value, String legal) throws Exception {
    check(1);
    alter(topic, setting, value);
    TopicMismatchException refused = refused(1);
    assertThat(refused.differences())
        .singleElement()
        .satisfies(
            d -> {
              assertThat(d.topic()).isEqualTo(prefix + topic);
              assertThat(d.setting()).isEqualTo(setting);
              assertThat(d.found()).isEqualTo(value);
              assertThat(d.wanted()).isEqualTo(legal);
              assertThat(d.refused()).isTrue();
            });
    assertThat(refused)
        .hasMessageContaining("nothing was started")
        .hasMessageContaining(
            "kafka-configs.sh --bootstrap-server %s --alter --entity-type topics --entity-name %s --add-config %s=%s"
                .formatted(kafka.bootstrapServers(), prefix + topic, setting, legal));
    alter(topic, setting, legal);
    assertThat(check(1)).isEmpty();
  }

  /** A broker that sets the time of each record refuses none for its time. */
  @Test
  void limits_of_timestamps_do_not_matter_where_the_broker_sets_them() throws Exception {
    check(1);
    alter("sharding-plans", "message.timestamp.before.max.ms", "1");
    alter("sharding-plans", "message.timestamp.after.max.ms", "1");
    alter("sharding-plans", "message.timestamp.type", "LogAppendTime");
    assertThat(check(1)).isEmpty();
  }

  @Test
  void a_changelog_that_would_lose_or_refuse_state_is_refused() throws Exception {
    check(1);
    String changelog = StoreName.PLANNING_HEADERS.changelog(prefix);
    ServiceSettings settings =
        TestSettings.of(kafka.bootstrapServers(), "http://registry", prefix, data).build();
    admin
        .createTopics(
            List.of(
                new NewTopic(changelog, 1, (short) 1)
                    .configs(StreamsProperties.changelog(TopologyName.PLANNING, settings))))
        .all()
        .get();
    await().until(() -> admin.listTopics().names().get().contains(changelog));
    assertThat(check(1)).isEmpty();
    String name = changelog.substring(prefix.length());
    alter(name, "cleanup.policy", "delete");
    alter(name, "max.message.bytes", "1048588");
    alter(name, "message.timestamp.before.max.ms", "60000");
    assertThat(refused(1).differences())
        .allMatch(d -> d.refused() && d.topic().equals(changelog))
        .extracting(TopicDifference::wanted)
        .containsExactly("compact", "16777216", "3600000");
  }

  @Test
  void too_few_partitions_are_refused_and_nothing_is_created() throws Exception {
    create(2);
    TopicMismatchException refused = refused(3);
    assertThat(refused.differences())
        .singleElement()
        .satisfies(
            d ->
                assertThat(d.remedy())
                    .endsWith("--alter --topic " + prefix + "workload-changes --partitions 3"));
    assertThat(admin.listTopics().names().get())
        .filteredOn(name -> name.startsWith(prefix))
        .containsExactly(prefix + "workload-changes");
    assertThat(check(2)).as("as many as there are").isEmpty();
  }

  /** More partitions would send a workload's next record to another one than its last. */
  @Test
  void adding_partitions_to_a_topic_with_records_is_never_suggested() throws Exception {
    check(2);
    try (KafkaProducer<String, String> producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", kafka.bootstrapServers()),
            new StringSerializer(),
            new StringSerializer())) {
      producer.send(new ProducerRecord<>(prefix + "workload-changes", "w", "x")).get();
    }
    assertThat(refused(3).differences())
        .filteredOn(TopicDifference::refused)
        .as("one remedy for all topics that are alike")
        .hasSizeGreaterThan(1)
        .extracting(TopicDifference::remedy)
        .allMatch(remedy -> remedy.startsWith("in the settings file: topics.partitions=2"))
        .allMatch(remedy -> remedy.contains("(" + prefix + "workload-changes has records"));
    admin
        .createPartitions(Map.of(prefix + "cost-predictions", NewPartitions.increaseTo(4)))
        .all()
        .get();
    TopicMismatchException refused = refused(2);
    assertThat(refused.differences())
        .filteredOn(TopicDifference::refused)
        .extracting(TopicDifference::topic)
        .contains(prefix + "workload-changes")
        .doesNotContain(prefix + "cost-predictions");
    assertThat(refused).hasMessageContaining("another topics.prefix");
  }

  @Test
  void more_partitions_and_other_replication_are_only_noted() throws Exception {
    check(4);
    List<TopicDifference> notes = check(2, 2, Map.of("security.protocol", "PLAINTEXT"));
    assertThat(notes)
        .hasSize(2 * topics.all().size())
        .noneMatch(TopicDifference::refused)
        .anySatisfy(
            d -> assertThat(d.remedy()).isEqualTo("in the settings file: topics.partitions=4"))
        .anySatisfy(
            d ->
                assertThat(d.remedy())
                    .startsWith(
                        "kafka-reassign-partitions.sh --bootstrap-server %s --command-config FILE"
                            .formatted(kafka.bootstrapServers())));
    assertThat(TopicCheck.describe(notes).lines().skip(1))
        .anySatisfy(line -> assertThat(line).contains("noted", "replication", prefix));
  }

  /** A topic that is read takes the number of those that are there, even above the settings. */
  @Test
  void a_missing_topic_gets_the_partitions_of_the_others() throws Exception {
    create(5);
    assertThat(check(2)).hasSize(TopicCheckIT.this.read());
    assertThat(
            admin
                .describeTopics(List.of(prefix + "cost-predictions"))
                .allTopicNames()
                .get()
                .get(prefix + "cost-predictions")
                .partitions())
        .hasSize(5);
  }

  /** Creates workload-changes, and returns when the broker knows of it. */
  private void create(int partitions) throws Exception {
    String name = prefix + "workload-changes";
    NewTopic topic =
        new NewTopic(name, partitions, (short) 1)
            .configs(TopicRules.created(topics.of(WORKLOAD_CHANGES), Map.of()));
    admin.createTopics(List.of(topic)).all().get();
    await().until(() -> admin.listTopics().names().get().contains(name));
  }

  private int read() {
    return TopicCheck.read(topics).size();
  }

  @Test
  void compacted_topics_get_the_segments_that_a_service_asks_for() throws Exception {
    check(1, 1, Map.of("topic.segment.bytes", "52428800"));
    for (Topic<?> topic : List.of(topics.of(CURRENT_PLANS), topics.of(CURRENT_PREDICTIONS))) {
      ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic.name());
      Config config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
      assertThat(config.get("segment.bytes").value()).isEqualTo("52428800");
    }
  }

  @Test
  void more_replicas_than_brokers_are_refused() throws Exception {
    assertThatThrownBy(() -> check(1, 3, Map.of()))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining(
            "Kafka refuses to create %sworkload-changes with 1 partitions in 3 replicas (topics.partitions, topics.replication): "
                .formatted(prefix))
        .hasMessageContaining("only 1 broker(s) are registered")
        .hasMessageContaining("Start more brokers, or set topics.replication=1;");
    assertThat(admin.listTopics().names().get()).noneMatch(name -> name.startsWith(prefix));
  }

  /** Whatever a topology reads is checked to have the same partitions. */
  @Test
  void the_topics_that_are_read_are_known() {
    Pattern source = Pattern.compile("Source: +\\S+ +\\(topics: \\[([^]]*)]\\)");
    Topics unprefixed = Topics.withPrefix("");
    Set<String> read = TopicCheck.read(unprefixed);
    Topologies.describe(unprefixed)
        .values()
        .forEach(
            description -> {
              var matcher = source.matcher(description);
              assertThat(matcher.find()).isTrue();
              do {
                assertThat(read).contains(matcher.group(1).split(", ", -1));
              } while (matcher.find());
            });
  }
}
