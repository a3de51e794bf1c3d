package io.shardtide.bench.growth;

/**
 * A simulated workload.
 *
 * @param seed seed of its tables and their growth
 * @param days how long it runs, at least {@value #LEAST_DAYS}
 * @param fixedTables tables of a fixed size, 0 to {@value #MOST_TABLES}
 * @param hashedTables tables that grow, 1 to {@value #MOST_TABLES}; the growth of the first one
 *     doubles every 50 days
 * @param memory what the devices hold
 */
record GrowthScenario(long seed, int days, int fixedTables, int hashedTables, MemoryLimit memory) {
  /** Forecasts of four weeks are compared with what happened, and forecasts need two before. */
  static final int LEAST_DAYS = 60;

  /** More are no better test, and take hours. */
  static final int MOST_TABLES = 1_000;

  /** Growth that doubles every 50 days exceeds the largest table later. */
  private static final int MOST_DAYS = 730;

  /** What the devices hold. */
  enum MemoryLimit {
    /** What the tables need four weeks after the last day is 85% of it. */
    ENOUGH,
    /** It is full after two thirds of the days. */
    SHORT
  }

  /**
   * @throws IllegalArgumentException if a number is outside its range
   */
  public GrowthScenario {
    check("days", days, LEAST_DAYS, MOST_DAYS);
    check("tables of a fixed size", fixedTables, 0, MOST_TABLES);
    check("tables that grow", hashedTables, 1, MOST_TABLES);
  }

  private static void check(String what, int number, int least, int most) {
    if (number < least || number > most) {
      throw new IllegalArgumentException(
          "%s must be between %d and %d, got %d".formatted(what, least, most, number));
    }
  }
}
