package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.shardtide.client.Endpoint;
import io.shardtide.client.Outcome;
import io.shardtide.client.PlanSubscriber;
import io.shardtide.client.TrainerReports;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.state.TrainingPolicyBuilder;
import io.shardtide.testing.Allowed;
import io.shardtide.testing.Certificates;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.SecureKafka;
import io.shardtide.testing.SimulatedTrainer;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.topology.Acls.Role;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Topics;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.WorkloadChange;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The set-up of {@code docs/DEPLOY.md} on a real broker: with their rights publisher, planner,
 * trainer and dashboard work, and none of the rights can be left out.
 */
class SecurityIT {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @TempDir private static Path data;
  private static SecureKafka kafka;
  private static DevelopmentRegistry registry;

  @TempDir private Path folder;
  private final String prefix = "t" + UUID.randomUUID().toString().substring(0, 8) + ".";

  @BeforeAll
  static void start() throws Exception {
    kafka = SecureKafka.start(data);
    registry = DevelopmentRegistry.start(0, Optional.empty());
    kafka.users(Stream.of(Role.values()).map(Role::toString).toArray(String[]::new));
  }

  @AfterAll
  static void stop() throws Exception {
    registry.close();
    kafka.close();
  }

  private void allow(Role... roles) throws Exception {
    for (Role role : roles) {
      kafka.allow(role.toString(), Acls.of(role, prefix, Set.of()));
    }
  }

