package io.shardtide.wire;

import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.avro.AvroSchemaProvider;
import io.confluent.kafka.schemaregistry.client.SchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.SchemaRegistryClientFactory;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.RegistryAnswer;
import io.shardtide.testing.RegistryFront;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.WorkloadChange;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.apache.avro.Schema;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Every answer that a registry may give for the id of one record, while it gives the schemas of
 * others, and while it does not.
 */
class OddSchemaIdsIT {
  private static final Topics TOPICS = Topics.withPrefix("odd.");

  @TempDir private static Path folder;
  private static DevelopmentRegistry upstream;
  private static RegistryFront front;

  private Registry registry;
  private RecordDecoder<WorkloadChange> decoder;

  @BeforeAll
  static void start() throws Exception {
    upstream = DevelopmentRegistry.start(0, Optional.of(folder));
    front = new RegistryFront(upstream.url(), Optional.empty(), Optional.empty(), "");
    front.answerOddly();
    try (Registry planner = Registry.connect(front.url(), Map.of())) {
      planner.register(TOPICS);
    }
  }

  @AfterAll
  static void stop() throws Exception {
    front.close();
    upstream.close();
  }

  @BeforeEach
  void connect() {
    connect("20");
  }

  private void connect(String missingIdWaitMs) {
    registry =
        Registry.connect(
            front.url(),
            Map.of(
                "retries.wait.ms", "1",
                "max.retries", "1",
                "http.read.timeout.ms", "1000",
                "missing.id.wait.ms", missingIdWaitMs));
    decoder = decoder();
  }

  @AfterEach
  void close() {
    registry.close();
    front.well();
  }

  private RecordDecoder<WorkloadChange> decoder() {
    return new RecordDecoder<>(registry, TOPICS.of(WORKLOAD_CHANGES));
  }

  private Decoded<WorkloadChange> decode(byte[] value) {
    return decoder.decode(
        Fixtures.at(0),
        Fixtures.WORKLOAD.getBytes(StandardCharsets.UTF_8),
        value,
        OptionalInt.empty());
  }

  /** Decodes as the callers do: as often as is asked for. */
  private Decoded<WorkloadChange> decided(byte[] value) throws InterruptedException {
    while (true) {
      try {
        return decode(value);
      } catch (UndecidedSchemaException e) {
        assertThat(e)
            .hasMessageStartingWith("The schema registry at " + front.url() + " gives no ");
        Thread.sleep(10);
      }
    }
  }

  private RejectedEvent rejected(byte[] value) throws InterruptedException {
    return ((Decoded.Invalid<WorkloadChange>) decided(value)).rejection();
  }

  private byte[] good() {
    return registry
        .serde(TOPICS.of(WORKLOAD_CHANGES))
        .serializer()
        .serialize(
            TOPICS.of(WORKLOAD_CHANGES).name(), Fixtures.event(Fixtures.set(2, Fixtures.GIB)));
  }

  @ParameterizedTest
  @EnumSource
  void each_answer_rejects_the_record_with_what_the_registry_said(RegistryAnswer answer)
      throws Exception {
    RejectedEvent rejection = rejected(answer.record());
    assertThat(rejection.reason()).isEqualTo(answer.reason());
    assertThat(rejection.message())
        .contains(answer.told())
        .contains(String.valueOf(answer.id()))
        .hasSizeLessThan(600)
        .doesNotContain("\n");
    if (answer != RegistryAnswer.ANOTHER_RECORD) {
      assertThat(rejection.message()).contains(front.url());
    }
    int asked = front.asked(answer.id());
    assertThat(rejected(answer.record()).message()).isEqualTo(rejection.message());
    decoder = decoder();
    assertThat(rejected(answer.record()).message()).isEqualTo(rejection.message());
    assertThat(front.asked(answer.id())).as("remembered").isEqualTo(asked);
    assertThat(decided(good())).isInstanceOf(Decoded.Value.class);
  }

  /** A planner asks for the schemas that it registered, a reader for that of its topic. */
  @Test
  void a_planner_asks_for_a_schema_that_it_registered() throws Exception {
    registry.register(TOPICS);
    front.fail(request -> request.endsWith("/versions/latest"), 503, 50301);
    RegistryAnswer answer = RegistryAnswer.DENIED;
    assertThat(rejected(answer.record()).reason()).isEqualTo(answer.reason());
  }

