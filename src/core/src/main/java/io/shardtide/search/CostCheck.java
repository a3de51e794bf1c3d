package io.shardtide.search;

/** Compares costs that were updated move by move with costs from scratch. */
final class CostCheck {
  /** Sums of squares accumulate rounding errors; everything else is exact. */
  private static final double TOLERANCE = 1e-9;

  private CostCheck() {}

  /**
   * Checks that a cost is the one from scratch.
   *
   * @param what the cost, for people
   * @throws IllegalStateException if it is another
   */
  static void same(String what, double kept, double fresh) {
    if (!(Math.abs(kept - fresh) <= TOLERANCE * Math.abs(fresh))) {
      throw new IllegalStateException(
          "%s must be %s ms as computed from scratch, got %s ms".formatted(what, fresh, kept));
    }
  }
}
