package io.shardtide.cost.retraining;

/**
 * Hyperparameters of fine-tuning.
 *
 * @param seed seed of the members
 * @param modelVariance variance of the logarithm of a cost that no correction explains
 * @param noiseVariance variance of the logarithm of one measurement
 * @param oldWeight weight of an old sample, relative to a recent one, above 0 to 1
 * @param leastScale least scale of corrections
 * @param floor the least that evidence leaves of a prior deviation, as a share
 */
record RetrainingSettings(
    long seed,
    double modelVariance,
    double noiseVariance,
    double oldWeight,
    double leastScale,
    double floor) {
  /** Returns the defaults with a seed. */
  static RetrainingSettings defaults(long seed) {
    return new RetrainingSettings(
        seed,
        Double.parseDouble(System.getProperty("mv", "1e-4")),
        4e-4,
        Double.parseDouble(System.getProperty("ow", "0.05")),
        Double.parseDouble(System.getProperty("ls", "0.02")),
        Double.parseDouble(System.getProperty("fl", "0.05")));
  }
}
