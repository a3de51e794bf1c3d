package io.shardtide.cost.tensorflow;

/**
 * How a model is trained on. The defaults were found on simulated drift; RATIONALE.md has the
 * comparison.
 *
 * @param seed seed of the order of samples and of the anchors
 * @param steps steps of the optimizer for each exchange net, at least 1
 * @param learningRate the first step's, above 0 to 1; falls to a hundredth along half a cosine
 * @param anchors made-up shards, and as many exchanges, on which the model is held to what it said
 *     before, at least 1
 * @param anchorWeight how much all anchors of an exchange net together count beside all recent
 *     samples, 0 to below 1: where both speak, the samples win
 * @param oldWeight how much all old samples together count beside all recent ones, 0 to 1
 */
record RetrainingSettings(
    long seed, int steps, double learningRate, int anchors, double anchorWeight, double oldWeight) {
  /** Checks the ranges. */
  RetrainingSettings {
    if (steps < 1 || anchors < 1) {
      throw new IllegalArgumentException(
          "%d steps with %d anchors; legal are 1 and more".formatted(steps, anchors));
    }
    if (!(learningRate > 0 && learningRate <= 1)) {
      throw new IllegalArgumentException(
          "A learning rate of " + learningRate + "; legal are numbers above 0, at most 1");
    }
    if (!(anchorWeight >= 0 && anchorWeight < 1) || !(oldWeight >= 0 && oldWeight <= 1)) {
      throw new IllegalArgumentException(
          "Anchors that count %s and old samples that count %s; legal are 0 to below 1, and 0 to 1"
              .formatted(anchorWeight, oldWeight));
    }
  }

  /** Returns the defaults with a seed. */
  static RetrainingSettings defaults(long seed) {
    return new RetrainingSettings(seed, 1_000, 1e-3, 1_024, 0.6, 0.05);
  }

  /** Returns the learning rate of a step. */
  double rate(int step) {
    double cosine = 0.5 * (1 + StrictMath.cos(Math.PI * step / steps));
    return learningRate * (0.01 + 0.99 * cosine);
  }
}
