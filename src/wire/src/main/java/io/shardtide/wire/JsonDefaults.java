package io.shardtide.wire;

import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.io.JsonEncoder;

/**
 * Adds the defaults of fields that a value in Avro's JSON encoding leaves out, which Avro's JSON
 * decoder requires: lines of earlier versions lack the fields that were added since.
 */
final class JsonDefaults {
  private static final ObjectMapper JSON =
      JsonMapper.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();

  private JsonDefaults() {}

  /**
   * Returns a line with all fields that have a default.
   *
   * @throws IOException if it is not JSON
   */
  static String complete(Schema schema, String line) throws IOException {
    JsonNode value = JSON.readTree(line);
    return complete(schema, value) ? JSON.writeValueAsString(value) : line;
  }

  /** Adds what is missing; returns whether anything was. What does not match is left as it is. */
  private static boolean complete(Schema schema, JsonNode value) throws IOException {
    boolean changed = false;
    switch (schema.getType()) {
      case RECORD -> {
        if (value instanceof ObjectNode fields) {
          for (Schema.Field field : schema.getFields()) {
            JsonNode given = fields.get(field.name());
            if (given != null) {
              changed |= complete(field.schema(), given);
            } else if (field.hasDefaultValue()) {
              fields.set(field.name(), defaultOf(field));
              changed = true;
            }
          }
        }
      }
      case ARRAY -> {
        for (JsonNode item : value) {
          changed |= complete(schema.getElementType(), item);
        }
      }
      case UNION -> {
        for (Schema branch : schema.getTypes()) {
          JsonNode given = value.get(branch.getFullName());
          if (given != null) {
            changed |= complete(branch, given);
          }
        }
      }
      default -> {}
    }
    return changed;
  }

  private static JsonNode defaultOf(Schema.Field field) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    JsonEncoder encoder = EncoderFactory.get().jsonEncoder(field.schema(), out);
    Object value = GenericData.get().getDefaultValue(field);
    new GenericDatumWriter<>(field.schema()).write(value, encoder);
    encoder.flush();
    return JSON.readTree(out.toByteArray());
  }
}
