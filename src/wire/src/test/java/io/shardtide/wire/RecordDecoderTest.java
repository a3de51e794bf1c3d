package io.shardtide.wire;

import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.testutil.MockSchemaRegistry;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Samples;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.WorkloadChange;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.junit.jupiter.api.Test;

class RecordDecoderTest {
  private static final Topics TOPICS = Topics.withPrefix("");
  private static final Registry REGISTRY = Registry.connect("mock://decoder", Map.of());
  private static final byte[] KEY = Fixtures.WORKLOAD.getBytes(StandardCharsets.UTF_8);
  private static final byte[] VALUE =
      REGISTRY
          .serde(TOPICS.of(WORKLOAD_CHANGES))
          .serializer()
          .serialize(TOPICS.of(WORKLOAD_CHANGES).name(), Samples.change());

  /** The first type of its union: null. */
  private static final byte[] NO_STORAGE = {0};

  private final RecordDecoder<WorkloadChange> decoder =
      new RecordDecoder<>(REGISTRY, TOPICS.of(WORKLOAD_CHANGES));

  private RejectedEvent rejected(byte[] key, byte[] value) {
    Decoded<WorkloadChange> decoded =
        decoder.decode(Fixtures.at(9), key, value, OptionalInt.empty());
    assertThat(decoded).isInstanceOf(Decoded.Invalid.class);
    RejectedEvent rejection = ((Decoded.Invalid<WorkloadChange>) decoded).rejection();
    assertThat(rejection.source()).isEqualTo(Fixtures.at(9));
    assertThat(rejection.key().map(b -> b.toArray()).orElse(null)).isEqualTo(key);
    assertThat(rejection.value().map(b -> b.toArray()).orElse(null)).isEqualTo(value);
    return rejection;
  }

  @Test
  void an_event_is_read() {
    Decoded<WorkloadChange> decoded =
        decoder.decode(Fixtures.at(9), KEY, VALUE, OptionalInt.empty());
    assertThat(((Decoded.Value<WorkloadChange>) decoded).value().changes())
        .isEqualTo(Samples.change().changes());
  }

  @Test
  void an_undecodable_record_is_rejected_with_its_bytes() {
    assertThat(rejected(KEY, null).message())
        .startsWith("The record must be a WorkloadChange")
        .endsWith("it has no value");
    assertThat(rejected(KEY, new byte[0]).message()).contains("an empty value");
    RejectedEvent text = rejected(KEY, "hello world".getBytes(StandardCharsets.UTF_8));
    assertThat(text.reason()).isEqualTo(RejectionReason.UNDECODABLE);
    assertThat(text.message()).contains("11 bytes that begin with 104");
    assertThat(text.workloadId()).contains(Fixtures.WORKLOAD);
    assertThat(rejected(null, null).workloadId()).isEmpty();
  }

  @Test
  void an_unknown_schema_is_named() {
    byte[] value = VALUE.clone();
    ByteBuffer.wrap(value).putInt(1, 4711);
    RejectedEvent rejection = rejected(KEY, value);
    assertThat(rejection.reason()).isEqualTo(RejectionReason.UNKNOWN_SCHEMA);
    assertThat(rejection.message())
        .contains("schema id must be in the registry at mock://decoder, got 4711");
  }

  @Test
  void bytes_of_another_record_are_rejected() {
    byte[] plan =
        REGISTRY
            .serde(TOPICS.of(SHARDING_PLANS))
            .serializer()
            .serialize(TOPICS.of(SHARDING_PLANS).name(), Samples.plan());
    RejectedEvent rejection = rejected(KEY, plan);
    assertThat(rejection.reason()).isEqualTo(RejectionReason.UNDECODABLE);
    assertThat(rejection.message()).contains("must be a WorkloadChange; its ");
  }

