package io.shardtide.wire;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.message.BinaryMessageDecoder;
import org.apache.avro.message.BinaryMessageEncoder;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificRecord;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;

/**
 * Serdes of state stores: Avro's single-object encoding, which carries the schema's fingerprint.
 * Stores work without the registry, so that an outage does not affect them.
 */
public final class StoreSerdes {
  private StoreSerdes() {}

  /**
   * Returns every version of a record's schema since 0.2.0, with which an older version of
   * Shardtide may have written a store.
   */
  static List<Schema> released(String record) {
    List<Schema> schemas = new ArrayList<>();
    while (true) {
      String name = "/avro/released/%s/%d.avsc".formatted(record, schemas.size() + 1);
      try (InputStream in = StoreSerdes.class.getResourceAsStream(name)) {
        if (in == null) {
          return schemas;
        }
        schemas.add(new Schema.Parser().parse(in));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /**
   * Returns the serde of a codec. It writes in the oldest schema since 0.2.0 that loses nothing: so
   * that earlier versions can read the store again if an upgrade is taken back.
   */
  public static <V, A extends SpecificRecord> Serde<V> of(Codec<V, A> codec) {
    SpecificData data = SpecificData.getForClass(codec.avroType());
    List<Schema> released = released(codec.avroType().getSimpleName());
    BinaryMessageEncoder<A> encoder = new BinaryMessageEncoder<>(data, codec.schema());
    List<BinaryMessageEncoder<A>> older =
        released.stream()
            .limit(Math.max(0, released.size() - 1))
            .map(schema -> new BinaryMessageEncoder<A>(data, schema, true))
            .toList();
    BinaryMessageDecoder<A> decoder = new BinaryMessageDecoder<>(data, codec.schema());
    released.forEach(decoder::addSchema);
    return Serdes.serdeFrom(
        (topic, value) -> {
          if (value == null) {
            return null;
          }
          try {
            A record = codec.toAvro().apply(value);
            for (BinaryMessageEncoder<A> earlier : older) {
              Optional<byte[]> written = lossless(earlier, decoder, record);
              if (written.isPresent()) {
                return written.get();
              }
            }
            return bytes(encoder.encode(record));
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        },
        (topic, bytes) -> {
          if (bytes == null) {
            return null;
          }
          try {
            return codec.fromAvro().apply(decoder.decode(bytes));
          } catch (IOException | AvroRuntimeException e) {
            // Of the value alone: there is no disk and no network here, and no retry helps.
            SerializationException invalid =
                new SerializationException(
                    "A %s in a state store cannot be read: its %d bytes are cut off, damaged or of a later version (%s)"
                        .formatted(
                            codec.avroType().getSimpleName(),
                            bytes.length,
                            RecordDecoder.rootMessage(e)));
            invalid.addSuppressed(e);
            throw invalid;
          }
        });
  }

  /** Returns a record in an older schema, if that has all of it. */
  private static <A extends SpecificRecord> Optional<byte[]> lossless(
      BinaryMessageEncoder<A> older, BinaryMessageDecoder<A> decoder, A record) {
    try {
      byte[] bytes = bytes(older.encode(record));
      return record.equals(decoder.decode(bytes)) ? Optional.of(bytes) : Optional.empty();
    } catch (IOException | AvroRuntimeException | ClassCastException | NullPointerException e) {
      // A value, or an order of fields, that the older schema does not have.
      return Optional.empty();
    }
  }

  private static byte[] bytes(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }
}
