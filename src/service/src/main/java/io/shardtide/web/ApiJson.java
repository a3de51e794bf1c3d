package io.shardtide.web;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.StdDelegatingSerializer;
import com.fasterxml.jackson.databind.util.Converter;
import com.fasterxml.jackson.databind.util.StdConverter;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;

/** The JSON of the API. */
final class ApiJson {
  private static final DateTimeFormatter FORMAT =
      new DateTimeFormatterBuilder().appendInstant(3).toFormatter();

  private static final Converter<Instant, String> MILLISECONDS =
      new StdConverter<>() {
        @Override
        public String convert(Instant time) {
          return FORMAT.format(time);
        }
      };

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
            new SimpleModule()
                .addSerializer(new StdDelegatingSerializer(Instant.class, MILLISECONDS)));
  }
}
