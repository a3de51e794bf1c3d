package io.shardtide.cost.tensorflow;

/**
 * How long and how fast to train. The defaults were found on the reference samples;
 * models/README.md has the comparison.
 *
 * @param seed seed of the weights, the splits and the order of samples
 * @param computeEpochs passes over the compute samples at most, at least 1
 * @param communicationEpochs rounds of exchanges at most, at least 1; a round draws as many rows as
 *     there are, at most 512,000
 * @param patience epochs without a better validation error after which training stops, at least 1
 * @param learningRate the first step's learning rate, above 0; falls to a hundredth along half a
 *     cosine
 * @param unknownReuse share of the compute samples whose reuse histograms are hidden in each pass,
 *     0 to 1: what teaches the net to do without
 * @param heldOutTables share of the tables that no training sample may have, 0 to below 1: what
 *     shows how the model does on tables never seen
 */
public record TrainingSettings(
    long seed,
    int computeEpochs,
    int communicationEpochs,
    int patience,
    double learningRate,
    double unknownReuse,
    double heldOutTables) {
  /** Checks the ranges. */
  public TrainingSettings {
    if (computeEpochs < 1 || communicationEpochs < 1 || patience < 1) {
      throw new IllegalArgumentException(
          "%d and %d epochs with patience %d; legal are 1 and more"
              .formatted(computeEpochs, communicationEpochs, patience));
    }
    if (!(learningRate > 0 && learningRate <= 1)) {
      throw new IllegalArgumentException(
          "A learning rate of " + learningRate + "; legal are numbers above 0, at most 1");
    }
    if (!(unknownReuse >= 0 && unknownReuse <= 1)) {
      throw new IllegalArgumentException(
          "A share of unknown reuse of " + unknownReuse + "; legal are 0 to 1");
    }
    if (!(heldOutTables >= 0 && heldOutTables < 1)) {
      throw new IllegalArgumentException(
          "A share of held out tables of " + heldOutTables + "; legal are 0 to below 1");
    }
  }

  /** Returns the defaults with a seed. */
  public static TrainingSettings defaults(long seed) {
    return new TrainingSettings(seed, 250, 40, 80, 4e-3, 0.2, 0);
  }

  /** Returns these settings with a share of tables held out. */
  public TrainingSettings holdingOut(double tables) {
    return new TrainingSettings(
        seed, computeEpochs, communicationEpochs, patience, learningRate, unknownReuse, tables);
  }

  /** Returns the learning rate of a step. */
  double rate(long step, long steps) {
    double cosine = 0.5 * (1 + StrictMath.cos(Math.PI * step / steps));
    return learningRate * (0.01 + 0.99 * cosine);
  }
}
