package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.drop;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.TestModels;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.WorkloadChange;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.junit.jupiter.api.Test;

/** Invalid input, and what the planner does with it. */
class FailureModesIT extends FailureModesFixture {
  // Events of a later version

  /** Today's schema of events as a later version might have it. */
  private static Schema later(boolean newField, boolean newKind) throws Exception {
    ObjectNode schema =
        (ObjectNode)
            new ObjectMapper()
                .readTree(io.shardtide.avro.WorkloadChange.getClassSchema().toString());
    ArrayNode fields = (ArrayNode) schema.get("fields");
    if (newField) {
      ObjectNode field = fields.addObject().put("name", "priority").put("type", "int");
      field.put("default", 3);
    }
    if (newKind) {
      ArrayNode kinds = (ArrayNode) fields.get(5).get("type").get("items");
      ObjectNode kind = kinds.addObject().put("type", "record").put("name", "TableRenamed");
      // All that a TableDropped has, too.
      ArrayNode renamed = kind.putArray("fields");
      renamed.addObject().put("name", "name").put("type", "string");
      renamed.addObject().put("name", "to").put("type", "string");
    }
    return new Schema.Parser().parse(schema.toString());
  }

  /** An event in a later schema, which the registry must accept as today's successor. */
  private static byte[] written(WorkloadChange event, Schema later, boolean withNewKind)
      throws Exception {
    String topic = topics.of(WORKLOAD_CHANGES).name();
    byte[] now =
        client.registry().serde(topics.of(WORKLOAD_CHANGES)).serializer().serialize(topic, event);
    GenericRecord record =
        new GenericDatumReader<GenericRecord>(
                io.shardtide.avro.WorkloadChange.getClassSchema(), later)
            .read(null, DecoderFactory.get().binaryDecoder(now, 5, now.length - 5, null));
    if (withNewKind) {
      List<Schema> kinds = later.getField("changes").schema().getElementType().getTypes();
      GenericData.Record renamed = new GenericData.Record(kinds.get(kinds.size() - 1));
      renamed.put("name", "a");
      renamed.put("to", "b");
      List<Object> changes = new ArrayList<>((List<?>) record.get("changes"));
      changes.add(renamed);
      record.put("changes", changes);
    }
    int id;
    try (CachedSchemaRegistryClient schemas = new CachedSchemaRegistryClient(registry.url(), 10)) {
      id = schemas.register(topic + "-value", new AvroSchema(later));
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.writeBytes(ByteBuffer.allocate(5).put((byte) 0).putInt(id).array());
    BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
    new GenericDatumWriter<GenericRecord>(later).write(record, encoder);
    encoder.flush();
    return out.toByteArray();
  }

  @Test
  void an_event_of_a_later_version_is_applied_if_it_is_readable() throws Exception {
    client.publish(workload, written(event(upsert("b", 1_000, 8, 2)), later(true, false), false));
    assertThat(plans(2).get(1).reason()).as("a field more").isEqualTo("1 table added (b)");
    Schema later = later(true, true);
    client.publish(workload, written(event(upsert("c", 1_000, 8, 2)), later, false));
    assertThat(plans(3).get(2).reason()).as("known kinds").isEqualTo("1 table added (c)");
    RejectedEvent rejection =
        rejected(
            topics.of(WORKLOAD_CHANGES),
            workload,
            written(event(upsert("d", 1_000, 8, 2)), later, true));
    assertThat(rejection.reason()).isEqualTo(RejectionReason.UNDECODABLE);
    assertThat(rejection.message()).contains("WorkloadChange", "it has a TableRenamed where");
    client.publish(event(upsert("e", 1_000, 8, 2)));
    assertThat(plans(4).get(3).reason()).as("d was not applied").isEqualTo("1 table added (e)");
  }

  // Models

  private static ModelBundle of(String hardware) {
    ModelBundle shipped = TestModels.bundle();
    return ModelBundleBuilder.builder(shipped).modelId("").hardware(hardware).build().identified();
  }

  private Change on(String hardware) {
    ClusterSpec cluster = Fixtures.cluster(3, Fixtures.GIB);
    return new Change.ClusterSet(
        new ClusterSpec(
            cluster.devices(),
            cluster.memoryBytesPerDevice(),
            cluster.batchSize(),
            cluster.devicesPerNode(),
            hardware));
  }

  @Test
  void a_model_of_unused_hardware_is_kept_for_later_workloads() throws Exception {
    int before = rejections(topics.of(WORKLOAD_CHANGES)).size();
    client.publish(event(on("brand-new")));
    RejectedEvent rejection = rejection(topics.of(WORKLOAD_CHANGES), before);
    assertThat(rejection.reason()).isEqualTo(RejectionReason.UNKNOWN_HARDWARE);
    assertThat(rejection.message())
        .contains("\"brand-new\"")
        .contains(TestModels.bundle().hardware());

    ModelBundle bundle = of("brand-new");
    client.publishValue(topics.of(COST_MODELS), bundle.hardware(), bundle);
    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> {
              client.publish(event(on("brand-new")));
              assertThat(latest().origin().modelId()).isEqualTo(bundle.modelId());
            });
    assertThat(planned().get(0).origin().modelId()).isEqualTo(TestModels.bundle().modelId());
  }

