package io.shardtide.wire;

import io.shardtide.workload.Names;
import io.shardtide.workload.RejectedException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.io.JsonEncoder;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificDatumReader;
import org.apache.avro.specific.SpecificDatumWriter;
import org.apache.avro.specific.SpecificRecord;

/**
 * One value per line, in Avro's JSON encoding: the format of events files and plans files.
 *
 * @param <V> type of the values
 * @param <A> the generated Avro record
 */
public final class JsonLines<V, A extends SpecificRecord> {
  private static final int MAX_REASON = 300;

  private final Codec<V, A> codec;
  private final SpecificDatumWriter<A> writer;
  private final SpecificDatumReader<A> reader;

  /** Reads and writes values of a codec. */
  public JsonLines(Codec<V, A> codec) {
    this.codec = codec;
    SpecificData data = SpecificData.getForClass(codec.avroType());
    writer = new SpecificDatumWriter<>(codec.schema(), data);
    reader = new SpecificDatumReader<>(codec.schema(), codec.schema(), data);
  }

  /** Returns a value as a line, without the line's end. */
  public String write(V value) {
    try (ByteArrayOutputStream out = new ByteArrayOutputStream()) {
      JsonEncoder encoder = EncoderFactory.get().jsonEncoder(codec.schema(), out);
      writer.write(codec.toAvro().apply(value), encoder);
      encoder.flush();
      return out.toString(StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Returns the value of a line. Fields that it leaves out have their defaults.
   *
   * @throws IllegalArgumentException if the line is not such a record, or a field is outside its
   *     range
   */
  public V read(String line) {
    try {
      String complete = JsonDefaults.complete(codec.schema(), line);
      return codec
          .fromAvro()
          .apply(reader.read(null, DecoderFactory.get().jsonDecoder(codec.schema(), complete)));
    } catch (RejectedException e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      // Avro throws various exceptions, for instance at a missing entry of its own maps.
      throw new IllegalArgumentException(
          "Not a %s in Avro's JSON encoding: %s"
              .formatted(codec.avroType().getSimpleName(), shown(e.getMessage())),
          e);
    }
  }

  /** Returns a library's message on one short line. */
  private static String shown(String message) {
    String line =
        message == null ? "no reason given" : message.replaceAll("[\\p{Cntrl}\\s]+", " ").strip();
    return Names.cut(line, MAX_REASON);
  }
}
