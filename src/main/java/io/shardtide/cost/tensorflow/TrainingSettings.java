package io.shardtide.cost.tensorflow;

/**
 * How long and how fast to train. The defaults were found on the reference samples;
 * models/README.md has the comparison.
 *
 * @param seed seed of the weights, the split and the order of samples
 * @param computeEpochs passes over the compute samples, at least 1
 * @param communicationEpochs passes over the communication samples, at least 1
 * @param learningRate the first step's learning rate, above 0; falls to a hundredth along half a
 *     cosine
 * @param unknownReuse share of the compute samples whose reuse histograms are hidden in each pass,
 *     0 to 1: what teaches the net to do without
 */
public record TrainingSettings(
    long seed,
    int computeEpochs,
    int communicationEpochs,
    double learningRate,
    double unknownReuse) {
  /** Checks the ranges. */
  public TrainingSettings {
    if (computeEpochs < 1 || communicationEpochs < 1) {
      throw new IllegalArgumentException(
          "%d and %d epochs; legal are 1 and more".formatted(computeEpochs, communicationEpochs));
    }
    if (!(learningRate > 0 && learningRate <= 1)) {
      throw new IllegalArgumentException(
          "A learning rate of " + learningRate + "; legal are numbers above 0, at most 1");
    }
    if (!(unknownReuse >= 0 && unknownReuse <= 1)) {
      throw new IllegalArgumentException(
          "A share of unknown reuse of " + unknownReuse + "; legal are 0 to 1");
    }
  }

  /** Returns the defaults with a seed. */
  public static TrainingSettings defaults(long seed) {
    return new TrainingSettings(seed, 300, 40, 2e-3, 0.2);
  }

  /** Returns the learning rate of a step. */
  double rate(long step, long steps) {
    double cosine = 0.5 * (1 + StrictMath.cos(Math.PI * step / steps));
    return learningRate * (0.01 + 0.99 * cosine);
  }
}
