package io.shardtide.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;

/** The JSON that commands print: times in ISO 8601, absent values as null. */
final class JsonText {
  private static final ObjectMapper MAPPER =
      new ObjectMapper()
          .registerModules(new Jdk8Module(), new JavaTimeModule())
          .enable(SerializationFeature.WRITE_ENUMS_USING_TO_STRING)
          .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS);

  private JsonText() {}

  /** Returns a record as a tree, as its schema has it. */
  static <V> JsonNode tree(Codec<V, ?> codec, V value) {
    try {
      return MAPPER.readTree(new JsonLines<>(codec).write(value));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("A record is not written as JSON", e);
    }
  }

  /** Returns a value on several lines, with a line's end. */
  static String pretty(Object value) {
    return text(MAPPER.writerWithDefaultPrettyPrinter(), value) + System.lineSeparator();
  }

  /** Returns a value on one line, with its end. */
  static String line(Object value) {
    return text(MAPPER.writer(), value) + System.lineSeparator();
  }

  private static String text(ObjectWriter writer, Object value) {
    try {
      return writer.writeValueAsString(value);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("A value cannot be written as JSON", e);
    }
  }
}
