package io.shardtide.wire;

import io.shardtide.models.UnionsByName;
import io.shardtide.workload.Bytes;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.SourcePosition;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DatumReader;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.specific.SpecificRecord;
import org.apache.kafka.common.utils.Utils;

/**
 * Decodes the records of a topic that others write. The result is a value or a rejection with the
 * original bytes, whatever the bytes are and whatever the registry says of their schema. Only an
 * unavailable registry is an exception, so that the caller can retry.
 *
 * @param <V> type of the values
 */
public final class RecordDecoder<V> {
  private static final byte MAGIC = 0;
  static final int HEADER_BYTES = 1 + Integer.BYTES;

  /**
   * Longest key that can be a workload id: 255 characters in UTF-8. A rejection carries a longer
   * key only as bytes, because with its text too it could exceed the size limit of its topic.
   */
  private static final int MAX_KEY_BYTES = 4 * 255;

  private final Registry registry;
  private final Topic<V> topic;
  private final Map<Integer, Reader<V>> byWriter = new HashMap<>();

  /** Reads records that were written with one schema. */
  @FunctionalInterface
  private interface Reader<V> {
    V read(BinaryDecoder value) throws IOException;
  }

  /**
   * @param registry registry of the schemas
   * @param topic the topic
   */
  public RecordDecoder(Registry registry, Topic<V> topic) {
    this.registry = registry;
    this.topic = topic;
  }

  /**
   * Decodes a record, and checks that it is on its key's partition.
   *
   * @param source its position in the log
   * @param key its key, or null
   * @param value its value, or null
   * @param partitions how many partitions its topic has; empty if that is not known
   * @throws RegistryUnavailableException if the schema is not cached, and the registry is
   *     unavailable or, as {@link UndecidedSchemaException}, has not given this one yet
   */
  public Decoded<V> decode(
      SourcePosition source, byte[] key, byte[] value, OptionalInt partitions) {
    try {
      V decoded = read(value);
      String keyText = key == null ? null : new String(key, StandardCharsets.UTF_8);
      Optional<String> of = topic.type().key().map(function -> function.apply(decoded));
      if (of.isPresent() && !of.get().equals(keyText)) {
        throw RejectionReason.KEY_MISMATCH.failure(
            "The record's key must be \"%s\" in UTF-8, as its value says; the key is %s"
                .formatted(of.get(), keyText == null ? "missing" : "another text"));
      }
      if (of.isPresent() && partitions.isPresent()) {
        requirePartition(source, key, partitions.getAsInt());
      }
      return new Decoded.Value<>(decoded);
    } catch (RejectedException e) {
      return new Decoded.Invalid<>(rejection(source, key, value, e));
    }
  }

  /**
   * Returns the partition of a key, as Kafka's Java clients choose it: the records of a key are in
   * order on it alone.
   */
  public static int partition(byte[] key, int partitions) {
    return Utils.toPositive(Utils.murmur2(key)) % partitions;
  }

  private static void requirePartition(SourcePosition source, byte[] key, int partitions) {
    int expected = partition(key, partitions);
    if (source.partition() != expected) {
      throw RejectionReason.WRONG_PARTITION.failure(
          "The record must be on partition %d of %d, which Kafka's Java clients choose by the murmur2 hash of its key, got partition %d. With librdkafka, set partitioner=murmur2_random, and send it again"
              .formatted(expected, partitions, source.partition()));
    }
  }

  /** Returns the rejection of a record, with its original bytes and the reason. */
  public static RejectedEvent rejection(
      SourcePosition source, byte[] key, byte[] value, RejectedException why) {
    return new RejectedEvent(
        source,
        Optional.ofNullable(key)
            .filter(k -> k.length <= MAX_KEY_BYTES)
            .map(k -> new String(k, StandardCharsets.UTF_8)),
        why.reason(),
        why.getMessage(),
        Optional.ofNullable(key).map(Bytes::copyOf),
        Optional.ofNullable(value).map(Bytes::copyOf));
  }

  /**
   * Returns the value of a record.
   *
   * @throws RejectedException if it has none that can be read
   * @throws RegistryUnavailableException as {@link #decode}
   */
  V read(byte[] value) {
    if (value == null || value.length < HEADER_BYTES || value[0] != MAGIC) {
      throw RejectionReason.UNDECODABLE.failure(
          "The record must be a %s in the registry's framing (a zero byte, four bytes of schema id, Avro); it has %s"
              .formatted(
                  name(),
                  value == null
                      ? "no value"
                      : value.length == 0
                          ? "an empty value"
                          : value.length + " bytes that begin with " + (value[0] & 0xff)));
    }
    int schemaId = ByteBuffer.wrap(value).getInt(1);
    // Fetch the schema first: only an unavailable registry is retried, and Avro's errors must not
    // look like one.
    Reader<V> reader =
        byWriter.computeIfAbsent(schemaId, id -> writtenWith(id, topic.type().codec()));
    try {
      return reader.read(
          DecoderFactory.get()
              .binaryDecoder(value, HEADER_BYTES, value.length - HEADER_BYTES, null));
    } catch (RejectedException e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      throw RejectionReason.UNDECODABLE.failure(
          "The record must be a %s; its %d bytes with schema id %d cannot be decoded as one: %s"
              .formatted(name(), value.length, schemaId, Causes.describe(e)));
    }
  }

  private String name() {
    return topic.type().codec().avroType().getSimpleName();
  }

  private <A extends SpecificRecord> Reader<V> writtenWith(int schemaId, Codec<V, A> codec) {
    DatumReader<A> records = new UnionsByName<>(codec.avroType());
    records.setSchema(registry.writerSchema(schemaId, Registry.subject(topic)));
    return value -> codec.fromAvro().apply(records.read(null, value));
  }
}
