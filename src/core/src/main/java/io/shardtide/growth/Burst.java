package io.shardtide.growth;

import io.shardtide.cost.Medians;
import java.util.List;
import java.util.function.LongToDoubleFunction;

/**
 * Growth in the latest reports that is much faster than expected: in the latest eight of two hours,
 * or in the latest four of a day. It began with the report from which on the growth was at least
 * half as fast, a day ago at most, and is over if it was not in the latest two. Nobody knows when
 * it ends: it is expected to last as long again as it has lasted, at most twice as long. Without a
 * whole day of reports, the expected growth is what the publisher describes.
 *
 * @param idsPerDay growth beyond what is expected; 0 if there is no burst
 * @param lastedDays for how long
 */
record Burst(double idsPerDay, double lastedDays) {
  /** Reports that are older say nothing about now, unless there are few. */
  private static final long LATEST_MS = 2 * FillHistory.HOUR_MS;

  /** Few reports may be as old: what a day adds is in the history. */
  private static final long OLDEST_MS = FillHistory.DAY_MS;

  /** Fewer reports have no slope that one wrong report does not change. */
  private static final int LEAST_REPORTS = 4;

  private static final Burst NONE = new Burst(0, 0);

  /**
   * Finds a burst.
   *
   * @param history what was reported
   * @param expected returns how many ids are expected to have been added since a time, a day ago at
   *     most
   * @param errors how wrong a forecast of a day may be
   */
  static Burst of(FillHistory history, LongToDoubleFunction expected, ErrorRanges errors) {
    List<Fill> recent = history.recent();
    long now = history.last().atMs();
    int from = recent.size() - LEAST_REPORTS;
    if (from < 0) {
      return NONE;
    }
    boolean isFirstDay = history.days().isEmpty();
    if (!isFirstDay && now - recent.get(from).atMs() > OLDEST_MS) {
      return NONE;
    }
    int least = Math.max(0, recent.size() - FillHistory.NEWEST);
    while (from > least && (isFirstDay || now - recent.get(from - 1).atMs() <= LATEST_MS)) {
      from--;
    }
    List<Fill> latest = recent.subList(from, recent.size());
    double[] days =
        latest.stream()
            .mapToDouble(fill -> (double) (fill.atMs() - now) / FillHistory.DAY_MS)
            .toArray();
    double slope = Medians.slope(days, latest.stream().mapToDouble(Fill::ids).toArray());
    double usual = Math.max(0, expected.applyAsDouble(latest.get(0).atMs()) / -days[0]);
    boolean isOver =
        slope(latest.get(latest.size() - LEAST_REPORTS / 2 - 1), history.last()) < slope / 2;
    if (isOver || slope <= 2 * (usual + errors.in(1).high())) {
      return NONE;
    }
    while (from > 0
        && now - recent.get(from - 1).atMs() <= OLDEST_MS
        && slope(recent.get(from - 1), recent.get(from)) >= slope / 2) {
      from--;
    }
    return new Burst(slope - usual, (double) (now - recent.get(from).atMs()) / FillHistory.DAY_MS);
  }

  /** Returns by how many ids a day a table grew from one report to another. */
  private static double slope(Fill from, Fill to) {
    return (to.ids() - from.ids()) * FillHistory.DAY_MS / (to.atMs() - from.atMs());
  }

  /** Returns the burst of a table that grows so many times as fast. */
  Burst times(double factor) {
    return new Burst(factor * idsPerDay, lastedDays);
  }

  /** Returns how many more ids a table has for it after so many days. */
  Range in(double days) {
    return new Range(
        0, idsPerDay * Math.min(days, lastedDays), idsPerDay * Math.min(days, 2 * lastedDays));
  }
}
