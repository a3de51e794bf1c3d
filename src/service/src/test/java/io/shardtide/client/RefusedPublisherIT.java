package io.shardtide.client;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_ALLOCATIONS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.QUARANTINE;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.log.EndOffsets;
import io.shardtide.testing.Allowed;
import io.shardtide.testing.Certificates;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.SecureKafka;
import io.shardtide.topology.AclGrant;
import io.shardtide.topology.Acls;
import io.shardtide.topology.Acls.Role;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import io.shardtide.workload.WorkloadChange;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Publishers on a real broker with SASL and an authorizer, whose user is not accepted or lacks an
 * ACL: at once, in one sentence that names the cluster, what is missing and what to do.
 */
class RefusedPublisherIT {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @TempDir private static Path data;
  private static SecureKafka kafka;
  private static DevelopmentRegistry registry;

  private final String prefix = "r" + UUID.randomUUID().toString().substring(0, 8) + ".";
  private final Topics topics = Topics.withPrefix(prefix);

  /** Fresh for each test: a password that was taken away says nothing of other tests. */
  private final String user = "user-" + UUID.randomUUID().toString().substring(0, 8);

  @BeforeAll
  static void start() throws Exception {
    kafka = SecureKafka.start(data);
    registry = DevelopmentRegistry.start(0, Optional.empty());
  }

  @AfterAll
  static void stop() throws Exception {
    registry.close();
    kafka.close();
  }

