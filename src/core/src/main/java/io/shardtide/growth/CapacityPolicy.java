package io.shardtide.growth;

import io.shardtide.workload.NumberRange;

/**
 * When hashed tables get other capacities, and which.
 *
 * @param leadDays a table is resized if it may be full within so many days: the time that a plan,
 *     its moves and the people who watch them need; {@link #DAYS}
 * @param coverDays new capacities last for so many days, if memory does; {@link #DAYS}, at least
 *     twice {@code leadDays}, as a table with less room is due again soon
 * @param warningDays a workload that memory will not hold is announced so many days before; {@link
 *     #DAYS}, at least {@code leadDays}
 * @param leastHitGain tables that evict are resized for so large a share of lookups that find their
 *     id; {@link #LEAST_HIT_GAIN}
 */
public record CapacityPolicy(
    double leadDays, double coverDays, double warningDays, double leastHitGain) {
  /** Range of all days: as far as forecasts go. */
  public static final NumberRange DAYS = NumberRange.above(0, Forecast.MOST_DAYS);

  /** Range of {@code leastHitGain}. */
  public static final NumberRange LEAST_HIT_GAIN = NumberRange.above(0, 1);

  /**
   * Two days are a weekend; four weeks are as long as forecasts were compared with what happened;
   * two months are what it takes to get devices.
   */
  public static final CapacityPolicy DEFAULTS = new CapacityPolicy(2, 28, 60, 0.02);

  /**
   * @throws IllegalArgumentException if a value is outside its range
   */
  public CapacityPolicy {
    DAYS.check("leadDays", leadDays);
    DAYS.check("coverDays", coverDays);
    DAYS.check("warningDays", warningDays);
    LEAST_HIT_GAIN.check("leastHitGain", leastHitGain);
    if (coverDays < 2 * leadDays || warningDays < leadDays) {
      throw new IllegalArgumentException(
          "coverDays must be at least twice, and warningDays at least, leadDays, %s, got %s and %s"
              .formatted(leadDays, coverDays, warningDays));
    }
  }
}
