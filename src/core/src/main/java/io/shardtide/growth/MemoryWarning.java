package io.shardtide.growth;

import io.shardtide.plan.ExpectedTime;
import io.shardtide.plan.Shortfall;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * A workload that memory will not hold.
 *
 * @param shortfall what will be missing, which tables will be largest, and what would help
 * @param time when
 */
public record MemoryWarning(Shortfall shortfall, ExpectedTime time) {
  /** Tables that are named. */
  private static final int MAX_BLAMED = 5;

  /** A time that moves by less than this share of what was left is no news. */
  private static final double NEWS = 0.25;

  static MemoryWarning of(
      MemoryEnd end, List<HashedTable> tables, CapacityPolicy policy, Instant measuredAt) {
    List<Shortfall.TableBytes> largest =
        tables.stream()
            .map(
                table ->
                    new Shortfall.TableBytes(
                        table.name(), (long) table.bytesNeeded(policy.warningDays()).median()))
            .sorted(
                Comparator.comparingLong(Shortfall.TableBytes::bytes)
                    .reversed()
                    .thenComparing(Shortfall.TableBytes::table))
            .limit(MAX_BLAMED)
            .toList();
    return new MemoryWarning(
        new Shortfall(end.bytesShort(), true, largest, end.describe()),
        new ExpectedTime(
            at(measuredAt, end.days().low()),
            at(measuredAt, end.days().median()),
            Optional.of(end.days().high())
                .filter(Double::isFinite)
                .map(days -> at(measuredAt, days))));
  }

  private static Instant at(Instant begin, double days) {
    return begin.plusMillis((long) (days * FillHistory.DAY_MS));
  }

  /**
   * Returns whether this says something else than what was announced last.
   *
   * @param announced for when that was; empty if nothing was announced
   * @param now when the tables were reported
   */
  boolean isNews(Optional<Instant> announced, Instant now, CapacityPolicy policy) {
    if (announced.isEmpty()) {
      return true;
    }
    double left = days(now, announced.get());
    double moved = Math.abs(days(announced.get(), time.median()));
    return moved > Math.max(policy.leadDays(), NEWS * left);
  }

  private static double days(Instant from, Instant to) {
    return (double) (to.toEpochMilli() - from.toEpochMilli()) / FillHistory.DAY_MS;
  }
}