  @Test
  void a_record_that_is_not_a_model_is_skipped() throws Exception {
    String hardware = "hardware-" + workload;
    client.publish(topics.of(COST_MODELS), TestModels.bundle().hardware(), NOISE);
    awaitLog(topics.of(COST_MODELS).name(), "is set aside", "begin with 110");
    client.publishValue(topics.of(COST_MODELS), TestModels.bundle().hardware(), of(hardware));
    awaitLog("is set aside", "the key is another text");
    client.publish(topics.of(COST_MODELS), TestModels.bundle().hardware(), null);
    awaitLog("is set aside", "has no value");
    ModelBundle tooMuch = of(TOO_MUCH + workload);
    client.publishValue(topics.of(COST_MODELS), tooMuch.hardware(), tooMuch);
    awaitLog("Model " + tooMuch.modelId(), "is set aside", "no memory for it");
    client.publish(event(upsert("b", 1_000, 8, 2)));
    assertThat(plans(2).get(1).origin().modelId()).isEqualTo(TestModels.bundle().modelId());
    client.publishValue(topics.of(COST_MODELS), hardware, of(hardware));
    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> {
              client.publish(event(on(hardware)));
              assertThat(latest().origin().modelId())
                  .as("models after it are read")
                  .isEqualTo(of(hardware).modelId());
            });
  }

  // Statuses

  private byte[] status(String planId, PlanStatus.StatusKind kind, long step) {
    byte[] value =
        client
            .registry()
            .serde(topics.of(PLAN_STATUS))
            .serializer()
            .serialize(
                topics.of(PLAN_STATUS).name(),
                new PlanStatus(
                    workload,
                    planId,
                    kind,
                    Math.abs(step),
                    Optional.empty(),
                    "t",
                    "",
                    Fixtures.TIME,
                    1,
                    1));
    if (step < 0) {
      // Steps are zigzag: -1 is one, 1 is two. It comes after two strings and the kind.
      int at = 5 + 1 + workload.length() + 2 + planId.length() + 1;
      assertThat(value[at]).isEqualTo((byte) 2);
      value[at] = 1;
    }
    return value;
  }

  @Test
  void impossible_statuses_are_rejected_and_valid_ones_are_applied() throws Exception {
    Topic<PlanStatus> topic = topics.of(PLAN_STATUS);
    String first = planned().get(0).planId();
    client.publish(event(upsert("b", 1_000, 8, 2)));
    String second = plans(2).get(1).planId();
    client.publish(topic, workload, status(first, PlanStatus.StatusKind.ADOPTED, 100));

    RejectedEvent unknown =
        rejected(topic, workload, status("0".repeat(64), PlanStatus.StatusKind.ADOPTED, 200));
    assertThat(unknown.reason()).isEqualTo(RejectionReason.UNKNOWN_PLAN);
    assertThat(unknown.message()).contains("000000000000", "must be");
    RejectedEvent stale =
        rejected(topic, workload, status(second, PlanStatus.StatusKind.ADOPTED, 99));
    assertThat(stale.reason()).isEqualTo(RejectionReason.STALE_STATUS);
    assertThat(stale.message()).contains("got 99", "must be at least 100");
    RejectedEvent negative =
        rejected(topic, workload, status(second, PlanStatus.StatusKind.ADOPTED, -1));
    assertThat(negative.reason()).isEqualTo(RejectionReason.INVALID_STATUS);
    assertThat(negative.message()).contains("must be at least 0, got -1");
    assertThat(rejected(topic, workload, NOISE).reason()).isEqualTo(RejectionReason.UNDECODABLE);
    assertThat(rejected(topic, workload, null).reason()).isEqualTo(RejectionReason.UNDECODABLE);

    client.publish(event(upsert("c", 1_000, 8, 2)));
    assertThat(plans(3).get(2).origin().previousPlanId()).as("none of them counts").contains(first);
    client.publish(topic, workload, status(second, PlanStatus.StatusKind.FINISHED_MOVING, 100));
    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> {
              client.publish(event(upsert("d", 1_000, 8, 2)));
              assertThat(latest().origin().previousPlanId()).contains(second);
            });
  }

  // Clocks

  /** The plans of two workloads to which the same happens at other times. */
  @Test
  void no_plan_depends_on_occurredAt() throws Exception {
    client.publish(event(workload, Instant.EPOCH.minusSeconds(5), upsert("b", 9_000, 8, 2)));
    client.publish(event(workload, Instant.EPOCH.minusSeconds(9), upsert("c", 9_000, 8, 2)));
    String other = "timely-" + workload;
    client.publish(event(other, set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    client.publish(event(other, Fixtures.TIME.plusSeconds(1), upsert("b", 9_000, 8, 2)));
    client.publish(event(other, Fixtures.TIME.plusSeconds(2), upsert("c", 9_000, 8, 2)));
    List<ShardingPlan> backwards = plans(3);
    List<ShardingPlan> timely =
        await()
            .atMost(PATIENCE)
            .until(
                () ->
                    client.committed(topics.of(SHARDING_PLANS)).stream()
                        .filter(plan -> plan.workloadId().equals(other))
                        .toList(),
                plans -> plans.size() == 3);
    assertThat(backwards)
        .extracting(ShardingPlan::shards)
        .containsExactlyElementsOf(timely.stream().map(ShardingPlan::shards).toList());
  }

  /**
   * A publisher's clock is two hours ahead, and its topic takes that; the planner's own topics
   * would not.
   */
  @Test
  void a_record_from_the_future_is_planned() throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      ConfigResource changes =
          new ConfigResource(ConfigResource.Type.TOPIC, topics.of(WORKLOAD_CHANGES).name());
      ConfigEntry any =
          new ConfigEntry("message.timestamp.after.max.ms", Long.toString(Long.MAX_VALUE));
      admin
          .incrementalAlterConfigs(
              Map.of(changes, List.of(new AlterConfigOp(any, AlterConfigOp.OpType.SET))))
          .all()
          .get();
    }
    client.publishAt(Instant.now().plus(Duration.ofHours(2)), event(upsert("b", 1_000, 8, 2)));
    assertThat(plans(2).get(1).generation()).isEqualTo(2);
  }

  // Records

  @Test
  void an_unreadable_record_affects_no_other_record() throws Exception {
    for (Topic<?> topic :
        List.of(topics.of(WORKLOAD_CHANGES), topics.of(COST_PREDICTIONS), topics.of(PLAN_STATUS))) {
      RejectedEvent rejection = rejected(topic, workload, NOISE);
      assertThat(rejection.reason()).isEqualTo(RejectionReason.UNDECODABLE);
      assertThat(rejection.value().orElseThrow().toArray()).isEqualTo(NOISE);
      assertThat(rejected(topic, null, NOISE).key()).isEmpty();
    }
  }

  @Test
  void a_tombstone_is_rejected_and_deletes_nothing() throws Exception {
    RejectedEvent rejection = rejected(topics.of(WORKLOAD_CHANGES), workload, null);
    assertThat(rejection.reason()).isEqualTo(RejectionReason.UNDECODABLE);
    assertThat(rejection.message()).contains("has no value");
    client.publish(event(upsert("b", 1_000, 8, 2)));
    assertThat(plans(2).get(1).origin().previousPlanId()).contains(planned().get(0).planId());
  }

  /** A rejection carries the key as it came; it must not carry it so often that it is too large. */
  @Test
  void an_unreadable_record_of_16_mib_is_rejected() throws Exception {
    byte[] large = new byte[TopicType.LARGE_RECORD_BYTES - 1_000];
    RejectedEvent value = rejected(topics.of(WORKLOAD_CHANGES), workload, large);
    assertThat(value.value().orElseThrow().toArray()).isEqualTo(large);
    String key = "k".repeat(large.length - 1_000);
    RejectedEvent byKey = rejected(topics.of(WORKLOAD_CHANGES), key, NOISE);
    assertThat(byKey.key().orElseThrow().toArray()).hasSize(key.length());
  }

  @Test
  void a_too_large_event_is_refused_at_the_publisher() {
    assertThatThrownBy(() -> client.publish(workload, new byte[TopicType.LARGE_RECORD_BYTES + 1]))
        .isInstanceOf(ExecutionException.class)
        .hasCauseInstanceOf(RecordTooLargeException.class)
        .hasMessageContaining(Integer.toString(TopicType.LARGE_RECORD_BYTES));
    assertThatThrownBy(
            () -> client.publish(topics.of(PLAN_STATUS), workload, new byte[2 * 1024 * 1024]))
        .as("a client may send more than a topic takes")
        .isInstanceOf(ExecutionException.class)
        .hasCauseInstanceOf(RecordTooLargeException.class);
  }

  // Workloads

  @Test
  void a_workload_without_tables_can_get_tables_again() throws Exception {
    client.publish(event(drop("a")));
    ShardingPlan empty = plans(2).get(1);
    assertThat(empty.shards()).isEmpty();
    assertThat(empty.reason()).isEqualTo("1 table dropped (a)");
    client.publish(event(upsert("a", 200_000, 32, 5)));
    ShardingPlan again = plans(3).get(2);
    assertThat(again.origin().previousPlanId()).contains(empty.planId());
    assertThat(again.transition().moves()).as("nothing is there to be moved").isEmpty();
    assertThat(again.shards()).allMatch(shard -> shard.rows() == 200_000);
  }
}