  @Test
  void the_key_is_the_workload() {
    assertThat(rejected(null, VALUE).reason()).isEqualTo(RejectionReason.KEY_MISMATCH);
    RejectedEvent other = rejected("other".getBytes(StandardCharsets.UTF_8), VALUE);
    assertThat(other.reason()).isEqualTo(RejectionReason.KEY_MISMATCH);
    assertThat(other.message())
        .isEqualTo(
            "The record's key must be \"feed-ranking\" in UTF-8, as its value says; the key is another text");
  }

  /** Values that a publisher's own program may send: each is rejected with its reason. */
  @Test
  void values_outside_their_range_are_rejected_with_their_reason() throws IOException {
    assertReason(RejectionReason.INVALID_ROWS, 0, 64, 1, 4);
    assertReason(RejectionReason.INVALID_ROWS, -1, 64, 1, 4);
    assertReason(RejectionReason.INVALID_COLUMNS, 1, 0, 1, 4);
    assertReason(RejectionReason.INVALID_COLUMNS, 1, 30, 1, 4);
    assertReason(RejectionReason.INVALID_POOLING_FACTOR, 1, 64, Double.NaN, 4);
    assertReason(RejectionReason.INVALID_POOLING_FACTOR, 1, 64, -1, 4);
    assertReason(RejectionReason.INVALID_BYTES_PER_ELEMENT, 1, 64, 1, -4);
  }

  /** An access CDF that is wrong in any way; the same event with a right one is read. */
  @Test
  void an_invalid_access_cdf_is_rejected() throws IOException {
    double nan = Double.NaN;
    for (double[] wrong :
        new double[][] {
          {0.5, 0.25, 1},
          {0.5, 0.75, 0.9},
          {0.5, 1},
          {0.5, 0.5, 0.75, 1},
          {0, 0.5, 1},
          {-0.5, 0.5, 1},
          {nan, 0.5, 1},
          {0.5, 0.75, nan},
          {0.5, 1.5, 1},
          {0.5, 1.5, 1.5}
        }) {
      RejectedEvent rejection = rejected(KEY, event(10, 64, 1, 4, wrong));
      assertThat(rejection.reason()).isEqualTo(RejectionReason.INVALID_ACCESS_CDF);
      assertThat(rejection.message()).contains("access CDF").contains("must be").contains(", got ");
    }
    assertThat(
            decoder.decode(
                Fixtures.at(9), KEY, event(10, 64, 1, 4, 0.5, 0.5, 1), OptionalInt.empty()))
        .isInstanceOf(Decoded.Value.class);
  }

  /** Features that are wrong in any way; the same event with right ones is read. */
  @Test
  void invalid_features_are_rejected() throws IOException {
    double nan = Double.NaN;
    for (double[] wrong :
        new double[][] {
          {2, 0, 1}, {2, nan, 1}, {2, 1, 0}, {2, 1, nan}, {-2, 1, 1}, {nan, 1, 1}, {3, 1, 1}
        }) {
      RejectedEvent rejection = rejected(KEY, withFeature(wrong, ""));
      assertThat(rejection.reason()).isEqualTo(RejectionReason.INVALID_FEATURES);
      assertThat(rejection.message()).contains("must be").contains(", got ");
    }
    assertThat(rejected(KEY, withFeature(new double[] {2, 1, 1}, "some")).reason())
        .isEqualTo(RejectionReason.INVALID_FEATURES);
    assertThat(
            decoder.decode(
                Fixtures.at(9),
                KEY,
                withFeature(new double[] {8, 0.5, 2}, "given"),
                OptionalInt.empty()))
        .isInstanceOf(Decoded.Value.class);
  }

