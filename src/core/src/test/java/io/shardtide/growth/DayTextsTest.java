package io.shardtide.growth;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DayTextsTest {
  @ParameterizedTest
  @CsvSource({
    "3.2, 2.6, 4.1, 3.2 days (2.6 to 4.1)",
    "20, 9, 190, 20 days (9.0 to more than 180 days)",
    "1.5, 0.5, 3, 36 hours (12 to 72)",
    "0.01, 0.001, 0.02, 14 minutes (1.4 to 29)",
    "0.0002, 0.0001, 0.01, 17 seconds (8.6 to 864)",
    "0, 0, 0, 0.0 days (0.0 to 0.0)",
    "Infinity, 0.0002, Infinity, 17 seconds at the earliest",
    "Infinity, 100, Infinity, 100 days at the earliest"
  })
  void ranges_have_the_unit_of_their_median(double median, double low, double high, String text) {
    assertThat(DayTexts.of(new Range(low, median, high))).isEqualTo(text);
  }
}
