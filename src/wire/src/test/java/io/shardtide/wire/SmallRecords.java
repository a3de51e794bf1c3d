package io.shardtide.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;

/** Records of any schema with drawn values and short lists. */
final class SmallRecords {
  /**
   * Depth from which optional values are missing, and lists empty: some records contain themselves.
   */
  private static final int DEEP = 12;

  private final Random random;
  private int depth;

  SmallRecords(long seed) {
    random = new Random(seed);
  }

  /** A union in a schema, and one of its types. */
  record Branch(Schema union, Schema type) {}

  /** Returns each type of each union in a schema. */
  static List<Branch> branches(Schema schema) {
    List<Branch> branches = new ArrayList<>();
    for (Schema union : inside(schema)) {
      if (union.isUnion()) {
        union.getTypes().forEach(type -> branches.add(new Branch(union, type)));
      }
    }
    return branches;
  }

  /** Returns a schema and all in it, each once. */
  static Set<Schema> inside(Schema schema) {
    Set<Schema> all = new LinkedHashSet<>();
    add(schema, all);
    return all;
  }

  private static void add(Schema schema, Set<Schema> all) {
    if (all.add(schema)) {
      parts(schema).forEach(part -> add(part, all));
    }
  }

  private static List<Schema> parts(Schema schema) {
    return switch (schema.getType()) {
      case RECORD -> schema.getFields().stream().map(Schema.Field::schema).toList();
      case ARRAY -> List.of(schema.getElementType());
      case MAP -> List.of(schema.getValueType());
      case UNION -> schema.getTypes();
      default -> List.of();
    };
  }

  /** Returns a value. */
  Object draw(Schema schema) {
    return draw(schema, new Branch(null, null));
  }

  /** Returns a value in which one union, wherever it is, has one of its types. */
  Object draw(Schema schema, Branch branch) {
    depth++;
    Object drawn = drawPart(schema, branch);
    depth--;
    return drawn;
  }

  private Object drawPart(Schema schema, Branch branch) {
    boolean towards = depth < DEEP && branch.union != null && inside(schema).contains(branch.union);
    return switch (schema.getType()) {
      case RECORD -> {
        GenericData.Record record = new GenericData.Record(schema);
        schema.getFields().forEach(field -> record.put(field.pos(), draw(field.schema(), branch)));
        yield record;
      }
      case ARRAY -> {
        List<Object> items = new ArrayList<>();
        for (int left = towards ? 1 : random.nextInt(depth < DEEP ? 3 : 1); left > 0; left--) {
          items.add(draw(schema.getElementType(), branch));
        }
        yield items;
      }
      case MAP -> Map.of("key", draw(schema.getValueType(), branch));
      case UNION -> {
        Schema type =
            schema.getTypes().get(random.nextInt(depth < DEEP ? schema.getTypes().size() : 1));
        if (towards && schema.equals(branch.union)) {
          type = branch.type;
        } else if (towards) {
          type =
              schema.getTypes().stream()
                  .filter(of -> inside(of).contains(branch.union))
                  .findFirst()
                  .orElseThrow();
        }
        yield draw(type, branch);
      }
      case ENUM ->
          new GenericData.EnumSymbol(
              schema, schema.getEnumSymbols().get(random.nextInt(schema.getEnumSymbols().size())));
      case STRING ->
          schema.getLogicalType() == null
              ? "text".substring(random.nextInt(5))
              : new UUID(random.nextLong(), random.nextLong()).toString();
      case BYTES -> ByteBuffer.wrap(new byte[random.nextInt(3)]);
      case INT -> random.nextInt(100);
      case LONG -> (long) random.nextInt(100);
      case FLOAT -> random.nextFloat();
      case DOUBLE -> random.nextDouble();
      case BOOLEAN -> random.nextBoolean();
      case NULL -> null;
      default -> throw new IllegalArgumentException("No value is drawn of " + schema);
    };
  }

  /** Returns the bytes of a value. */
  static byte[] bytes(Schema schema, Object value) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(out, null);
    new GenericDatumWriter<>(schema).write(value, encoder);
    return out.toByteArray();
  }

  /** Checks that what was read has the names and values of what was written. */
  static void assertSame(Object written, Object read) {
    if (written instanceof IndexedRecord from) {
      assertThat(read).isInstanceOf(IndexedRecord.class);
      IndexedRecord to = (IndexedRecord) read;
      assertThat(to.getSchema().getFullName()).isEqualTo(from.getSchema().getFullName());
      for (Schema.Field field : to.getSchema().getFields()) {
        Schema.Field before = from.getSchema().getField(field.name());
        if (before != null) {
          assertSame(from.get(before.pos()), to.get(field.pos()));
        }
      }
    } else if (written instanceof List<?> from) {
      assertThat(read).isInstanceOf(List.class);
      assertThat((List<?>) read).hasSameSizeAs(from);
      for (int item = 0; item < from.size(); item++) {
        assertSame(from.get(item), ((List<?>) read).get(item));
      }
    } else if (written instanceof Number from) {
      assertThat(read instanceof java.time.Instant at ? at.toEpochMilli() : read)
          .isInstanceOf(Number.class)
          .satisfies(to -> assertThat(((Number) to).doubleValue()).isEqualTo(from.doubleValue()));
    } else {
      assertThat(String.valueOf(read)).isEqualTo(String.valueOf(written));
    }
  }
}
