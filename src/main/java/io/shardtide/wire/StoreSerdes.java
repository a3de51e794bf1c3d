package io.shardtide.wire;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.message.BinaryMessageDecoder;
import org.apache.avro.message.BinaryMessageEncoder;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificRecord;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;

/**
 * Serdes of state stores: Avro's single-object encoding, which carries the schema's fingerprint.
 * Stores work without the registry, so that an outage does not affect them.
 */
public final class StoreSerdes {
  private StoreSerdes() {}

  /**
   * Returns every released version of a record's schema, with which older versions of Shardtide may
   * have written a store.
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

  /** Returns the serde of a codec. */
  public static <V, A extends SpecificRecord> Serde<V> of(Codec<V, A> codec) {
    SpecificData data = SpecificData.getForClass(codec.avroType());
    BinaryMessageEncoder<A> encoder = new BinaryMessageEncoder<>(data, codec.schema());
    BinaryMessageDecoder<A> decoder = new BinaryMessageDecoder<>(data, codec.schema());
    released(codec.avroType().getSimpleName()).forEach(decoder::addSchema);
    return Serdes.serdeFrom(
        (topic, value) -> {
          if (value == null) {
            return null;
          }
          try {
            ByteBuffer bytes = encoder.encode(codec.toAvro().apply(value));
            byte[] array = new byte[bytes.remaining()];
            bytes.get(array);
            return array;
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
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        });
  }
}
