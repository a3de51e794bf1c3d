package io.shardtide.cost.retraining;

/**
 * Hyperparameters of fine-tuning. The defaults were chosen on simulated changes of a machine; the
 * RATIONALE.md of {@code cost} has the comparison.
 *
 * @param seed seed of the members' draws
 * @param modelVariance variance of the logarithm of a cost that no correction explains, above 0
 * @param noiseVariance variance of the logarithm of one measurement, above 0
 * @param oldWeight weight of an old sample, relative to a recent one, above 0 to 1
 * @param leastScale least prior scale of corrections, as a logarithm, above 0: what a model that is
 *     right may still be off by
 * @param floor the least that evidence leaves of a prior standard deviation, as a share, above 0 to
 *     1: what keeps unmeasured shards uncertain
 */
record RetrainingSettings(
    long seed,
    double modelVariance,
    double noiseVariance,
    double oldWeight,
    double leastScale,
    double floor) {
  /** Checks the ranges. */
  RetrainingSettings {
    check("model variance", modelVariance, Double.MAX_VALUE);
    check("noise variance", noiseVariance, Double.MAX_VALUE);
    check("weight of old samples", oldWeight, 1);
    check("least scale", leastScale, Double.MAX_VALUE);
    check("floor", floor, 1);
  }

  private static void check(String what, double value, double most) {
    if (!(value > 0 && value <= most)) {
      throw new IllegalArgumentException(
          "%s must be above 0 and at most %s, got %s".formatted(what, most, value));
    }
  }

  /**
   * Returns the defaults with a seed: 1% of a cost that is not explained, 2% of noise, old samples
   * that count a twentieth.
   */
  static RetrainingSettings defaults(long seed) {
    return new RetrainingSettings(seed, 1e-4, 4e-4, 0.05, 0.02, 0.05);
  }

  /** Returns the variance of the logarithm of the median of some measurements. */
  double variance(int measurements, boolean isRecent) {
    double variance = modelVariance + noiseVariance / measurements;
    return isRecent ? variance : variance / oldWeight;
  }
}