  /** The same answers for all ids are no reason to give a record up. */
  @ParameterizedTest
  @EnumSource(
      mode = EnumSource.Mode.EXCLUDE,
      names = {
        "PROTOBUF",
        "JSON_SCHEMA",
        "AVRO_OF_PYTHON",
        "BROKEN_AVRO",
        "AVRO_WITHOUT_A_TYPE",
        "ANOTHER_RECORD",
        "MISSING_REFERENCE",
        "SLOW"
      })
  void an_answer_to_all_is_an_outage(RegistryAnswer answer) throws Exception {
    byte[] value = good();
    front.fail(request -> request.startsWith("GET /schemas/ids/"), answer.status(), answer.body());
    for (int i = 0; i < 2; i++) {
      assertThatThrownBy(() -> decode(value))
          .isInstanceOf(RegistryUnavailableException.class)
          .isNotInstanceOf(UndecidedSchemaException.class)
          .hasMessageStartingWith("The schema registry at " + front.url() + " does not answer: ")
          .hasMessageContaining(answer.told());
      assertThatThrownBy(() -> decode(answer.record()))
          .isNotInstanceOf(UndecidedSchemaException.class);
      // Longer than an odd id is waited for.
      Thread.sleep(250);
    }
    front.well();
    assertThat(decided(value)).isInstanceOf(Decoded.Value.class);
  }

  @Test
  void a_registry_that_sends_a_blank_now_and_then_is_an_outage() throws Exception {
    byte[] value = good();
    front.drip(request -> true);
    assertThatThrownBy(() -> decode(value))
        .isInstanceOf(RegistryUnavailableException.class)
        .hasMessageContaining("no complete answer within 1.0 s");
    assertThatThrownBy(() -> registry.probe()).isInstanceOf(RegistryUnavailableException.class);
    front.well();
    assertThat(decided(value)).isInstanceOf(Decoded.Value.class);
  }

  /** A follower has the schema a moment later than the leader, which gave it to the publisher. */
  @ParameterizedTest
  @EnumSource(names = {"NO_ID", "NO_SUBJECT", "ARTIFACT_NOT_FOUND", "DENIED", "NO_LEADER"})
  void a_schema_that_comes_late_is_waited_for(RegistryAnswer answer) throws Exception {
    registry.close();
    connect("60000");
    byte[] value = good();
    Schema foreign =
        new Schema.Parser().parse(Registry.published(Codec.WORKLOAD_CHANGE).toString());
    foreign.addProp("publisher", answer.name());
    int id;
    try (SchemaRegistryClient publisher =
        SchemaRegistryClientFactory.newClient(
            List.of(upstream.url()), 10, List.of(new AvroSchemaProvider()), Map.of(), Map.of())) {
      id = publisher.register("publisher-value", new AvroSchema(foreign));
    }
    ByteBuffer.wrap(value).putInt(1, id);
    front.answer(id, answer);
    assertThatThrownBy(() -> decode(value)).isInstanceOf(UndecidedSchemaException.class);
    assertThatThrownBy(() -> decode(value)).isInstanceOf(UndecidedSchemaException.class);
    front.answerWell(id);
    assertThat(decode(value)).isInstanceOf(Decoded.Value.class);
  }

  /** Records with ever other odd ids do not keep a partition for ever. */
  @Test
  void all_odd_ids_together_have_a_limited_time() throws Exception {
    registry.close();
    connect("60000");
    for (int id = 1; id <= 10; id++) {
      byte[] value = withId(id);
      assertThatThrownBy(() -> decode(value)).isInstanceOf(UndecidedSchemaException.class);
    }
    assertThat(rejected(withId(11)).reason()).isEqualTo(RejectionReason.UNKNOWN_SCHEMA);
    assertThatThrownBy(() -> decode(withId(1))).isInstanceOf(UndecidedSchemaException.class);
  }

  private static byte[] withId(int number) {
    return ByteBuffer.allocate(7).put((byte) 0).putInt(800_000 + number).array();
  }

  /** A record is read by the value at its beginning, as planners always did. */
  @Test
  void bytes_after_a_value_are_ignored() throws Exception {
    byte[] value = good();
    byte[] longer = ByteBuffer.allocate(value.length + 3).put(value).array();
    assertThat(decided(longer)).isEqualTo(decided(value));
  }
}
