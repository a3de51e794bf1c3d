package io.shardtide.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;

/** The JSON that commands print with {@code --json}: times in ISO 8601, absent values as null. */
final class JsonText {
  private static final ObjectMapper MAPPER =
      new ObjectMapper()
          .registerModules(new Jdk8Module(), new JavaTimeModule())
          .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS);

  private JsonText() {}

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
