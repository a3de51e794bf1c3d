package io.shardtide.cost.tensorflow;

/** Receives the progress of a training. */
@FunctionalInterface
public interface TrainingProgress {
  /**
   * Called after each epoch.
   *
   * @param net compute, forward or backward
   * @param epoch number of the epoch, from 1
   * @param epochs maximum number of epochs
   * @param trainLoss mean loss of the epoch's batches
   * @param validationMape mean absolute relative error on the validation samples, as a fraction
   */
  void epoch(String net, int epoch, int epochs, double trainLoss, double validationMape);
}
