package io.shardtide.bench.growth;

import io.shardtide.growth.Range;
import java.util.List;
import java.util.Optional;

/**
 * What a simulated year shows.
 *
 * @param days days that were simulated: all, or until a table was full
 * @param resizes how often tables got other capacities
 * @param knownResizes the same of a planner that knows the future
 * @param plans plans with them
 * @param plansNotFound resizes without one
 * @param moved shards that the plans moved
 * @param movedBytes bytes of those
 * @param fullestDevice largest share of a device's usable memory that a plan took, 0 to 1; above 1
 *     it is out of memory
 * @param full when the first table was full, in days; empty if none was
 * @param knownFull the same of the planner that knows the future
 * @param memoryRatio mean bytes of the hashed tables' adopted capacities, relative to those of the
 *     planner that knows the future
 * @param fill mean ids of the hashed tables relative to their adopted slots, by bytes
 * @param ranges how often ranges of forecasts held
 * @param memoryFull when the hashed tables exceeded memory, in days; empty if they did not
 * @param announced what was forecast of that, once a day
 */
record GrowthResult(
    double days,
    int resizes,
    int knownResizes,
    int plans,
    int plansNotFound,
    int moved,
    long movedBytes,
    double fullestDevice,
    Optional<Double> full,
    Optional<Double> knownFull,
    double memoryRatio,
    double fill,
    List<HeldRanges> ranges,
    Optional<Double> memoryFull,
    List<AnnouncedEnd> announced) {
  /** Copies the lists. */
  public GrowthResult {
    ranges = List.copyOf(ranges);
    announced = List.copyOf(announced);
  }

  /**
   * How often 90% ranges held.
   *
   * @param what what was forecast
   * @param cases number of forecasts
   * @param held those with what happened in their range
   */
  public record HeldRanges(String what, int cases, int held) {
    /** Returns the share that held; NaN without cases. */
    public double share() {
      return (double) held / cases;
    }
  }

  /**
   * A forecast of when memory no longer holds the tables.
   *
   * @param day when it was made
   * @param inDays in how many days that is expected
   */
  public record AnnouncedEnd(double day, Range inDays) {}
}
