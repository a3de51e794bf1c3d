package io.shardtide.web;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import java.io.IOException;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;

/** The JSON of the API. */
final class ApiJson {
  private ApiJson() {}

  /**
   * Returns a mapper that writes empty optional values as null, and times in UTC with exactly three
   * decimals, so that they compare as text as they do as times. Plans are flat, see {@link
   * FlatPlanJson}.
   */
  static ObjectMapper mapper() {
    return new ObjectMapper()
        .registerModules(
            new Jdk8Module(),
            new JavaTimeModule(),
            new FlatPlanJson(),
            new SimpleModule().addSerializer(Instant.class, new InstantText()));
  }

  private static final class InstantText extends StdSerializer<Instant> {
    private static final DateTimeFormatter MILLISECONDS =
        new DateTimeFormatterBuilder().appendInstant(3).toFormatter();

    InstantText() {
      super(Instant.class);
    }

    @Override
    public void serialize(Instant time, JsonGenerator json, SerializerProvider provider)
        throws IOException {
      json.writeString(MILLISECONDS.format(time));
    }
  }
}
