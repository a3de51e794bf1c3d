package io.shardtide.growth;

/**
 * When hashed tables get other capacities, and which.
 *
 * @param leadDays a table is resized if it may be full within so many days: the time that a plan,
 *     its moves and the people who watch them need; above 0
 * @param coverDays new capacities last for so many days, if memory does; at least {@code leadDays},
 *     at most {@value Forecast#MOST_DAYS}
 * @param warningDays a workload that memory will not hold is announced so many days before; the
 *     same range
 * @param leastHitGain tables that evict are resized for so large a share of lookups that find their
 *     id; above 0, at most 1
 */
public record CapacityPolicy(
    double leadDays, double coverDays, double warningDays, double leastHitGain) {
  /**
   * Two days are a weekend; four weeks are as long as forecasts were compared with what happened;
   * two months are what it takes to get devices.
   */
  public static final CapacityPolicy DEFAULTS = new CapacityPolicy(2, 28, 60, 0.02);

  /**
   * @throws IllegalArgumentException if a value is outside its range
   */
  public CapacityPolicy {
    if (!(leadDays > 0 && leadDays <= Forecast.MOST_DAYS)) {
      throw new IllegalArgumentException(
          "days before a table is full must be above 0 and at most %d, got %s"
              .formatted(Forecast.MOST_DAYS, leadDays));
    }
    checkDays("days that a capacity lasts", leadDays, coverDays);
    checkDays("days before a workload no longer fits", leadDays, warningDays);
    if (!(leastHitGain > 0 && leastHitGain <= 1)) {
      throw new IllegalArgumentException(
          "least gain of hits must be above 0 and at most 1, got %s".formatted(leastHitGain));
    }
  }

  private static void checkDays(String what, double least, double days) {
    if (!(days >= least && days <= Forecast.MOST_DAYS)) {
      throw new IllegalArgumentException(
          "%s must be between %s and %d, got %s".formatted(what, least, Forecast.MOST_DAYS, days));
    }
  }
}
