package io.shardtide.cost.tensorflow;

/**
 * Hyperparameters of fine-tuning. The defaults were chosen on simulated drift; the RATIONALE.md of
 * {@code cost} has the comparison.
 *
 * @param seed seed of the order of samples and of the anchors
 * @param steps optimizer steps of the net of each collective, at least 1
 * @param initialRate learning rate of the first step, above 0 to 1; decays to a hundredth by a
 *     cosine schedule
 * @param anchors number of random shards, and of random collectives, on which the model is
 *     regularized towards its previous predictions, at least 1
 * @param anchorWeight weight of all anchors of a collective's net, relative to all recent samples,
 *     0 to below 1, so that samples prevail
 * @param oldWeight weight of all old samples, relative to all recent ones, 0 to 1
 */
record RetrainingSettings(
    long seed, int steps, double initialRate, int anchors, double anchorWeight, double oldWeight) {
  /** Checks the ranges. */
  RetrainingSettings {
    if (steps < 1 || anchors < 1) {
      throw new IllegalArgumentException(
          "steps and anchors must be at least 1, got %d and %d".formatted(steps, anchors));
    }
    if (!(initialRate > 0 && initialRate <= 1)) {
      throw new IllegalArgumentException(
          "initial learning rate must be above 0 and at most 1, got " + initialRate);
    }
    if (!(anchorWeight >= 0 && anchorWeight < 1) || !(oldWeight >= 0 && oldWeight <= 1)) {
      throw new IllegalArgumentException(
          "anchor weight must be 0 to below 1 and weight of old samples 0 to 1, got %s and %s"
              .formatted(anchorWeight, oldWeight));
    }
  }

  /** Returns the defaults with a seed. */
  static RetrainingSettings defaults(long seed) {
    return new RetrainingSettings(seed, 1_000, 1e-3, 1_024, 0.6, 0.05);
  }

  /** Returns the learning rate of a step, counted from 0. */
  double learningRate(int step) {
    double cosine = 0.5 * (1 + StrictMath.cos(Math.PI * step / steps));
    return initialRate * (0.01 + 0.99 * cosine);
  }
}
