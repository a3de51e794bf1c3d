package io.shardtide.wire;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.SchemaCompatibility.SchemaCompatibilityType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Schemas are a contract: documented, and evolving so that a new reader reads all old records. */
class SchemaTest {
  private static final Path RELEASED = Path.of("avro/released");
  private static final Path NEXT = Path.of("avro/next");

  static Stream<Codec<?, ?>> codecs() {
    return Stream.of(
        Codec.WORKLOAD_CHANGE,
        Codec.COST_PREDICTIONS,
        Codec.SHARDING_PLAN,
        Codec.INFEASIBLE_WORKLOAD,
        Codec.REJECTED_EVENT,
        Codec.QUARANTINE,
        Codec.HELD_RECORD,
        Codec.MODEL_BUNDLE,
        Codec.TABLE_SPEC,
        Codec.DATED_PREDICTION,
        Codec.WORKLOAD_HEADER,
        Codec.PLAN_STATUS,
        Codec.ACCEPTED_STATUS,
        Codec.PLANNING_HEADER,
        Codec.MEASURED_COSTS,
        Codec.COST_SAMPLE,
        Codec.DEVICE_SPEEDS,
        Codec.DRIFT_ALARM,
        Codec.MODEL_DECISION,
        Codec.FEEDBACK_HEADER,
        Codec.RESIDUAL_WINDOW,
        Codec.DATED_TABLE,
        Codec.TRAINING_STATE,
        Codec.POOL_CHANGE,
        Codec.CURVE_REQUEST,
        Codec.CURVE_REPORT,
        Codec.ALLOCATION,
        Codec.POOL_HEADER,
        Codec.POOL_MEMBER,
        Codec.CURVE_HEADER,
        Codec.FILL_REPORT,
        Codec.TABLE_FORECASTS,
        Codec.GROWTH_HEADER,
        Codec.TABLE_GROWTH);
  }

  /** Returns a record's schemas: of each release, and of today. */
  static List<Schema> versions(Codec<?, ?> codec) {
    List<Schema> versions = new ArrayList<>(StoreSerdes.released(codec.avroType().getSimpleName()));
    versions.add(Registry.published(codec));
    return versions;
  }

  /**
   * The next release's schemas are those of today, each in one file. Run this test once with {@code
   * -Dschemas.write=true} after a change, and commit what it writes.
   */
  @ParameterizedTest
  @MethodSource("codecs")
  void a_schema_is_that_of_the_next_release(Codec<?, ?> codec) throws IOException {
    Path file = NEXT.resolve(codec.avroType().getSimpleName() + ".avsc");
    String current = pretty(Registry.published(codec));
    if (Boolean.getBoolean("schemas.write")) {
      Files.writeString(file, current);
    }
    assertThat(file).hasContent(current);
  }

  @Test
  void the_next_release_has_no_other_schemas() {
    List<String> records = codecs().map(codec -> codec.avroType().getSimpleName()).toList();
    assertThat(NEXT.toFile().list())
        .containsExactlyInAnyOrderElementsOf(records.stream().map(r -> r + ".avsc").toList());
    assertThat(RELEASED.resolve("0.2.0").toFile().list())
        .hasSize((int) records.stream().filter(r -> !StoreSerdes.released(r).isEmpty()).count());
  }

