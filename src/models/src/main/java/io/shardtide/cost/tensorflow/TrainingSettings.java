package io.shardtide.cost.tensorflow;

import io.shardtide.workload.Limits;

/**
 * Hyperparameters of pretraining. The defaults were chosen on the reference samples.
 *
 * @param seed seed of the weights, the splits and the order of samples
 * @param computeEpochs maximum epochs of the compute net, at least 1
 * @param collectiveEpochs maximum epochs of the net of each collective, at least 1
 * @param patience epochs without a lower validation error after which training stops, at least 1
 * @param initialRate learning rate of the first step, above 0 to 1; decays to a hundredth by a
 *     cosine schedule
 * @param unknownReuse share of the compute samples whose reuse histograms are masked in each epoch,
 *     0 to 1, so that the net also predicts tables without one
 * @param heldOutTables share of the tables that are excluded from training, 0 to below 1, to
 *     measure the error on unseen tables
 * @param width outputs of the tower's hidden layers, and at most so many of those of collectives'
 *     nets, at least 1
 */
public record TrainingSettings(
    long seed,
    int computeEpochs,
    int collectiveEpochs,
    int patience,
    double initialRate,
    double unknownReuse,
    double heldOutTables,
    int width) {
  /** Outputs of the hidden layers of models that training may start from. */
  static final int WIDTH = 64;

  /** Checks the ranges. */
  public TrainingSettings {
    Limits.ARGUMENTS
        .atLeast("epochs", Math.min(computeEpochs, collectiveEpochs), 1)
        .atLeast("patience", patience, 1)
        .atLeast("width", width, 1)
        .above("initial learning rate", initialRate, 0, 1)
        .within("share of unknown reuse", unknownReuse, 0, 1)
        .check(
            heldOutTables >= 0 && heldOutTables < 1,
            "share of held-out tables",
            "0 to below 1",
            heldOutTables);
  }

  /** Returns the defaults with a seed. */
  public static TrainingSettings defaults(long seed) {
    // The patience ends no training: weights settle only when the learning rate has fallen.
    return new TrainingSettings(seed, 450, 80, 450, 4e-3, 0.2, 0, WIDTH);
  }

  /** Returns these settings with a share of tables held out. */
  public TrainingSettings holdingOut(double tables) {
    return new TrainingSettings(
        seed, computeEpochs, collectiveEpochs, patience, initialRate, unknownReuse, tables, width);
  }

  /** Returns the learning rate of a step, counted from 0, of so many. */
  double learningRate(long step, long steps) {
    double cosine = 0.5 * (1 + StrictMath.cos(Math.PI * step / steps));
    return initialRate * (0.01 + 0.99 * cosine);
  }
}
