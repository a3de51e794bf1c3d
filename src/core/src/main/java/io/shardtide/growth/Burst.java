package io.shardtide.growth;

import java.util.List;

/**
 * Growth in the latest reports that is much faster than expected. Nobody knows when it ends: it is
 * expected to last as long again as it has lasted, at most twice as long. Without a whole day of
 * reports, the expected growth is what the publisher describes, and all reports count.
 *
 * @param idsPerDay growth beyond what is expected; 0 if there is no burst
 * @param lastedDays for how long
 */
record Burst(double idsPerDay, double lastedDays) {
  /** Reports that are older say nothing about now. */
  private static final long LATEST_MS = 2 * FillHistory.HOUR_MS;

  /** Fewer reports have no slope that one wrong report does not change. */
  private static final int LEAST_REPORTS = 4;

  private static final Burst NONE = new Burst(0, 0);

  /**
   * @param expected growth in ids a day
   * @param errors how wrong a forecast of a day may be
   */
  static Burst of(FillHistory history, double expected, ErrorRanges errors) {
    long now = history.last().atMs();
    List<Fill> latest =
        history.recent().stream()
            .filter(fill -> history.days().isEmpty() || now - fill.atMs() <= LATEST_MS)
            .toList();
    if (latest.size() < LEAST_REPORTS) {
      return NONE;
    }
    double[] days =
        latest.stream()
            .mapToDouble(fill -> (double) (fill.atMs() - now) / FillHistory.DAY_MS)
            .toArray();
    double slope = Medians.slope(days, latest.stream().mapToDouble(Fill::ids).toArray());
    double usual = Math.max(0, expected) + errors.in(1).high();
    return slope > 2 * usual ? new Burst(slope - Math.max(0, expected), -days[0]) : NONE;
  }

  /** Returns how many more ids a table has for it after so many days. */
  Range in(double days) {
    return new Range(
        0, idsPerDay * Math.min(days, lastedDays), idsPerDay * Math.min(days, 2 * lastedDays));
  }
}
