package io.shardtide.wire;

import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.avro.AvroSchemaProvider;
import io.confluent.kafka.schemaregistry.client.SchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.SchemaRegistryClientFactory;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.RegistryFront;
import io.shardtide.workload.WorkloadChange;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import org.apache.avro.Schema;
import org.apache.avro.SchemaBuilder;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What the planner relies on with any server of Confluent's protocol, and what becomes of each
 * answer that a server may give. Each way to a registry extends it.
 */
abstract class RegistryContract {
  private Topics topics;
  private String subject;

  /** No test sees what another registered. */
  @BeforeEach
  void freshNames() {
    topics = Topics.withPrefix("t" + UUID.randomUUID().toString().substring(0, 8) + ".");
    subject = topics.of(WORKLOAD_CHANGES).name() + "-value";
  }

  /** The way to the registry. */
  protected abstract RegistryFront front();

  /** Settings that this way needs. */
  protected abstract Map<String, String> settings();

  private Registry connect() {
    return connect(Map.of());
  }

  private Registry connect(Map<String, String> more) {
    Map<String, String> all = new HashMap<>(settings());
    // An answer that fails is asked for again at once.
    all.put("retries.wait.ms", "1");
    all.put("missing.id.wait.ms", "50");
    all.putAll(more);
    return Registry.connect(front().url(), all);
  }

  /** Confluent's own client, as other programs use it. */
  private SchemaRegistryClient other() {
    return SchemaRegistryClientFactory.newClient(
        List.of(front().url()), 100, List.of(new AvroSchemaProvider()), settings(), Map.of());
  }

  private byte[] write(Registry registry, WorkloadChange event) {
    return registry
        .serde(topics.of(WORKLOAD_CHANGES))
        .serializer()
        .serialize(topics.of(WORKLOAD_CHANGES).name(), event);
  }

  private Decoded<WorkloadChange> read(Registry registry, byte[] value) {
    RecordDecoder<WorkloadChange> decoder =
        new RecordDecoder<>(registry, topics.of(WORKLOAD_CHANGES));
    while (true) {
      try {
        return decoder.decode(
            Fixtures.at(0),
            Fixtures.WORKLOAD.getBytes(StandardCharsets.UTF_8),
            value,
            OptionalInt.empty());
      } catch (UndecidedSchemaException e) {
        // Asked again, as the callers do.
        LockSupport.parkNanos(1_000_000);
      }
    }
  }

  private static WorkloadChange event() {
    return Fixtures.event(Fixtures.set(2, Fixtures.GIB), Fixtures.upsert("a", 1_000, 64, 5));
  }

  @Test
  void schemas_are_registered_under_their_topics_and_evolve_backwards() throws Exception {
    try (Registry registry = connect();
        SchemaRegistryClient other = other()) {
      registry.register(topics);
      registry.register(topics);
      for (Topic<?> topic : topics.all()) {
        String name = topic.name() + "-value";
        assertThat(other.getAllVersions(name)).as(name).containsExactly(1);
        assertThat(other.getCompatibility(name)).isEqualTo("BACKWARD_TRANSITIVE");
        assertThat(other.getLatestSchemaMetadata(name).getSchema())
            .doesNotContain("avro.java.string");
      }
    }
  }

  @Test
  void what_one_writes_another_reads_by_the_schemas_id() throws Exception {
    try (Registry writer = connect();
        Registry reader = connect()) {
      writer.register(topics);
      WorkloadChange event = event();
      byte[] value = write(writer, event);
      assertThat(value[0]).as("the framing's first byte").isZero();
      int id = ByteBuffer.wrap(value).getInt(1);
      assertThat(reader.writerSchema(id, subject).getFullName())
          .isEqualTo(Codec.WORKLOAD_CHANGE.schema().getFullName());
      assertThat(read(reader, value)).isEqualTo(new Decoded.Value<>(event));
      try (Registry later = connect()) {
        later.register(topics);
        assertThat(ByteBuffer.wrap(write(later, event)).getInt(1))
            .as("the same schema keeps its id")
            .isEqualTo(id);
      }
    }
  }

  /** 404 with the registry's own code: no server will ever have it, so the record is rejected. */
  @Test
  void an_unknown_schema_id_is_reported_as_unknown() throws Exception {
    try (Registry registry = connect()) {
      registry.register(topics);
      byte[] value = write(registry, event());
      ByteBuffer.wrap(value).putInt(1, 999_999_999);
      assertThat(read(registry, value)).isInstanceOf(Decoded.Invalid.class);
    }
  }

  /** 409: what others have under our subject cannot be read by this version. */
  @Test
  void a_schema_that_is_refused_is_named() throws Exception {
    try (Registry registry = connect();
        SchemaRegistryClient other = other()) {
      Schema foreign = SchemaBuilder.record("Something").fields().requiredInt("else").endRecord();
      other.register(subject, new AvroSchema(foreign));
      assertThatThrownBy(() -> registry.register(topics))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageStartingWith(
              "The schema registry at %s refuses the schema of %s: "
                  .formatted(front().url(), subject));
    }
  }

  @Test
  void a_working_registry_passes_the_probe() throws Exception {
    try (Registry registry = connect()) {
      registry.probe();
    }
  }

