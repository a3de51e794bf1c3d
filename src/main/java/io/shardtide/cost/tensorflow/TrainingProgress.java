package io.shardtide.cost.tensorflow;

/** Hears how training goes on. */
@FunctionalInterface
public interface TrainingProgress {
  /** Says nothing. */
  TrainingProgress SILENT = (net, epoch, epochs, train, validation) -> {};

  /**
   * An epoch is over.
   *
   * @param net which net: compute, forward, backward
   * @param epoch number of the epoch, from 1
   * @param epochs number of epochs
   * @param trainLoss mean loss of the epoch's batches
   * @param validationMape mean absolute relative error on samples held back, a fraction
   */
  void epoch(String net, int epoch, int epochs, double trainLoss, double validationMape);
}