  @BeforeEach
  void createTopics() throws Exception {
    kafka.users(user);
    kafka.allow(user, rights());
    kafka
        .admin()
        .createTopics(
            topics.all().stream().map(topic -> new NewTopic(topic.name(), 1, (short) 1)).toList())
        .all()
        .get();
    // What Allowed reads.
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            kafka.adminClients(), new ByteArraySerializer(), new ByteArraySerializer())) {
      for (AclGrant right : rights()) {
        if (right.operation() == AclOperation.READ) {
          producer.send(new ProducerRecord<>(right.name(), new byte[1])).get();
        }
      }
    }
    try (Registry planner = Registry.connect(registry.url(), Map.of())) {
      planner.register(topics);
    }
  }

  private List<AclGrant> rights() {
    return Acls.of(Role.PUBLISHER, prefix, Set.of(Extension.POOLS));
  }

  private Endpoint endpoint(Map<String, Object> clients) {
    return new Endpoint(kafka.bootstrapServers(), registry.url(), prefix, clients, Map.of());
  }

  private static WorkloadChange event() {
    return Fixtures.event(Fixtures.upsert("t", 1_000, 64, 2));
  }

  /** Returns the error of an event, whether the call or its outcome has it. */
  private static Throwable error(WorkloadPublisher publisher) {
    Throwable error =
        catchThrowable(
            () -> publisher.publishAndAwait(event()).get(PATIENCE.toSeconds(), TimeUnit.SECONDS));
    return error instanceof ExecutionException ? error.getCause() : error;
  }

  @Test
  void a_missing_acl_is_named_with_what_to_do() throws Exception {
    String ofPool = topics.of(POOL_CHANGES).name() + topics.of(CURRENT_ALLOCATIONS).name();
    try (Allowed allowed = new Allowed(kafka.clients(user), topics.of(COST_PREDICTIONS).name())) {
      for (AclGrant right : rights()) {
        boolean pools = ofPool.contains(right.name());
        kafka.forbid(user, right);
        await().atMost(PATIENCE).until(() -> !allowed.is(right));
        assertThat(pools ? errorOfPool() : errorOfWorkload())
            .as(right.toString())
            .isInstanceOf(AuthorizationException.class)
            .hasMessage(
                "The Kafka cluster at %s refuses a request. This user needs %s on %s; ./shardtide rights --role publisher%s prints the commands that add it",
                kafka.bootstrapServers(),
                switch (right.operation()) {
                  case READ -> "Read";
                  case WRITE -> "Write";
                  default -> "Describe";
                },
                right.name(),
                pools ? " --pools" : "");
        kafka.allow(user, List.of(right));
        await().atMost(PATIENCE).until(() -> allowed.is(right));
      }
    }
  }

  private Throwable errorOfWorkload() throws Exception {
    try (WorkloadPublisher publisher =
        WorkloadPublisher.connect(endpoint(kafka.clients(user)), "test")) {
      return error(publisher);
    }
  }

  private Throwable errorOfPool() throws Exception {
    try (PoolPublisher publisher = PoolPublisher.connect(endpoint(kafka.clients(user)), "test")) {
      Throwable error =
          catchThrowable(
              () ->
                  publisher
                      .change("gpus")
                      .nodeLost("n1")
                      .sendAndAwait()
                      .get(PATIENCE.toSeconds(), TimeUnit.SECONDS));
      return error instanceof ExecutionException ? error.getCause() : error;
    }
  }

  /** Kafka's answer to a list of offsets does not name the topic by itself. */
  @Test
  void a_refused_list_of_offsets_names_the_topics() throws Exception {
    String refused = topics.of(QUARANTINE).name();
    TopicPartition partition = new TopicPartition(refused, 0);
    TopicPartition readable = new TopicPartition(topics.of(REJECTED_EVENTS).name(), 0);
    try (EndOffsets offsets = new EndOffsets(kafka.clients(user))) {
      assertThatThrownBy(
              () ->
                  offsets.list(
                      Map.of(partition, OffsetSpec.latest(), readable, OffsetSpec.latest()),
                      new ListOffsetsOptions()))
          .isInstanceOfSatisfying(
              TopicAuthorizationException.class,
              e -> assertThat(e.unauthorizedTopics()).containsExactly(refused));
    }
  }

  private void isNotAccepted(Throwable error) {
    assertThat(error)
        .isInstanceOf(AuthenticationException.class)
        .hasMessageStartingWith(
            "The Kafka cluster at %s does not accept this client (SASL_SSL, SCRAM-SHA-512, user %s)"
                .formatted(kafka.bootstrapServers(), user))
        .hasMessageEndingWith(
            " Check sasl.* and ssl.* in the settings of Kafka's client, and when the brokers' certificates expire")
        .satisfies(e -> assertThat(e.toString()).doesNotContain(Certificates.SECRET));
  }

  @Test
  void a_wrong_password_is_named_at_once() throws Exception {
    Map<String, Object> wrong = kafka.clients(user);
    wrong.computeIfPresent(
        "sasl.jaas.config",
        (key, value) ->
            value.toString().replace(Certificates.SECRET, Certificates.SECRET + "-wrong"));
    try (WorkloadPublisher publisher = WorkloadPublisher.connect(endpoint(wrong), "test")) {
      isNotAccepted(error(publisher));
      assertThat(publisher.publish(event()))
          .failsWithin(PATIENCE)
          .withThrowableOfType(ExecutionException.class)
          .satisfies(e -> isNotAccepted(e.getCause()))
          .withMessageContaining("invalid credentials");
    }
  }

  /**
   * Kafka's producer would try for two minutes, and say only that time is up. The user is kept with
   * another password: a broker of Kafka 4.2 that starts again after one was removed lets in nobody.
   */
  @Test
  void a_password_that_is_changed_later_ends_events_that_are_being_sent() throws Exception {
    try (WorkloadPublisher publisher =
        WorkloadPublisher.connect(endpoint(kafka.clients(user)), "test")) {
      publisher.publish(event()).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      kafka
          .admin()
          .alterUserScramCredentials(
              List.of(
                  new UserScramCredentialUpsertion(
                      user, new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4_096), "other")))
          .all()
          .get();
      kafka.restart();
      CompletableFuture<?> sent = publisher.publish(event());
      assertThat(sent)
          .failsWithin(PATIENCE)
          .withThrowableOfType(ExecutionException.class)
          .satisfies(e -> isNotAccepted(e.getCause()));
    }
  }
}
