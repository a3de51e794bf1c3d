package io.shardtide.wire;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import org.apache.avro.message.BinaryMessageDecoder;
import org.apache.avro.message.BinaryMessageEncoder;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificRecord;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;

/**
 * Serdes of state stores: Avro's single-object encoding, which carries the schema's fingerprint.
 * Stores are read and written without the registry, so that its absence never stops what is already
 * known.
 */
public final class StoreSerdes {
  private StoreSerdes() {}

  /** Returns a serde of a kind of value. */
  public static <V, A extends SpecificRecord> Serde<V> of(Codec<V, A> codec) {
    SpecificData data = SpecificData.getForClass(codec.avroType());
    BinaryMessageEncoder<A> encoder = new BinaryMessageEncoder<>(data, codec.schema());
    BinaryMessageDecoder<A> decoder = new BinaryMessageDecoder<>(data, codec.schema());
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
