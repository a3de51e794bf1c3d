package io.shardtide.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.models.UnionsByName;
import io.shardtide.wire.SmallRecords.Branch;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.avro.AvroTypeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.Decoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.specific.SpecificRecord;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Records of one version that another reads: each is read as what it is, or is an error. The writer
 * is Avro's own; small records are those in which a reader's limits of lengths are most in the way.
 */
class EarlierSchemasTest {
  private static final int DRAWN = 20;

  static Stream<Codec<?, ?>> codecs() {
    return SchemaTest.codecs();
  }

  private static Decoder decoder(byte[] bytes) {
    return DecoderFactory.get().binaryDecoder(bytes, null);
  }

  private static <A extends SpecificRecord> A read(Codec<?, A> codec, Schema writer, byte[] bytes)
      throws IOException {
    UnionsByName<A> reader = new UnionsByName<>(codec.avroType());
    reader.setSchema(writer);
    return reader.read(null, decoder(bytes));
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void small_records_of_every_release_are_read(Codec<?, ?> codec) throws IOException {
    for (Schema writer : SchemaTest.versions(codec)) {
      for (int seed = 0; seed < DRAWN; seed++) {
        Object written = new SmallRecords(seed).draw(writer);
        SmallRecords.assertSame(written, read(codec, writer, SmallRecords.bytes(writer, written)));
      }
    }
  }

  /** Versions that were released before this one read with Avro's own reader. */
  @ParameterizedTest
  @MethodSource("codecs")
  void an_earlier_version_takes_no_type_of_a_union_for_another(Codec<?, ?> codec)
      throws IOException {
    Schema writer = Registry.published(codec);
    for (Branch branch : SmallRecords.branches(writer)) {
      Object written = new SmallRecords(1).draw(writer, branch);
      byte[] bytes = SmallRecords.bytes(writer, written);
      for (Schema earlier : SchemaTest.versions(codec)) {
        Object read;
        try {
          read = new GenericDatumReader<>(writer, earlier).read(null, decoder(bytes));
        } catch (AvroTypeException e) {
          String unknown = e.getMessage().replaceFirst("^Found ([\\w.]+), expecting union.*", "$1");
          assertThat(SmallRecords.inside(writer)).anyMatch(of -> of.getFullName().equals(unknown));
          assertThat(SmallRecords.inside(earlier))
              .noneMatch(of -> of.getFullName().equals(unknown));
          continue;
        }
        SmallRecords.assertSame(written, read);
      }
    }
  }

  /**
   * This version reads a later one in which a union has one type more, with all fields of another.
   */
  @ParameterizedTest
  @MethodSource("codecs")
  void a_type_of_a_later_version_is_an_error_where_it_is_used(Codec<?, ?> codec)
      throws IOException {
    Schema current = Registry.published(codec);
    for (Branch branch : SmallRecords.branches(current)) {
      if (branch.type().getType() != Schema.Type.RECORD) {
        continue;
      }
      List<Schema.Field> fields = new ArrayList<>();
      branch.type().getFields().forEach(of -> fields.add(new Schema.Field(of, of.schema())));
      fields.add(new Schema.Field("more", Schema.create(Schema.Type.INT)));
      Schema later = Schema.createRecord("Later", null, "io.shardtide.avro", false, fields);
      Map<Schema, Schema> copies = new HashMap<>();
      Schema writer = with(later, branch.union(), current, copies);
      Schema union = copies.get(branch.union());

      Object unknown = new SmallRecords(1).draw(writer, new Branch(union, later));
      byte[] bytes = SmallRecords.bytes(writer, unknown);
      assertThatThrownBy(() -> read(codec, writer, bytes))
          .isInstanceOf(AvroTypeException.class)
          .hasMessageContaining("it has a Later where this version expects one of ")
          .hasMessageContaining(branch.type().getName());
      Schema known = union.getTypes().get(branch.union().getTypes().indexOf(branch.type()));
      Object written = new SmallRecords(1).draw(writer, new Branch(union, known));
      SmallRecords.assertSame(written, read(codec, writer, SmallRecords.bytes(writer, written)));
    }
  }

  /** Returns a copy of a schema in which a union has one type more. */
  private static Schema with(Schema type, Schema union, Schema schema, Map<Schema, Schema> copies) {
    Schema known = copies.get(schema);
    if (known != null) {
      return known;
    }
    Schema copy =
        switch (schema.getType()) {
          case RECORD -> {
            Schema record = Schema.createRecord(schema.getFullName(), null, null, false);
            copies.put(schema, record);
            List<Schema.Field> fields = new ArrayList<>();
            for (Schema.Field field : schema.getFields()) {
              fields.add(new Schema.Field(field, with(type, union, field.schema(), copies)));
            }
            record.setFields(fields);
            yield record;
          }
          case ARRAY -> Schema.createArray(with(type, union, schema.getElementType(), copies));
          case UNION -> {
            List<Schema> types = new ArrayList<>();
            schema.getTypes().forEach(of -> types.add(with(type, union, of, copies)));
            if (schema.equals(union)) {
              types.add(type);
            }
            yield Schema.createUnion(types);
          }
          default -> schema;
        };
    copies.put(schema, copy);
    return copy;
  }
}
