package io.shardtide.wire;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.message.BinaryMessageDecoder;
import org.apache.avro.message.BinaryMessageEncoder;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificRecord;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Utils;

/**
 * Serdes of state stores: Avro's single-object encoding, which carries the schema's fingerprint.
 * Stores work without the registry, so that an outage does not affect them.
 */
public final class StoreSerdes {
  private StoreSerdes() {}

  /** Releases that may have written a store which this version reads, the oldest first. */
  @ForUpgradeFrom("0.2.0")
  private static final List<String> RELEASES = List.of("0.2.0");

  /** Returns a record's schema in each release since 0.2.0 that had it. */
  static List<Schema> released(String record) {
    return RELEASES.stream()
        .map(release -> "/avro/released/%s/%s.avsc".formatted(release, record))
        .flatMap(name -> Optional.ofNullable(StoreSerdes.class.getResourceAsStream(name)).stream())
        .map(StoreSerdes::parsed)
        .toList();
  }

  private static Schema parsed(InputStream file) {
    try (file) {
      return new Schema.Parser().parse(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Returns the serde of a codec. It writes in the oldest schema since 0.2.0 that loses nothing: so
   * that earlier versions can read the store again if an upgrade is taken back.
   */
  public static <V, A extends SpecificRecord> Serde<V> of(Codec<V, A> codec) {
    SpecificData data = SpecificData.getForClass(codec.avroType());
    BinaryMessageDecoder<A> decoder = new BinaryMessageDecoder<>(data, codec.schema());
    List<Version<A>> versions =
        Stream.concat(
                released(codec.avroType().getSimpleName()).stream(), Stream.of(codec.schema()))
            .map(schema -> Version.<A>of(data, codec.schema(), schema))
            .toList();
    versions.forEach(version -> decoder.addSchema(version.schema()));
    return Serdes.serdeFrom(
        (topic, value) -> {
          if (value == null) {
            return null;
          }
          try {
            A record = codec.toAvro().apply(value);
            // The last one, of today, has all of each record.
            Version<A> oldest =
                versions.stream().filter(v -> v.hasAllOf().test(record)).findFirst().orElseThrow();
            return Utils.toArray(oldest.encoder().encode(record));
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
                            codec.avroType().getSimpleName(), bytes.length, Causes.describe(e)));
            invalid.addSuppressed(e);
            throw invalid;
          }
        });
  }

  /**
   * @param hasAllOf whether it has all of a record of today
   */
  private record Version<A>(
      Schema schema, BinaryMessageEncoder<A> encoder, Predicate<Object> hasAllOf) {
    static <A> Version<A> of(SpecificData data, Schema now, Schema schema) {
      return new Version<>(
          schema, new BinaryMessageEncoder<>(data, schema, true), Lossless.in(data, now, schema));
    }
  }
}