  private static String pretty(Schema schema) throws IOException {
    return new ObjectMapper().readTree(schema.toString()).toPrettyString() + "\n";
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void a_schema_reads_every_release(Codec<?, ?> codec) {
    for (Schema writer : versions(codec)) {
      assertThat(incompatibility(codec.schema(), writer)).isEmpty();
    }
  }

  /** The check above can fail: dropping a default, and changing a type, are found. */
  @Test
  void a_schema_that_cannot_read_an_old_one_is_found() {
    Schema old = schema("{\"name\":\"a\",\"type\":\"int\"}");
    assertThat(incompatibility(schema("{\"name\":\"a\",\"type\":\"long\"}"), old)).isEmpty();
    assertThat(incompatibility(schema("{\"name\":\"a\",\"type\":\"string\"}"), old)).isNotEmpty();
    assertThat(
            incompatibility(
                schema("{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"b\",\"type\":\"int\"}"), old))
        .isNotEmpty();
  }

  /** {@link StoreSerdes} writes stores in older schemas, whose fields it takes by position. */
  @ParameterizedTest
  @MethodSource("codecs")
  void new_fields_come_last(Codec<?, ?> codec) {
    List<Schema> versions = versions(codec);
    for (int version = 1; version < versions.size(); version++) {
      Map<String, List<String>> fields = fields(versions.get(version));
      fields(versions.get(version - 1))
          .forEach(
              (record, before) ->
                  assertThat(fields.get(record)).startsWith(before.toArray(String[]::new)));
    }
  }

  /** Returns the names of the fields of all records in a schema, by the record's name. */
  private static Map<String, List<String>> fields(Schema schema) {
    return named(schema).stream()
        .filter(of -> of.getType() == Schema.Type.RECORD)
        .collect(
            Collectors.toMap(
                Schema::getFullName,
                of -> of.getFields().stream().map(Schema.Field::name).toList()));
  }

  /** Returns the records and enums in a schema, each once. */
  private static Collection<Schema> named(Schema schema) {
    Map<String, Schema> named = new LinkedHashMap<>();
    addNamed(schema, named);
    return named.values();
  }

  private static void addNamed(Schema schema, Map<String, Schema> named) {
    switch (schema.getType()) {
      case RECORD -> {
        if (named.putIfAbsent(schema.getFullName(), schema) == null) {
          schema.getFields().forEach(field -> addNamed(field.schema(), named));
        }
      }
      case ENUM -> named.put(schema.getFullName(), schema);
      case ARRAY -> addNamed(schema.getElementType(), named);
      case MAP -> addNamed(schema.getValueType(), named);
      case UNION -> schema.getTypes().forEach(type -> addNamed(type, named));
      default -> {}
    }
  }

  private static Schema schema(String fields) {
    return new Schema.Parser()
        .parse("{\"type\":\"record\",\"name\":\"R\",\"fields\":[" + fields + "]}");
  }

  private static String incompatibility(Schema reader, Schema writer) {
    var result = SchemaCompatibility.checkReaderWriterCompatibility(reader, writer);
    return result.getType() == SchemaCompatibilityType.COMPATIBLE ? "" : result.getDescription();
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void everything_is_documented(Codec<?, ?> codec) {
    List<String> undocumented = new ArrayList<>();
    for (Schema schema : named(codec.schema())) {
      check(schema.getFullName(), schema.getDoc(), undocumented);
      if (schema.getType() == Schema.Type.RECORD) {
        schema
            .getFields()
            .forEach(
                field ->
                    check(schema.getFullName() + "." + field.name(), field.doc(), undocumented));
      }
    }
    assertThat(undocumented).isEmpty();
  }

  /**
   * Python's avro refuses to read a record without the field if the default of a double is an
   * integer.
   */
  @ParameterizedTest
  @MethodSource("codecs")
  void the_default_of_a_double_has_a_point(Codec<?, ?> codec) throws IOException {
    List<String> integers = new ArrayList<>();
    for (JsonNode field :
        new ObjectMapper().readTree(codec.schema().toString()).findParents("default")) {
      JsonNode type = field.get("type").isArray() ? field.get("type").get(0) : field.get("type");
      if (Set.of("double", "float").contains(type.asText()) && field.get("default").isInt()) {
        integers.add(field.get("name").textValue());
      }
    }
    assertThat(integers).isEmpty();
  }

  private static void check(String name, String doc, List<String> undocumented) {
    if (doc == null || doc.isBlank()) {
      undocumented.add(name);
    }
  }

  @Test
  void every_file_in_avro_is_in_use() throws IOException {
    List<String> names = new ArrayList<>();
    codecs().forEach(codec -> names.add(codec.schema().toString()));
    try (Stream<Path> files = Files.list(Path.of("avro"))) {
      files
          .filter(file -> file.toString().endsWith(".avsc"))
          .forEach(
              file -> {
                try {
                  String name = new ObjectMapper().readTree(file.toFile()).get("name").textValue();
                  assertThat(file.getFileName()).hasToString(name + ".avsc");
                  assertThat(names).anyMatch(text -> text.contains("\"name\":\"" + name + "\""));
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
    }
  }
}
