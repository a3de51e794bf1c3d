package io.shardtide.wire;

import io.shardtide.domain.Bytes;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.SourcePosition;
import io.shardtide.domain.WorkloadChange;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DatumReader;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificDatumReader;

/**
 * Reads the records of workload-changes. Whatever the bytes are, the answer is an event or a
 * rejection with the bytes in it; only a registry that does not answer is an exception, so that the
 * record is read again later.
 */
public final class EventDecoder {
  private static final byte MAGIC = 0;
  private static final int HEADER_BYTES = 1 + Integer.BYTES;

  private final Registry registry;
  private final Map<Integer, DatumReader<io.shardtide.avro.WorkloadChange>> readers =
      new HashMap<>();

  /** Reads with the schemas of a registry. */
  public EventDecoder(Registry registry) {
    this.registry = registry;
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
  public Decoded decode(SourcePosition source, byte[] key, byte[] value) {
    try {
      WorkloadChange change = read(value);
      String keyText = key == null ? null : new String(key, StandardCharsets.UTF_8);
      if (!change.workloadId().equals(keyText)) {
        throw new RejectedException(
            RejectionReason.KEY_MISMATCH,
            "The record's key is %s and the event is of workload \"%s\"; legal is the workload id in UTF-8"
                .formatted(keyText == null ? "missing" : "another text", change.workloadId()));
      }
      return new Decoded.Event(change);
    } catch (RejectedException e) {
      return new Decoded.Rejected(rejection(source, key, value, e));
    }
  }

  /** Returns a record as it came, with the reason why it was not applied. */
  public static RejectedEvent rejection(
      SourcePosition source, byte[] key, byte[] value, RejectedException why) {
    return new RejectedEvent(
        source,
        Optional.ofNullable(key).map(k -> new String(k, StandardCharsets.UTF_8)),
        why.reason(),
        why.getMessage(),
        Optional.ofNullable(key).map(Bytes::copyOf),
        Optional.ofNullable(value).map(Bytes::copyOf));
  }

  private WorkloadChange read(byte[] value) {
    if (value == null || value.length < HEADER_BYTES || value[0] != MAGIC) {
      throw new RejectedException(
          RejectionReason.UNDECODABLE,
          "The record has %s; legal is a WorkloadChange in the registry's framing: a zero byte, four bytes of schema id, Avro"
              .formatted(
                  value == null
                      ? "no value"
                      : value.length == 0
                          ? "an empty value"
                          : value.length + " bytes that begin with " + (value[0] & 0xff)));
    }
    int schemaId = ByteBuffer.wrap(value).getInt(1);
    // The schema comes first and apart: only a registry that does not answer is worth another try,
    // and Avro's own errors
    // must not be taken for one.
    DatumReader<io.shardtide.avro.WorkloadChange> reader =
        readers.computeIfAbsent(schemaId, this::reader);
    try {
      BinaryDecoder avro =
          DecoderFactory.get()
              .binaryDecoder(value, HEADER_BYTES, value.length - HEADER_BYTES, null);
      return Codec.WORKLOAD_CHANGE.fromAvro().apply(reader.read(null, avro));
    } catch (RejectedException e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      throw new RejectedException(
          RejectionReason.UNDECODABLE,
          "The record of %d bytes with schema id %d cannot be read as a WorkloadChange, which is what is legal here: %s"
              .formatted(value.length, schemaId, rootMessage(e)));
    }
  }

  private DatumReader<io.shardtide.avro.WorkloadChange> reader(int schemaId) {
    Schema writer = registry.writerSchema(schemaId);
    if (writer == null) {
      throw new RejectedException(
          RejectionReason.UNKNOWN_SCHEMA,
          "The record names schema id %d; legal are ids that the registry at %s has. Maybe it was written with another registry"
              .formatted(schemaId, registry.url()));
    }
    return new SpecificDatumReader<>(
        writer,
        Codec.WORKLOAD_CHANGE.schema(),
        SpecificData.getForClass(io.shardtide.avro.WorkloadChange.class));
  }

  private static String rootMessage(Throwable error) {
    Throwable root = error;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return root.getClass().getSimpleName()
        + (root.getMessage() == null ? "" : ": " + root.getMessage());
  }
}