  /** Statuses with the codes of Confluent's documentation, and a proxy's without any. */
  @ParameterizedTest
  @CsvSource({
    "500, 50001",
    "500, 50002",
    "500, 50003",
    "503, 50301",
    "504, 504",
    "429, 42901",
    "408, 40801",
  })
  void a_temporary_error_is_an_outage(int status, int code) throws Exception {
    byte[] value;
    try (Registry writer = connect()) {
      writer.register(topics);
      value = write(writer, event());
    }
    try (Registry registry = connect()) {
      front().fail(request -> true, status, code);
      assertThatThrownBy(() -> registry.register(topics))
          .isInstanceOf(RegistryUnavailableException.class)
          .hasMessageStartingWith(
              "The schema registry at %s does not answer: ".formatted(front().url()));
      assertThatThrownBy(() -> read(registry, value))
          .isInstanceOf(RegistryUnavailableException.class);
      assertThatThrownBy(registry::probe).isInstanceOf(RegistryUnavailableException.class);
      assertThat(front().met()).isGreaterThanOrEqualTo(3);
      front().well();
      registry.register(topics);
      registry.probe();
      assertThat(read(registry, value)).isInstanceOf(Decoded.Value.class);
    } finally {
      front().well();
    }
  }

  /** Whatever else is wrong with an answer, no record is given up for it. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "404 <html>Not Found</html>",
        "404 {\"error_code\":404,\"message\":\"HTTP 404 Not Found\"}",
        "401 {\"error_code\":401,\"message\":\"Unauthorized\"}",
        "403 {\"error_code\":40301,\"message\":\"User is denied\"}",
        "422 {\"error_code\":42201,\"message\":\"Invalid schema\"}",
        "502 <html>Bad Gateway</html>",
        "200 <html>Please log in</html>",
      })
  void an_invalid_answer_rejects_no_record(String answer) throws Exception {
    byte[] value;
    try (Registry writer = connect()) {
      writer.register(topics);
      value = write(writer, event());
    }
    try (Registry registry = connect()) {
      front()
          .fail(
              request -> request.startsWith("GET /schemas/ids/"),
              Integer.parseInt(answer.substring(0, 3)),
              answer.substring(4));
      assertThatThrownBy(() -> read(registry, value))
          .isInstanceOf(RegistryUnavailableException.class);
      front().well();
      assertThat(read(registry, value)).isInstanceOf(Decoded.Value.class);
    } finally {
      front().well();
    }
  }

  /** 422 and 409: trying again is no use. */
  @ParameterizedTest
  @CsvSource({"422, 42201", "409, 409", "401, 401", "403, 40301"})
  void a_refusal_of_a_schema_is_final(int status, int code) throws Exception {
    try (Registry registry = connect()) {
      front().fail(request -> request.startsWith("POST /subjects/"), status, code);
      assertThatThrownBy(() -> registry.register(topics))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining(" refuses the schema of ");
    } finally {
      front().well();
    }
  }

  /** The answer is still held back when the caller has given up on it. */
  @Test
  void a_missing_answer_times_out() throws Exception {
    byte[] value;
    try (Registry writer = connect()) {
      writer.register(topics);
      value = write(writer, event());
    }
    CountDownLatch until = new CountDownLatch(1);
    try (Registry registry = connect(Map.of("http.read.timeout.ms", "300", "max.retries", "0"))) {
      front().hold(request -> true, until);
      assertThatThrownBy(() -> read(registry, value))
          .isInstanceOf(RegistryUnavailableException.class);
      assertThatThrownBy(() -> registry.register(topics))
          .isInstanceOf(RegistryUnavailableException.class);
      assertThatThrownBy(registry::probe).isInstanceOf(RegistryUnavailableException.class);
      assertThat(until.getCount()).isEqualTo(1);
      until.countDown();
      front().well();
      assertThat(read(registry, value)).isInstanceOf(Decoded.Value.class);
    } finally {
      until.countDown();
      front().well();
    }
  }

  /**
   * What is known is not asked for again, so that an outage does not stop what needs nothing new.
   */
  @Test
  void cached_schemas_need_no_registry() throws Exception {
    try (Registry registry = connect()) {
      registry.register(topics);
      byte[] value = write(registry, event());
      assertThat(read(registry, value)).isInstanceOf(Decoded.Value.class);
      front().fail(request -> true, 503, 50301);
      assertThat(read(registry, value)).isInstanceOf(Decoded.Value.class);
      assertThat(write(registry, event())).isNotEmpty();
      assertThat(front().met()).isZero();
    } finally {
      front().well();
    }
  }

  /** The user that a way asks for; a client without it. */
  @Test
  void refused_credentials_reject_no_record() throws Exception {
    Optional<String> user = Optional.ofNullable(settings().get("basic.auth.user.info"));
    byte[] value;
    try (Registry writer = connect()) {
      writer.register(topics);
      value = write(writer, event());
    }
    try (Registry registry = connect(Map.of("basic.auth.user.info", "nobody:hunter2"))) {
      if (user.isEmpty()) {
        assertThat(read(registry, value)).isInstanceOf(Decoded.Value.class);
      } else {
        assertThatThrownBy(() -> read(registry, value))
            .isInstanceOf(RegistryUnavailableException.class)
            .hasMessageContaining("Unauthorized")
            .satisfies(e -> assertThat(e.toString()).doesNotContain("hunter2"));
        assertThatThrownBy(registry::probe).isInstanceOf(RegistryUnavailableException.class);
        assertThatThrownBy(() -> registry.register(topics))
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining("Unauthorized");
      }
    }
  }
}
