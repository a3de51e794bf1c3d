package io.shardtide.web;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

class ApiJsonTest {
  private record SampleMeasurement(Instant at, OptionalDouble ratio, Optional<String> model) {}

  private static String json(String at) throws Exception {
    return ApiJson.mapper()
        .writeValueAsString(
            new SampleMeasurement(Instant.parse(at), OptionalDouble.empty(), Optional.empty()));
  }

  /** Java's own text omits decimals that are zero, and "...30Z" sorts after "...30.5Z". */
  @Test
  void times_have_three_decimals_and_sort_as_text() throws Exception {
    assertThat(json("2026-11-21T10:15:30Z"))
        .isEqualTo("{\"at\":\"2026-11-21T10:15:30.000Z\",\"ratio\":null,\"model\":null}")
        .isLessThan(json("2026-11-21T10:15:30.500Z"));
    assertThat(json("2026-11-21T10:15:30.123456789Z")).contains("10:15:30.123Z");
  }
}