  /** A hash table that is wrong in any way; the same event with a right one is read. */
  @Test
  void invalid_storage_is_rejected() throws IOException {
    for (byte[] wrong :
        new byte[][] {
          storage(-1, 0, 16, "none"),
          storage((1L << 36) + 1, 0, 16, "none"),
          storage(5, Double.NaN, 16, "none"),
          storage(5, -1, 16, "none"),
          storage(5, 0, 1025, "none"),
          storage(5, 0, 16, "fifo"),
          storage(5, 0, 16, "none", 0.5, 1),
        }) {
      RejectedEvent rejection = rejected(KEY, withStorage(wrong));
      assertThat(rejection.reason()).isEqualTo(RejectionReason.INVALID_STORAGE);
      assertThat(rejection.message()).contains("must be").contains(", got ");
    }
    assertThat(
            decoder.decode(
                Fixtures.at(9),
                KEY,
                withStorage(storage(5, 2.5, 0, "age", 0.5, 0.5, 1)),
                OptionalInt.empty()))
        .isInstanceOf(Decoded.Value.class);
  }

  private static byte[] withStorage(byte[] storage) throws IOException {
    return event(10, 64, 2, 4, new double[0], new double[0], "", storage);
  }

  /** Returns a hash table as bytes, without any check. */
  private static byte[] storage(
      long ids, double idsPerDay, double slotBytes, String eviction, double... hitShares)
      throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(out, null);
    encoder.writeIndex(1);
    encoder.writeLong(ids);
    encoder.writeDouble(idsPerDay);
    encoder.writeDouble(slotBytes);
    encoder.writeString(eviction);
    encoder.writeArrayStart();
    encoder.setItemCount(hitShares.length);
    for (double share : hitShares) {
      encoder.startItem();
      encoder.writeDouble(share);
    }
    encoder.writeArrayEnd();
    encoder.writeIndex(0);
    encoder.writeNull();
    encoder.flush();
    return out.toByteArray();
  }

  /** A publisher of an earlier version does not know the newest fields. */
  @Test
  void an_event_of_each_earlier_schema_is_read() throws Exception {
    WorkloadChange event = Fixtures.event(Fixtures.set(2, 100), Fixtures.upsert("a", 10, 4, 1));
    for (Schema earlier : SchemaTest.versions(Codec.WORKLOAD_CHANGE)) {
      int id =
          MockSchemaRegistry.getClientForScope("decoder")
              .register("earlier-value", new AvroSchema(earlier));
      byte[] value =
          EarlierRecords.framed(EarlierRecords.of(Codec.WORKLOAD_CHANGE, earlier, event), id);
      assertThat(decoder.decode(Fixtures.at(9), KEY, value, OptionalInt.empty()))
          .isEqualTo(new Decoded.Value<>(event));
    }
  }

  /**
   * A kind of change that a later version knows, with all fields of one that this version knows:
   * Avro's own reader takes it for a drop of the table.
   */
  @Test
  void a_kind_of_change_of_a_later_version_is_rejected_where_it_is_used() throws Exception {
    String renamed =
        ",{\"type\":\"record\",\"name\":\"TableRenamed\",\"fields\":[{\"name\":\"name\",\"type\":\"string\"},{\"name\":\"to\",\"type\":\"string\"}]}]}";
    String now = Registry.published(Codec.WORKLOAD_CHANGE).toString();
    int end =
        now.indexOf("]}", now.indexOf("\"resizeReason\"", now.indexOf("TableResized\",\"doc"))) + 2;
    assertThat(now.substring(end)).startsWith("]}");
    Schema later =
        new Schema.Parser().parse(now.substring(0, end) + renamed + now.substring(end + 2));
    int id =
        MockSchemaRegistry.getClientForScope("decoder")
            .register("later-value", new AvroSchema(later));
    WorkloadChange event = Fixtures.event(Fixtures.drop("a"));
    GenericRecord record = EarlierRecords.of(Codec.WORKLOAD_CHANGE, later, event);
    assertThat(
            decoder.decode(
                Fixtures.at(9), KEY, EarlierRecords.framed(record, id), OptionalInt.empty()))
        .isEqualTo(new Decoded.Value<>(event));
    List<Schema> kinds = later.getField("changes").schema().getElementType().getTypes();
    GenericData.Record change = new GenericData.Record(kinds.get(kinds.size() - 1));
    change.put("name", "a");
    change.put("to", "b");
    record.put("changes", List.of(change));
    RejectedEvent rejection = rejected(KEY, EarlierRecords.framed(record, id));
    assertThat(rejection.reason()).isEqualTo(RejectionReason.UNDECODABLE);
    assertThat(rejection.message())
        .startsWith("The record must be a WorkloadChange; its ")
        .endsWith(
            "it has a TableRenamed where this version expects one of TableUpserted, TableDropped,"
                + " ClusterSet, WorkloadDeleted, TableResized. Maybe a later version wrote it:"
                + " upgrade this one first");
  }

  private void assertReason(
      RejectionReason reason, long rows, int columns, double pooling, double bytes)
      throws IOException {
    assertThat(rejected(KEY, event(rows, columns, pooling, bytes)).reason()).isEqualTo(reason);
  }

  /** Returns an event of one table as bytes, without any check. */
  private static byte[] event(long rows, int columns, double pooling, double bytes, double... cdf)
      throws IOException {
    return event(rows, columns, pooling, bytes, cdf, new double[0], "", NO_STORAGE);
  }

  /**
   * Returns an event of a table with 2 lookups a sample.
   *
   * @param feature lookups, batch share and duplicates of its feature
   * @param weights of its ids; empty for none
   */
  private static byte[] withFeature(double[] feature, String weights) throws IOException {
    return event(10, 64, 2, 4, new double[0], feature, weights, NO_STORAGE);
  }

  private static byte[] event(
      long rows,
      int columns,
      double pooling,
      double bytes,
      double[] cdf,
      double[] feature,
      String weights,
      byte[] storage)
      throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(VALUE, 0, 5);
    BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(out, null);
    encoder.writeString("0b8a2f9e-4d55-4b4c-9a39-0e9d5a4f2f11");
    encoder.writeString(Fixtures.WORKLOAD);
    encoder.writeLong(0);
    encoder.writeString("a program of one's own");
    encoder.writeIndex(0);
    encoder.writeArrayStart();
    encoder.setItemCount(1);
    encoder.startItem();
    encoder.writeIndex(0);
    encoder.writeString("t");
    encoder.writeLong(rows);
    encoder.writeInt(columns);
    encoder.writeDouble(pooling);
    encoder.writeArrayStart();
    encoder.writeArrayEnd();
    encoder.writeDouble(bytes);
    encoder.writeArrayStart();
    encoder.setItemCount(cdf.length);
    for (double share : cdf) {
      encoder.startItem();
      encoder.writeDouble(share);
    }
    encoder.writeArrayEnd();
    encoder.writeDouble(0);
    encoder.writeDouble(0);
    encoder.writeArrayStart();
    encoder.writeArrayEnd();
    encoder.writeInt(0);
    encoder.writeIndex(0);
    encoder.writeNull();
    encoder.writeBoolean(true);
    encoder.writeBoolean(true);
    encoder.writeBoolean(true);
    encoder.writeIndex(0);
    encoder.writeNull();
    encoder.writeBoolean(false);
    encoder.writeArrayStart();
    if (feature.length > 0) {
      encoder.setItemCount(1);
      encoder.startItem();
      encoder.writeString("f");
      for (double number : feature) {
        encoder.writeDouble(number);
      }
    }
    encoder.writeArrayEnd();
    encoder.writeIndex(weights.isEmpty() ? 0 : 1);
    if (!weights.isEmpty()) {
      encoder.writeString(weights);
    }
    // Nothing of its kernel is decided.
    for (int field = 0; field < 5; field++) {
      encoder.writeIndex(0);
      encoder.writeNull();
    }
    encoder.flush();
    out.write(storage);
    // No distinct shares, nothing decided of deduplication, no spread.
    encoder.writeArrayStart();
    encoder.writeArrayEnd();
    encoder.writeIndex(0);
    encoder.writeNull();
    encoder.writeArrayStart();
    encoder.writeArrayEnd();
    encoder.writeArrayEnd();
    encoder.flush();
    return out.toByteArray();
  }

  /** A few bytes that claim to hold two billion changes must not be believed. */
  @Test
  void a_count_that_the_bytes_cannot_hold_takes_no_memory() throws IOException {
    for (long claimed :
        new long[] {Integer.MAX_VALUE - 8, 1L << 40, Long.MAX_VALUE, Long.MIN_VALUE}) {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      out.write(VALUE, 0, 5);
      BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(out, null);
      encoder.writeString("0b8a2f9e-4d55-4b4c-9a39-0e9d5a4f2f11");
      encoder.writeString(Fixtures.WORKLOAD);
      encoder.writeLong(0);
      encoder.writeString("a program of one's own");
      encoder.writeIndex(0);
      encoder.writeLong(claimed);
      encoder.flush();
      assertThat(rejected(KEY, out.toByteArray()).reason()).isEqualTo(RejectionReason.UNDECODABLE);
    }
  }

  /** The same inside a table: a histogram of two billion shares. */
  @Test
  void a_histogram_that_the_bytes_cannot_hold_takes_no_memory() throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(VALUE, 0, 5);
    BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(out, null);
    encoder.writeString("0b8a2f9e-4d55-4b4c-9a39-0e9d5a4f2f11");
    encoder.writeString(Fixtures.WORKLOAD);
    encoder.writeLong(0);
    encoder.writeString("a program of one's own");
    encoder.writeIndex(0);
    encoder.writeLong(1);
    encoder.writeIndex(0);
    encoder.writeString("t");
    encoder.writeLong(10);
    encoder.writeInt(64);
    encoder.writeDouble(1);
    encoder.writeLong(Integer.MAX_VALUE - 8);
    encoder.flush();
    assertThat(rejected(KEY, out.toByteArray()).reason()).isEqualTo(RejectionReason.UNDECODABLE);
  }

  @Property(tries = 2000)
  void any_bytes_are_an_event_or_a_rejection(@ForAll byte[] noise) {
    decoder.decode(Fixtures.at(9), KEY, noise, OptionalInt.empty());
    byte[] framed = Arrays.copyOf(VALUE, 5 + noise.length);
    System.arraycopy(noise, 0, framed, 5, noise.length);
    decoder.decode(Fixtures.at(9), KEY, framed, OptionalInt.empty());
  }

  @Property(tries = 2000)
  void a_damaged_event_is_an_event_or_a_rejection(@ForAll long seed) {
    Random random = new Random(seed);
    byte[] damaged = VALUE.clone();
    for (int i = 1 + random.nextInt(4); i > 0; i--) {
      damaged[5 + random.nextInt(damaged.length - 5)] = (byte) random.nextInt(256);
    }
    if (random.nextBoolean()) {
      damaged = Arrays.copyOf(damaged, random.nextInt(damaged.length));
    }
    Decoded<WorkloadChange> decoded =
        decoder.decode(Fixtures.at(9), KEY, damaged, OptionalInt.empty());
    assertThat(decoded).isNotNull();
  }

  /** A registry that is away is no reason to drop a record: the caller tries again. */
  @Test
  void an_unavailable_registry_is_an_exception() {
    Registry away =
        Registry.connect(
            "http://127.0.0.1:1", Map.of("max.retries", 0, "http.connect.timeout.ms", 200));
    assertThatThrownBy(
            () ->
                new RecordDecoder<>(away, TOPICS.of(WORKLOAD_CHANGES))
                    .decode(Fixtures.at(9), KEY, VALUE, OptionalInt.empty()))
        .isInstanceOf(RegistryUnavailableException.class)
        .hasMessageStartingWith("The schema registry at http://127.0.0.1:1 does not answer: ");
  }
}
