package io.shardtide.bench.growth;

import io.shardtide.bench.growth.GrowthResult.HeldRanges;
import io.shardtide.growth.Forecast;
import io.shardtide.growth.HashedTable;
import io.shardtide.growth.Range;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Counts how often what happened was within the 90% range of its forecast. */
final class ForecastChecks {
  /** Days ahead that are checked. */
  static final int[] AHEAD = {1, 3, 7, 14, 28};

  private static final String UNTIL_FULL = "days until full";

  /** Cases, and those that held. */
  private record Count(int cases, int held) {
    Count plus(boolean holds) {
      return new Count(cases + 1, held + (holds ? 1 : 0));
    }
  }

  private final Map<String, Count> counts = new LinkedHashMap<>();

  ForecastChecks() {
    for (int days : AHEAD) {
      counts.put(ids(days), new Count(0, 0));
    }
    counts.put(UNTIL_FULL, new Count(0, 0));
  }

  private static String ids(int days) {
    return days == 1 ? "ids in 1 day" : "ids in " + days + " days";
  }

  /** Checks how many ids a table has. */
  void ids(Forecast forecast, GrowingTable table, int hour) {
    for (int days : AHEAD) {
      add(ids(days), forecast.in(days), (double) table.ids(hour + days * GrowingTable.HOURS));
    }
  }

  /**
   * Checks when a table is full, unless it neither is nor was expected to be within the time that
   * forecasts have.
   */
  void untilFull(Optional<Range> forecast, GrowingTable table, long slots, int hour) {
    double actual =
        table.daysUntilAbove((long) (HashedTable.LOAD_FACTOR * slots), hour, Forecast.MOST_DAYS);
    if (forecast.isPresent() || actual < Double.POSITIVE_INFINITY) {
      double never = Double.POSITIVE_INFINITY;
      add(UNTIL_FULL, forecast.orElse(new Range(never, never, never)), actual);
    }
  }

  private void add(String what, Range range, double actual) {
    boolean holds = range.low() <= actual && actual <= range.high();
    counts.compute(what, (name, count) -> count.plus(holds));
  }

  List<HeldRanges> result() {
    List<HeldRanges> result = new ArrayList<>();
    counts.forEach((what, count) -> result.add(new HeldRanges(what, count.cases(), count.held())));
    return result;
  }
}
