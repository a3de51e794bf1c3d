package io.shardtide.search.reference;

/**
 * Settings of the reference search.
 *
 * @param beamWidth K: column splits kept per level, 1 to 100
 * @param candidates N: shards tried for the next halving, by predicted cost and again by bytes, 1
 *     to 1,000
 * @param levels L: the most halvings in one plan, 0 to 1,000
 * @param gridPoints M: caps on a device's columns that are tried per split, 1 to 1,000
 * @param gridStart the smallest cap, as a multiple of the mean columns per device, at least 1
 * @param gridEnd the largest cap, likewise, at least {@code gridStart}
 */
public record ReferenceSettings(
    int beamWidth, int candidates, int levels, int gridPoints, double gridStart, double gridEnd) {

  /**
   * What NeuroShard's authors use: K=3, N=10, L=10, M=11 from 1.0 to 1.5 (MLSys 2023, section 4).
   */
  public static final ReferenceSettings DEFAULTS = new ReferenceSettings(3, 10, 10, 11, 1.0, 1.5);

  /** Checks the ranges. */
  public ReferenceSettings {
    check("beamWidth", beamWidth, 1, 100);
    check("candidates", candidates, 1, 1_000);
    check("levels", levels, 0, 1_000);
    check("gridPoints", gridPoints, 1, 1_000);
    check("gridStart", gridStart, 1, 1_000);
    check("gridEnd", gridEnd, gridStart, 1_000);
  }

  private static void check(String name, double value, double min, double max) {
    if (!(value >= min && value <= max)) {
      throw new IllegalArgumentException(
          "reference.%s must be between %s and %s, got %s".formatted(name, min, max, value));
    }
  }
}
