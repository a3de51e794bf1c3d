package io.shardtide.models;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.avro.AvroTypeException;
import org.apache.avro.Schema;
import org.apache.avro.io.DatumReader;
import org.apache.avro.io.Decoder;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificDatumReader;
import org.apache.avro.specific.SpecificRecord;

/**
 * Reads records of any writer's schema; a record in a union is read as the type of its own name, or
 * not at all. Where the reader's union lacks that name, Avro's own readers take the first record
 * whose fields are all there: a later version's change of a table may be read as its removal.
 *
 * @param <A> the generated class
 */
public final class UnionsByName<A extends SpecificRecord> implements DatumReader<A> {
  /** A property of records that the reader's union lacks: the names that it has. */
  private static final String EXPECTED = "expected";

  private final Schema reader;
  private final SpecificData data;
  private DatumReader<A> avro;

  /**
   * @param type the generated class, whose schema is the reader's
   */
  public UnionsByName(Class<A> type) {
    data = SpecificData.getForClass(type);
    reader = data.getSchema(type);
    avro = new SpecificDatumReader<>(type);
  }

  @Override
  public void setSchema(Schema writer) {
    Branches branches = new Branches();
    Schema all = branches.with(Schema.applyAliases(writer, reader), reader);
    avro =
        branches.missing
            ? new SpecificDatumReader<>(writer, all, new Refusing(data))
            : new SpecificDatumReader<>(writer, reader, data);
  }

  /**
   * {@inheritDoc}
   *
   * @throws AvroTypeException also if a union of the record has a type that the reader's lacks
   */
  @Override
  public A read(A reuse, Decoder in) throws IOException {
    return avro.read(reuse, in);
  }

  /** Adds to the reader's unions the records of the writer's that they lack. */
  private static final class Branches {
    private final Map<List<String>, Schema> records = new HashMap<>();
    private boolean missing;

    Schema with(Schema writer, Schema reader) {
      boolean isUnion = reader.getType() == Schema.Type.UNION;
      if (!isUnion && writer.getType() != Schema.Type.UNION) {
        return inside(writer, reader);
      }
      List<Schema> written = types(writer);
      List<Schema> read = types(reader);
      List<Schema> all = new ArrayList<>();
      for (Schema type : read) {
        all.add(
            written.stream()
                .filter(of -> of.getFullName().equals(type.getFullName()))
                .findFirst()
                .map(of -> inside(of, type))
                .orElse(type));
      }
      String expected =
          read.stream()
              .filter(type -> type.getType() == Schema.Type.RECORD)
              .map(Schema::getName)
              .collect(Collectors.joining(", "));
      for (Schema type : written) {
        if (type.getType() == Schema.Type.RECORD
            && !expected.isEmpty()
            && read.stream().noneMatch(of -> of.getFullName().equals(type.getFullName()))) {
          Schema lacked =
              Schema.createRecord(type.getName(), null, type.getNamespace(), false, List.of());
          lacked.addProp(EXPECTED, expected);
          all.add(lacked);
          missing = true;
        }
      }
      return isUnion || all.size() > 1 ? Schema.createUnion(all) : all.get(0);
    }

    private static List<Schema> types(Schema schema) {
      return schema.getType() == Schema.Type.UNION ? schema.getTypes() : List.of(schema);
    }

    private Schema inside(Schema writer, Schema reader) {
      if (writer.getType() != reader.getType()) {
        return reader;
      }
      return switch (reader.getType()) {
        case ARRAY ->
            as(reader, Schema.createArray(with(writer.getElementType(), reader.getElementType())));
        case MAP ->
            as(reader, Schema.createMap(with(writer.getValueType(), reader.getValueType())));
        case RECORD -> {
          List<String> names = List.of(writer.getFullName(), reader.getFullName());
          Schema known = records.get(names);
          yield known == null ? fields(writer, reader, names) : known;
        }
        default -> reader;
      };
    }

    private static Schema as(Schema reader, Schema made) {
      made.addAllProps(reader);
      return made;
    }

    private Schema fields(Schema writer, Schema reader, List<String> names) {
      Schema record =
          Schema.createRecord(reader.getName(), reader.getDoc(), reader.getNamespace(), false);
      record.addAllProps(reader);
      // Before its fields: a record may contain itself.
      records.put(names, record);
      record.setFields(
          reader.getFields().stream()
              .map(
                  field -> {
                    Schema.Field written = writer.getField(field.name());
                    return new Schema.Field(
                        field,
                        written == null ? field.schema() : with(written.schema(), field.schema()));
                  })
              .toList());
      return record;
    }
  }

  /** Refuses to create a record that a union of the reader lacks. */
  private static final class Refusing extends SpecificData {
    Refusing(SpecificData of) {
      super(of.getClassLoader());
      of.getConversions().forEach(this::addLogicalTypeConversion);
    }

    @Override
    public Object newRecord(Object old, Schema schema) {
      String expected = schema.getProp(EXPECTED);
      if (expected != null) {
        throw new AvroTypeException(
            "it has a %s where this version expects one of %s. Maybe a later version wrote it: upgrade this one first"
                .formatted(schema.getName(), expected));
      }
      return super.newRecord(old, schema);
    }
  }
}
