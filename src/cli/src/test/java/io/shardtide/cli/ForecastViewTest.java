package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.growth.MemoryEnd;
import io.shardtide.growth.Range;
import io.shardtide.growth.Resize;
import io.shardtide.growth.TableForecast;
import io.shardtide.growth.TableForecasts;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ForecastViewTest {
  private static final Instant TIME = Instant.parse("2026-11-27T10:00:00.123Z");
  private static final TableForecast ITEM =
      new TableForecast(
          "item",
          70_000,
          80_000,
          80_000,
          0,
          0,
          0,
          new Range(70_100, 70_200.4, 70_300),
          new Range(71_000, 72_000, 73_000),
          new Range(74_000, 76_000, 120_000),
          Optional.empty(),
          Optional.empty());
  private static final TableForecast USER =
      new TableForecast(
          "user",
          90_000_000,
          100_000_000,
          100_000_000,
          5,
          6,
          7,
          new Range(92_000_000, 93_000_000, 94_100_000),
          new Range(98_000_000, 110_000_000, 121_000_000),
          new Range(150_000_000, 999_600_000, 1_234_000_000),
          Optional.of(new Range(2.6, 3.2, 4.1)),
          Optional.empty());

  private static TableForecasts of(
      String workload, List<Resize> resizes, Optional<MemoryEnd> end, TableForecast... tables) {
    return new TableForecasts(
        workload, "r", TIME, 17, List.of(tables), resizes, end, Optional.empty());
  }

  @Test
  void each_table_has_a_row() {
    TableForecasts ads =
        of(
            "ads",
            List.of(new Resize("user", 150_000_000, "it is full in 3.2 days (2.6 to 4.1)")),
            Optional.empty(),
            ITEM,
            USER);
    assertThat(ForecastView.text(List.of(ads)))
        .isEqualTo(
            """
            workload  table         ids        slots   fill  ids in a day               in 7 days                  in 28 days               full in                 resized to  reported
            ads       item       70,000       80,000  87.5%  70,200 (70,100 to 70,300)  72,000 (71,000 to 73,000)  76,000 (74,000 to 120K)  not expected                     -  2026-11-27T10:00:00Z
            ads       user   90,000,000  100,000,000  90.0%  93M (92M to 94.1M)         110M (98M to 121M)         1B (150M to 1.23B)       3.2 days (2.6 to 4.1)  150,000,000  2026-11-27T10:00:00Z
            """);
  }

  /** A training job that has not loaded the plan reports the slots of the one before. */
  @Test
  void slots_that_were_given_by_an_earlier_report_are_shown_until_the_job_has_them() {
    TableForecast given =
        new TableForecast(
            "a",
            5,
            10,
            30,
            0,
            0,
            0,
            ITEM.inDay(),
            ITEM.inDay(),
            ITEM.inDay(),
            Optional.of(new Range(0, 0.5, Double.POSITIVE_INFINITY)),
            Optional.empty());
    assertThat(ForecastView.text(List.of(of("w", List.of(), Optional.empty(), given))).lines())
        .element(1)
        .asString()
        .contains("12 hours (0.0 to more than 180 days)          30  2026-");
  }

  @Test
  void the_end_of_memory_is_a_sentence_for_each_workload_that_has_one() {
    MemoryEnd end = new MemoryEnd(new Range(10, 12.4, 15), 3_435_973_837L);
    String text =
        ForecastView.text(
            List.of(
                of("ads", List.of(), Optional.empty(), ITEM),
                of("feed", List.of(), Optional.of(end), ITEM)));
    assertThat(text.lines().skip(3))
        .containsExactly(
            "feed: memory holds its tables for 12 days (10 to 15) after the report, whatever the plan; at the end",
            "of growth.warning.days, 3.3 GiB are missing. Add devices or host memory with at least as much in",
            "total, let tables evict ids, or drop tables.");
  }

  @Test
  void control_characters_of_names_are_not_printed() {
    MemoryEnd end = new MemoryEnd(new Range(1, 2, 3), 1);
    assertThat(ForecastView.text(List.of(of("a\u001b[31m", List.of(), Optional.of(end), ITEM))))
        .doesNotContain("\u001b")
        .contains("a\uFFFD[31m: memory holds");
  }

  @Test
  void without_forecasts_there_are_only_headings() {
    assertThat(ForecastView.text(List.of()).lines()).hasSize(1);
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "99999.4, '99,999'",
    "99999.6, 100K",
    "123456, 123K",
    "999600, 1M",
    "1236000, 1.24M",
    "98765432, 98.8M",
    "1e9, 1B",
    "1.5e12, 1.5T",
    "1.126e15, 1130T",
  })
  void numbers_of_ids_have_three_digits_once_they_are_large(double ids, String shown) {
    assertThat(ForecastView.about(ids)).isEqualTo(shown);
  }
}
