package io.shardtide.cost.retraining;

import io.shardtide.workload.Limits;

/**
 * Hyperparameters of fine-tuning. The defaults were chosen on simulated changes of a machine.
 *
 * @param seed seed of the members' draws
 * @param modelVariance variance of the logarithm of a cost that no correction explains, above 0
 * @param noiseVariance variance of the logarithm of one measurement, above 0
 * @param oldWeight weight of an old sample, relative to a recent one, above 0 to 1
 * @param scale standard deviation of a weight that is no reason, as a logarithm, above 0: what a
 *     model that is right may still be off by
 * @param reasons share of weights that are reasons, above 0 to 0.5: a change of a machine has one
 *     or two, of some 150 functions
 */
record RetrainingSettings(
    long seed,
    double modelVariance,
    double noiseVariance,
    double oldWeight,
    double scale,
    double reasons) {
  /** Checks the ranges. */
  RetrainingSettings {
    Limits.ARGUMENTS
        .above("model variance", modelVariance, 0)
        .above("noise variance", noiseVariance, 0)
        .above("weight of old samples", oldWeight, 0, 1)
        .above("scale", scale, 0)
        .above("share of reasons", reasons, 0, 0.5);
  }

  /**
   * Returns the defaults with a seed: 1% of a cost that is not explained, 2% of noise, old samples
   * that count a twentieth.
   */
  static RetrainingSettings defaults(long seed) {
    return new RetrainingSettings(seed, 1e-4, 4e-4, 0.05, 0.02, 0.07);
  }

  /** Returns the variance of the logarithm of the median of some measurements. */
  double variance(int measurements, boolean isRecent) {
    double variance = modelVariance + noiseVariance / measurements;
    return isRecent ? variance : variance / oldWeight;
  }
}
