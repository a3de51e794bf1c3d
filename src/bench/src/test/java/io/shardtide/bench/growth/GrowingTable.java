package io.shardtide.bench.growth;

import java.util.Random;

/**
 * A simulated table whose ids grow: with days of the week, hours and seasons of the year, noise
 * that lasts for days, and bursts.
 */
final class GrowingTable {
  static final int HOURS = 24;

  /** How growth develops over a year. */
  enum Course {
    /** The same rate, but for the seasons. */
    STEADY,
    /** The rate halves every 140 days: most ids were seen. */
    SATURATING,
    /** The rate doubles every 50 days. */
    RUNAWAY
  }

  private final double[] ids;

  private GrowingTable(double[] ids) {
    this.ids = ids;
  }

  /**
   * Draws a table.
   *
   * @param random what is drawn
   * @param course how its growth develops
   * @param days how many
   */
  static GrowingTable draw(Random random, Course course, int days) {
    double perDay = 20_000 * StrictMath.exp(0.8 * random.nextGaussian());
    double begin = perDay * (30 + 60 * random.nextDouble());
    double season = 0.4 * random.nextDouble();
    double phase = random.nextDouble();
    double weekend = 0.6 + 1.2 * random.nextDouble();
    double daily = 0.8 * random.nextDouble();
    double noise = 0;
    int burstDays = 0;
    double burst = 1;
    double[] ids = new double[days * HOURS + 1];
    ids[0] = begin;
    for (int day = 0; day < days; day++) {
      noise = 0.6 * noise + 0.1 * random.nextGaussian();
      if (burstDays > 0) {
        burstDays--;
      } else if (random.nextDouble() < 1.0 / 45) {
        burstDays = 1 + random.nextInt(3);
        burst = 2 + 3 * random.nextDouble();
      }
      double rate =
          perDay
              * (1 + season * StrictMath.sin(2 * StrictMath.PI * (day / 365.0 + phase)))
              * (day % 7 >= 5 ? weekend : 1)
              * StrictMath.exp(noise)
              * (burstDays > 0 ? burst : 1)
              * switch (course) {
                case STEADY -> 1;
                case SATURATING -> StrictMath.pow(0.5, day / 140.0);
                case RUNAWAY -> StrictMath.pow(2, day / 50.0);
              };
      for (int hour = 0; hour < HOURS; hour++) {
        double share = (1 + daily * StrictMath.sin(2 * StrictMath.PI * hour / HOURS)) / HOURS;
        int at = day * HOURS + hour;
        ids[at + 1] = ids[at] + rate * share * StrictMath.exp(0.1 * random.nextGaussian());
      }
    }
    return new GrowingTable(ids);
  }

  /** Returns how many ids the table has after so many hours. */
  long ids(int hour) {
    return (long) ids[hour];
  }

  /**
   * Returns in how many days the table has more ids than slots.
   *
   * @param slots its capacity
   * @param hour from when on
   * @param mostDays how far to look
   * @return infinite if not within so many days
   */
  double daysUntilAbove(long slots, int hour, int mostDays) {
    for (int at = hour; at <= hour + mostDays * HOURS; at++) {
      if (ids(at) > slots) {
        return at == hour
            ? 0
            : (at - hour - 1 + (slots - ids[at - 1]) / (ids[at] - ids[at - 1])) / HOURS;
      }
    }
    return Double.POSITIVE_INFINITY;
  }
}
