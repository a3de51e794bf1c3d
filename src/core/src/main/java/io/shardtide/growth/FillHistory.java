package io.shardtide.growth;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * How the number of ids of a table changed: by day, by hour, and in the latest reports. Its size is
 * bounded, whatever the number of reports.
 *
 * @param since the first report
 * @param last the latest report
 * @param days by how many ids the whole days (UTC) since the first report differ, the latest one
 *     last; at most {@value #MOST_DAYS}
 * @param today by how many ids the day of the latest report differs so far
 * @param hours the same of the latest whole hours; at most {@value #MOST_HOURS}
 * @param thisHour the same of the hour of the latest report
 * @param recent the {@value #NEWEST} latest reports and, the older the fewer, some before them; at
 *     most {@value #MOST_RECENT}
 */
public record FillHistory(
    Fill since,
    Fill last,
    List<Double> days,
    double today,
    List<Double> hours,
    double thisHour,
    List<Fill> recent) {

  /** Sixteen weeks: twice what the seasonality of days and the intervals are estimated from. */
  public static final int MOST_DAYS = 112;

  /** A week, for the seasonality of hours. */
  public static final int MOST_HOURS = 168;

  /** Enough for a slope that one wrong report does not change. */
  static final int NEWEST = 8;

  /**
   * Eight more, each about as much older as the ones after it together: whether reports come every
   * second or every hour, they say how long a burst has lasted.
   */
  public static final int MOST_RECENT = 16;

  static final long HOUR_MS = 3_600_000;
  static final long DAY_MS = 24 * HOUR_MS;

  /** A gap without reports after which a history begins again: four weeks. */
  private static final long LONGEST_GAP_MS = 28 * DAY_MS;

  /** Copies the lists. */
  public FillHistory {
    days = List.copyOf(days);
    hours = List.copyOf(hours);
    recent = List.copyOf(recent);
  }

  /** Returns the history of a first report. */
  public static FillHistory of(Fill first) {
    return new FillHistory(first, first, List.of(), 0, List.of(), 0, List.of(first));
  }

  /**
   * Returns this history with another report. Between two reports, the number of ids is taken to
   * change evenly. After more than four weeks without one, the history begins again.
   *
   * @throws IllegalArgumentException if the report is not later than the latest one
   */
  public FillHistory with(Fill fill) {
    if (fill.atMs() <= last.atMs()) {
      throw new IllegalArgumentException(
          "a fill must be later than the latest one, at %s ms, got %s ms"
              .formatted(last.atMs(), fill.atMs()));
    }
    if (fill.atMs() - last.atMs() > LONGEST_GAP_MS) {
      return of(fill);
    }
    double added = fill.ids() - last.ids();
    long span = fill.atMs() - last.atMs();
    List<Double> newDays = new ArrayList<>(days);
    List<Double> newHours = new ArrayList<>(hours);
    double ofDay = today;
    double ofHour = thisHour;
    for (long from = last.atMs(); from < fill.atMs(); ) {
      long to = Math.min(fill.atMs(), (Math.floorDiv(from, HOUR_MS) + 1) * HOUR_MS);
      double part = added * (to - from) / span;
      ofDay += part;
      ofHour += part;
      if (Math.floorMod(to, HOUR_MS) == 0) {
        addWhole(newHours, ofHour, to - HOUR_MS, MOST_HOURS);
        ofHour = 0;
      }
      if (Math.floorMod(to, DAY_MS) == 0) {
        addWhole(newDays, ofDay, to - DAY_MS, MOST_DAYS);
        ofDay = 0;
      }
      from = to;
    }
    return new FillHistory(since, fill, newDays, ofDay, newHours, ofHour, withRecent(fill));
  }

  /** Returns the recent reports with another; without the one that is missed least. */
  private List<Fill> withRecent(Fill fill) {
    List<Fill> reports = new ArrayList<>(recent);
    reports.add(fill);
    if (reports.size() > MOST_RECENT) {
      reports.remove(missedLeast(reports));
    }
    return reports;
  }

  /** Returns the oldest report if it is a day old, or the one with the closest neighbours. */
  private static int missedLeast(List<Fill> reports) {
    long now = reports.get(reports.size() - 1).atMs();
    int least = 0;
    double closest = Double.POSITIVE_INFINITY;
    for (int i = 1; i < reports.size() - NEWEST; i++) {
      long before = reports.get(i - 1).atMs();
      double distance = (double) (reports.get(i + 1).atMs() - before) / (now - before);
      if (distance < closest) {
        closest = distance;
        least = i;
      }
    }
    return now - reports.get(0).atMs() > DAY_MS ? 0 : least;
  }

  /**
   * Returns how many ids the table had, earliest first, from the first report to the latest one: at
   * the ends of the whole days (UTC) that are kept; of the whole hours, while there are fewer than
   * two whole days; in the latest reports, while there is no whole hour.
   */
  public List<Fill> past() {
    if (hours.isEmpty()) {
      return recent;
    }
    return days.size() < 2 ? past(hours, thisHour, HOUR_MS) : past(days, today, DAY_MS);
  }

  private List<Fill> past(List<Double> differences, double latest, long unitMs) {
    Deque<Fill> past = new ArrayDeque<>(List.of(last));
    long at = Math.floorDiv(last.atMs(), unitMs) * unitMs;
    double ids = last.ids() - latest;
    for (int i = differences.size(); i >= 0; i--) {
      if (at < last.atMs()) {
        // Sums are rounded.
        past.addFirst(new Fill(at, Math.max(0, ids)));
      }
      at -= unitMs;
      ids -= i > 0 ? differences.get(i - 1) : 0;
    }
    // Part of a day or an hour before the first whole one.
    if (at < since.atMs() && since.atMs() < past.getFirst().atMs()) {
      past.addFirst(since);
    }
    return List.copyOf(past);
  }

  private void addWhole(List<Double> differences, double difference, long begin, int most) {
    if (begin >= since.atMs()) {
      if (differences.size() == most) {
        differences.remove(0);
      }
      differences.add(difference);
    }
  }
}
