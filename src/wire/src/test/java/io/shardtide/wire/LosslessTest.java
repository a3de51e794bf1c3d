package io.shardtide.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.DatumReader;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificDatumReader;
import org.apache.avro.specific.SpecificRecord;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What is told of a value is what comes back when it is written and read. */
class LosslessTest {
  private static final int DRAWN = 200;

  static Stream<Codec<?, ?>> codecs() {
    return SchemaTest.codecs();
  }

  private static Object read(byte[] bytes, Schema writer, Schema reader) throws IOException {
    return new GenericDatumReader<>(writer, reader)
        .read(null, DecoderFactory.get().binaryDecoder(bytes, null));
  }

  private static boolean comesBack(Object value, Schema now, Schema earlier) {
    try {
      return read(SmallRecords.bytes(earlier, value), earlier, now).equals(value);
    } catch (IOException | AvroRuntimeException | ClassCastException | NullPointerException e) {
      return false;
    }
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void a_value_that_has_more_is_told(Codec<?, ?> codec) throws IOException {
    Schema now = Registry.published(codec);
    for (Schema earlier : SchemaTest.versions(codec)) {
      Predicate<Object> lossless = Lossless.in(GenericData.get(), now, earlier);
      for (int seed = 0; seed < DRAWN; seed++) {
        byte[] drawn = SmallRecords.bytes(now, new SmallRecords(seed).draw(now));
        Object value = read(drawn, now, now);
        assertThat(lossless.test(value)).as("%s", value).isEqualTo(comesBack(value, now, earlier));
      }
    }
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void a_value_of_an_earlier_version_is_told(Codec<?, ?> codec) throws IOException {
    for (Schema earlier : SchemaTest.versions(codec)) {
      assertAllAreTold(GenericData.get(), Registry.published(codec), earlier);
    }
  }

  /** The same of the values that stores write, whose classes have defaults of their own. */
  @ParameterizedTest
  @MethodSource("codecs")
  void a_value_of_an_earlier_version_goes_back_into_a_store_as_it_was(Codec<?, ?> codec)
      throws IOException {
    for (Schema earlier : StoreSerdes.released(codec.avroType().getSimpleName())) {
      assertAllAreTold(SpecificData.getForClass(codec.avroType()), codec.schema(), earlier);
    }
  }

  /** The text form of every record: what export writes, and commands print as JSON. */
  @ParameterizedTest
  @MethodSource("codecs")
  <A extends SpecificRecord> void a_record_is_read_from_its_line_of_json(Codec<?, A> codec)
      throws IOException {
    JsonLines<A, A> lines =
        new JsonLines<>(
            new Codec<>(codec.avroType(), UnaryOperator.identity(), UnaryOperator.identity()));
    Schema schema = codec.schema();
    DatumReader<A> reader =
        new SpecificDatumReader<>(schema, schema, SpecificData.getForClass(codec.avroType()));
    for (int seed = 0; seed < DRAWN; seed++) {
      byte[] drawn = SmallRecords.bytes(schema, new SmallRecords(seed).draw(schema));
      A record = reader.read(null, DecoderFactory.get().binaryDecoder(drawn, null));
      assertThat(lines.read(lines.write(record))).isEqualTo(record);
    }
  }

  private static void assertAllAreTold(GenericData data, Schema now, Schema earlier)
      throws IOException {
    Predicate<Object> lossless = Lossless.in(data, now, earlier);
    DatumReader<?> reader = data.createDatumReader(earlier, now);
    for (int seed = 0; seed < DRAWN; seed++) {
      byte[] drawn = SmallRecords.bytes(earlier, new SmallRecords(seed).draw(earlier));
      assertThat(lossless)
          .accepts(reader.read(null, DecoderFactory.get().binaryDecoder(drawn, null)));
    }
  }
}