  /** Makes all topics that a role has rights on, with a record each. */
  private void topics(List<AclGrant> rights) throws Exception {
    List<String> names =
        rights.stream()
            .filter(r -> r.type() == ResourceType.TOPIC && r.pattern() == PatternType.LITERAL)
            .map(AclGrant::name)
            .distinct()
            .toList();
    kafka
        .admin()
        .createTopics(names.stream().map(name -> new NewTopic(name, 1, (short) 1)).toList())
        .all()
        .get();
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            kafka.adminClients(), new ByteArraySerializer(), new ByteArraySerializer())) {
      for (String name : names) {
        producer.send(new ProducerRecord<>(name, new byte[1])).get();
      }
    }
  }

  /**
   * Each entry by itself, those of pools included: with it the client may, without it it may not,
   * with it again it may.
   */
  @Tag("nightly")
  @ParameterizedTest
  @EnumSource
  void every_acl_is_necessary(Role role) throws Exception {
    List<AclGrant> rights = Acls.of(role, prefix, Set.of(Extension.POOLS));
    topics(rights);
    String readable =
        rights.stream()
            .filter(r -> r.type() == ResourceType.TOPIC && r.operation() == AclOperation.READ)
            .findFirst()
            .orElseThrow()
            .name();
    String user = role.toString();
    try (Allowed allowed = new Allowed(kafka.clients(user), readable)) {
      for (AclGrant right : rights) {
        assertThat(allowed.is(right)).as("nothing is allowed yet: %s", right).isFalse();
      }
      kafka.allow(user, rights);
      for (AclGrant right : rights) {
        await().atMost(PATIENCE).until(() -> allowed.is(right));
      }
      for (AclGrant right : rights) {
        kafka.forbid(user, right);
        await()
            .alias("refused without " + right)
            .atMost(Duration.ofSeconds(10))
            .until(() -> !allowed.is(right));
        kafka.allow(user, List.of(right));
        await().atMost(PATIENCE).until(() -> allowed.is(right));
      }
    }
  }

  private ServiceSettings settings(Map<String, Object> clients) {
    Map<String, String> passed = new HashMap<>();
    clients.forEach((key, value) -> passed.put(key, value.toString()));
    passed.remove("bootstrap.servers");
    return TestSettings.of(
            kafka.bootstrapServers(), registry.url(), prefix, folder.resolve("state"))
        .training(
            TrainingPolicyBuilder.builder(TrainingPolicy.DEFAULTS)
                .samples(1)
                .samplesAfterDrift(1)
                .schedule(Duration.ofHours(1))
                .recent(100)
                .old(100)
                .build())
        .kafka(passed)
        .build();
  }

  private PlannerService planner(ServiceSettings settings, ServiceHealth health) throws Exception {
    return PlannerService.start(
        new PlannerParts(settings, List.of(TestModels.bundle()), TensorFlowTowers::new)
            .with()
            .trainer(
                Optional.of(
                    (champion, towers, recent, old, sources, seed) -> TestModels.otherBundle()))
            .health(health)
            .build());
  }

  private Endpoint endpoint(String user) throws Exception {
    return new Endpoint(
        kafka.bootstrapServers(), registry.url(), prefix, kafka.clients(user), Map.of());
  }

  private static <T> T outcome(CompletableFuture<T> future) throws Exception {
    return future.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
  }

  private LogClient client(String user) throws Exception {
    return new LogClient(kafka.clients(user), registry.url(), prefix);
  }

  /**
   * The whole way with the smallest rights: changes, plans, a rejection, statuses, costs, a
   * training and its decision. Then, while it runs, the planner is deprived of one right after the
   * other: health says which, and when it has all of them again nothing is lost.
   */
  @Test
  void the_acls_are_sufficient_and_health_names_a_missing_one() throws Exception {
    BlockingQueue<ShardingPlan> plans = new LinkedBlockingQueue<>();
    allow(Role.values());
    ServiceSettings settings = settings(kafka.clients("planner"));
    try (ServiceHealth health = ServiceHealth.watch(settings);
        PlannerService service = planner(settings, health);
        WorkloadPublisher publisher = WorkloadPublisher.connect(endpoint("publisher"), "features");
        PlanSubscriber subscriber =
            PlanSubscriber.start(
                endpoint("trainer"),
                Optional.of(Fixtures.WORKLOAD),
                update -> plans.add(update.plan()));
        TrainerReports reports = subscriber.reports("trainer", "run");
        LogClient everybody = new LogClient(kafka.adminClients(), registry.url(), prefix)) {
      assertThat(service).isNotNull();
      WorkloadChange first = PlanningGuarantees.life().get(0);
      assertThat(outcome(publisher.publishAndAwait(first)))
          .isEqualTo(new Outcome.Accepted(OptionalLong.of(1), Optional.empty()));
      assertThat(outcome(publisher.publishAndAwait(first)))
          .isInstanceOfSatisfying(
              Outcome.Rejected.class,
              r -> assertThat(r.reason()).isEqualTo(RejectionReason.DUPLICATE_EVENT));
      assertThat(
              outcome(
                  publisher
                      .change("without-a-cluster")
                      .upsert(Fixtures.table("a", 1_000, 8, 1))
                      .sendAndAwait()))
          .isEqualTo(new Outcome.Accepted(OptionalLong.empty(), Optional.empty()));
      ShardingPlan plan = plans.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      assertThat(plan.generation()).isEqualTo(1);
      outcome(reports.adopted(plan, 0));
      outcome(
          reports.measured(
              plan, 10, 10, new SimulatedTrainer().measured(plan, device -> 1).devices()));
      assertThat(everybody.read(everybody.topics().of(TRAINING_SAMPLES), 1)).isNotEmpty();
      assertThat(everybody.read(everybody.topics().of(MODEL_DECISIONS), 1))
          .first()
          .isInstanceOf(ModelDecision.class);
      awaitWell(health);

      int published = 1;
      for (AclGrant right : deprived()) {
        kafka.forbid("planner", right);
        outcome(publisher.publish(PlanningGuarantees.life().get(published++)));
        awaitProblem(health, right);
        kafka.allow("planner", List.of(right));
      }
      while (published < PlanningGuarantees.life().size()) {
        outcome(publisher.publish(PlanningGuarantees.life().get(published++)));
      }
      assertThat(everybody.plans(9))
          .as("nothing is lost, nothing twice")
          .extracting(ShardingPlan::generation)
          .containsExactly(1L, 2L, 3L, 5L, 6L, 7L, 8L, 9L, 10L);

      // What reads no records is missed when there are some.
      AclGrant models = right(ResourceType.TOPIC, AclOperation.READ, "cost-models");
      kafka.forbid("planner", models);
      everybody.publishValue(
          everybody.topics().of(COST_MODELS), "other hardware", TestModels.otherBundle());
      awaitProblem(health, models);
      kafka.allow("planner", List.of(models));
      awaitWell(health);
    }
  }

  private static void awaitWell(ServiceHealth health) {
    await()
        .atMost(PATIENCE)
        // Of the streams' threads, which it is about.
        .dontCatchUncaughtExceptions()
        .untilAsserted(() -> assertThat(health.parts()).allMatch(part -> part.problem().isEmpty()));
  }

  private static void awaitProblem(ServiceHealth health, AclGrant right) {
    await()
        .alias("health without " + right)
        .atMost(PATIENCE)
        .dontCatchUncaughtExceptions()
        .until(
            () ->
                health.parts().stream()
                    .flatMap(part -> part.problem().stream())
                    .anyMatch(problem -> says(problem, right)));
  }

  /** Rights of every kind, of every topology and of the models. */
  private List<AclGrant> deprived() {
    return List.of(
        right(ResourceType.TOPIC, AclOperation.READ, "workload-changes"),
        right(ResourceType.TOPIC, AclOperation.WRITE, "cost-predictions"),
        right(ResourceType.TOPIC, AclOperation.WRITE, "workload-workload-headers-changelog"),
        right(ResourceType.TOPIC, AclOperation.WRITE, "current-plans"),
        right(ResourceType.TOPIC, AclOperation.READ, "measured-costs"),
        right(ResourceType.TOPIC, AclOperation.READ, "training-samples"),
        right(ResourceType.GROUP, AclOperation.READ, ""),
        right(ResourceType.TRANSACTIONAL_ID, AclOperation.WRITE, ""));
  }

  /** Returns the planner's right on a thing by its name after the prefix. */
  private AclGrant right(ResourceType type, AclOperation operation, String name) {
    return Acls.of(Role.PLANNER, prefix, Set.of()).stream()
        .filter(
            r -> r.type() == type && r.operation() == operation && r.name().equals(prefix + name))
        .findFirst()
        .orElseThrow();
  }

  private static boolean says(String problem, AclGrant right) {
    return switch (right.type()) {
      case GROUP -> problem.contains("Not authorized to access group: " + right.name());
      case TRANSACTIONAL_ID -> problem.contains("This user needs Write on " + right.name() + ";");
      default -> problem.contains(right.operationName()) && problem.contains(right.name());
    };
  }

  /** A start without a right that it needs at once: what is missing, in one sentence. */
  @Test
  void a_refused_start_names_the_missing_acl() throws Exception {
    Topics topics = Topics.withPrefix(prefix);
    String models = topics.of(COST_MODELS).name();
    // In the order in which a start meets them, so that each comes further than the one before.
    Map<AclGrant, String> sentences = new LinkedHashMap<>();
    sentences.put(
        right(ResourceType.TOPIC, AclOperation.CREATE, ""),
        "Kafka refuses to create " + prefix + "workload-changes with 1 partitions in 1 replicas");
    sentences.put(
        right(ResourceType.TOPIC, AclOperation.DESCRIBE_CONFIGS, ""),
        "Kafka refuses to describe the settings of the topics");
    sentences.put(
        right(ResourceType.TOPIC, AclOperation.WRITE, "cost-models"),
        "This user needs Create, DescribeConfigs, Read, Write on " + models);
    sentences.put(
        right(ResourceType.TOPIC, AclOperation.READ, "cost-models"),
        "This user needs Create, DescribeConfigs, Read, Write on " + models);
    allow(Role.PLANNER);
    ServiceSettings settings = settings(kafka.clients("planner"));
    try (Allowed allowed =
        new Allowed(kafka.clients("planner"), topics.of(WORKLOAD_CHANGES).name())) {
      for (AclGrant right : sentences.keySet()) {
        kafka.forbid("planner", right);
        await().atMost(PATIENCE).until(() -> !allowed.is(right));
        assertThatThrownBy(() -> planner(settings, ServiceHealth.unwatched(settings)).close())
            .as(right.toString())
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining(sentences.get(right))
            .hasMessageEndingWith(
                "./shardtide rights --role planner prints the commands that add it");
        kafka.allow("planner", List.of(right));
      }
    }
  }

  @Test
  void a_refused_user_is_reported_without_secrets() throws Exception {
    Map<String, Object> wrong = kafka.clients("planner");
    wrong.computeIfPresent(
        "sasl.jaas.config",
        (key, value) -> value.toString().replace("hunter2-planner", "hunter2-wrong"));
    refused(wrong, "invalid credentials");
    Map<String, Object> untrusting = kafka.clients("planner");
    // Trusts the authorities of this Java, which the broker's is none of.
    untrusting.remove("ssl.truststore.location");
    untrusting.remove("ssl.truststore.password");
    refused(untrusting, "SSL handshake failed");
  }

  private void refused(Map<String, Object> clients, String reason) {
    ServiceSettings settings = settings(clients);
    assertThatThrownBy(() -> planner(settings, ServiceHealth.unwatched(settings)).close())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining(reason)
        .hasMessageContaining(
            "The brokers do not accept this user, or it does not trust their certificates;")
        .satisfies(e -> assertThat(e.toString()).doesNotContain(Certificates.SECRET));
  }

  /** What publishers and trainers are not for is refused to them. */
  @Test
  void publishers_and_trainers_cannot_write_each_others_topics() throws Exception {
    allow(Role.values());
    topics(Acls.of(Role.PLANNER, prefix, Set.of()));
    try (LogClient publisher = client("publisher");
        LogClient trainer = client("trainer")) {
      assertThatThrownBy(() -> trainer.publish(Fixtures.WORKLOAD, new byte[0]))
          .hasCauseInstanceOf(TopicAuthorizationException.class)
          .hasMessageContaining("workload-changes");
      for (var topic :
          List.of(publisher.topics().of(SHARDING_PLANS), publisher.topics().of(MEASURED_COSTS))) {
        assertThatThrownBy(() -> publisher.publish(topic, Fixtures.WORKLOAD, new byte[0]))
            .hasCauseInstanceOf(TopicAuthorizationException.class)
            .hasMessageContaining(topic.name());
      }
      assertThatThrownBy(() -> trainer.read(trainer.topics().of(REJECTED_EVENTS), 1))
          .isInstanceOf(TopicAuthorizationException.class);
    }
  }
}
