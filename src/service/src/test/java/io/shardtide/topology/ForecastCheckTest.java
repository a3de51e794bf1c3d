package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.growth.MemoryEnd;
import io.shardtide.growth.Range;
import io.shardtide.growth.TableForecast;
import io.shardtide.growth.TableForecasts;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ForecastCheckTest {
  private static final Range IDS = new Range(1, 2, 3);
  private static final Optional<MemoryEnd> NEVER = Optional.empty();

  private static TableForecast table(String name, Optional<Range> days) {
    return new TableForecast(name, 1, 4, 4, 0, 0, 0, IDS, IDS, IDS, days, Optional.empty());
  }

  private static TableForecast full(String name, double days) {
    return table(name, Optional.of(new Range(days / 2, days, 2 * days)));
  }

  private static TableForecasts of(
      String workload, Optional<MemoryEnd> end, List<TableForecast> tables) {
    return new TableForecasts(
        workload,
        "r",
        Instant.parse("2026-11-27T10:00:00Z"),
        1,
        tables,
        List.of(),
        end,
        Optional.empty());
  }

  @Test
  void tables_that_are_full_later_or_never_are_no_finding() {
    CheckResult result =
        ForecastCheck.of(
            List.of(of("w", NEVER, List.of(table("a", Optional.empty()), full("b", 1.01)))));
    assertThat(result.status()).isEqualTo(CheckResult.CheckStatus.OK);
    assertThat(result.finding())
        .isEqualTo("no hashed table is full within a day, and memory holds all workloads");
    assertThat(ForecastCheck.of(List.of()).status()).isEqualTo(CheckResult.CheckStatus.OK);
  }

  @Test
  void a_table_that_is_full_within_a_day_is_named_the_first_one_first() {
    CheckResult result =
        ForecastCheck.of(
            List.of(
                of("v", NEVER, List.of(full("a", 1))), of("w", NEVER, List.of(full("b", 0.4)))));
    assertThat(result.status()).isEqualTo(CheckResult.CheckStatus.WARNING);
    assertThat(result.finding())
        .isEqualTo(
            "table \"b\" of workload \"w\" is full in 9.6 hours (4.8 to 19) after its report of"
                + " 2026-11-27T10:00:00Z; table \"a\" of workload \"v\" is full in 24 hours (12 to"
                + " 48) after its report of 2026-11-27T10:00:00Z");
    assertThat(result.remedy().orElseThrow().lines())
        .containsExactly(
            "docs/RUNBOOK.md, A table is nearly full",
            "./shardtide table forecast shows all tables");
  }

  @Test
  void memory_that_ends_is_named() {
    MemoryEnd end = new MemoryEnd(new Range(10, 12, Double.POSITIVE_INFINITY), 3 * (1L << 30));
    CheckResult result = ForecastCheck.of(List.of(of("w", Optional.of(end), List.of())));
    assertThat(result.status()).isEqualTo(CheckResult.CheckStatus.WARNING);
    assertThat(result.finding())
        .isEqualTo(
            "memory holds workload \"w\" for 12 days (10 to more than 180 days) after its report of"
                + " 2026-11-27T10:00:00Z; at the end of growth.warning.days, 3.0 GiB are missing");
    assertThat(result.remedy().orElseThrow().lines())
        .containsExactly(
            "docs/RUNBOOK.md, Memory ends soon", "./shardtide table forecast shows all tables");
  }

  @Test
  void further_tables_are_counted() {
    List<TableForecast> tables =
        IntStream.range(0, 7).mapToObj(i -> full("t" + i, 0.9 - 0.1 * i)).toList();
    assertThat(ForecastCheck.of(List.of(of("w", NEVER, tables))).finding())
        .containsSubsequence("\"t6\"", "\"t5\"", "\"t4\"", "; and 4 more tables")
        .doesNotContain("\"t3\"");
  }
}
