package io.shardtide.wire;

import io.shardtide.domain.Bytes;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.SourcePosition;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DatumReader;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificDatumReader;
import org.apache.avro.specific.SpecificRecord;

/**
 * Reads the records of a topic that others write. Whatever the bytes are, the answer is a value or
 * a rejection with the bytes in it; only a registry that does not answer is an exception, so that
 * the record is read again later.
 *
 * @param <V> what the records hold
 */
public final class RecordDecoder<V> {
  private static final byte MAGIC = 0;
  private static final int HEADER_BYTES = 1 + Integer.BYTES;

  /**
   * The longest key that may be a workload id: 255 characters in UTF-8. A longer one is in a
   * rejection once, as it came: as text too, the rejection could be larger than its topic takes.
   */
  private static final int MAX_KEY_BYTES = 4 * 255;

  private final Registry registry;
  private final Optional<Function<V, String>> keyOf;
  private final Reader<V, ?> reader;

  /**
   * @param registry has the schemas
   * @param topic what is read
   * @param keyOf gives what a value is of, its workload or hardware, which has to be the record's
   *     key
   */
  public RecordDecoder(Registry registry, Topic<V> topic, Function<V, String> keyOf) {
    this(registry, topic, Optional.of(keyOf));
  }

  /**
   * @param registry has the schemas
   * @param topic what is read
   * @param keyOf gives what a value is of, which has to be the record's key; empty where a key says
   *     nothing, as that of a rejected event may
   */
  public RecordDecoder(Registry registry, Topic<V> topic, Optional<Function<V, String>> keyOf) {
    this.registry = registry;
    this.keyOf = keyOf;
    reader = new Reader<>(topic.codec());
  }

  /**
   * Reads a record.
   *
   * @param source where it lies in the log
   * @param key its key, or null
   * @param value its value, or null
   * @throws RegistryUnavailableException if the schema is not known here and the registry does not
   *     answer
   */
  public Decoded<V> decode(SourcePosition source, byte[] key, byte[] value) {
    try {
      V decoded = read(value);
      String keyText = key == null ? null : new String(key, StandardCharsets.UTF_8);
      Optional<String> of = keyOf.map(function -> function.apply(decoded));
      if (of.isPresent() && !of.get().equals(keyText)) {
        throw new RejectedException(
            RejectionReason.KEY_MISMATCH,
            "The record's key is %s and its value is of \"%s\"; legal is that text in UTF-8"
                .formatted(keyText == null ? "missing" : "another text", of.get()));
      }
      return new Decoded.Value<>(decoded);
    } catch (RejectedException e) {
      return new Decoded.Invalid<>(rejection(source, key, value, e));
    }
  }

  /** Returns a record as it came, with the reason why it was not applied. */
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

  private V read(byte[] value) {
    if (value == null || value.length < HEADER_BYTES || value[0] != MAGIC) {
      throw new RejectedException(
          RejectionReason.UNDECODABLE,
          "The record has %s; legal is a %s in the registry's framing: a zero byte, four bytes of schema id, Avro"
              .formatted(
                  value == null
                      ? "no value"
                      : value.length == 0
                          ? "an empty value"
                          : value.length + " bytes that begin with " + (value[0] & 0xff),
                  reader.name()));
    }
    return reader.read(ByteBuffer.wrap(value).getInt(1), value);
  }

  /** Reads one kind of Avro record, whatever schema it was written with. */
  private final class Reader<T, A extends SpecificRecord> {
    private final Codec<T, A> codec;
    private final Map<Integer, DatumReader<A>> byWriter = new HashMap<>();

    Reader(Codec<T, A> codec) {
      this.codec = codec;
    }

    String name() {
      return codec.avroType().getSimpleName();
    }

    T read(int schemaId, byte[] value) {
      // The schema comes first and apart: only a registry that does not answer is worth another
      // try, and Avro's own errors must not be taken for one.
      DatumReader<A> avro = byWriter.computeIfAbsent(schemaId, this::writtenWith);
      try {
        BinaryDecoder bytes =
            DecoderFactory.get()
                .binaryDecoder(value, HEADER_BYTES, value.length - HEADER_BYTES, null);
        return codec.fromAvro().apply(avro.read(null, bytes));
      } catch (RejectedException e) {
        throw e;
      } catch (IOException | RuntimeException e) {
        throw new RejectedException(
            RejectionReason.UNDECODABLE,
            "The record of %d bytes with schema id %d cannot be read as a %s, which is what is legal here: %s"
                .formatted(value.length, schemaId, name(), rootMessage(e)));
      }
    }

    private DatumReader<A> writtenWith(int schemaId) {
      Schema writer = registry.writerSchema(schemaId);
      if (writer == null) {
        throw new RejectedException(
            RejectionReason.UNKNOWN_SCHEMA,
            "The record names schema id %d; legal are ids that the registry at %s has. Maybe it was written with another registry"
                .formatted(schemaId, registry.url()));
      }
      return new SpecificDatumReader<>(
          writer, codec.schema(), SpecificData.getForClass(codec.avroType()));
    }
  }

  /** Returns what lies at the bottom of an error. */
  static String rootMessage(Throwable error) {
    Throwable root = error;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return root.getClass().getSimpleName()
        + (root.getMessage() == null ? "" : ": " + root.getMessage());
  }
}
