package io.shardtide.cost.tensorflow;

import java.util.List;
import java.util.function.Supplier;

/**
 * Runs epochs until the validation error stops decreasing, and returns the best weights.
 *
 * @param name name of the net
 * @param epochs epochs at most
 * @param batchSize samples of a batch
 * @param tolerance validation errors that are so close, as a fraction, differ by the noise of the
 *     validation samples: of equally good weights the later ones are kept, which a lower learning
 *     rate has settled; 0 where there are many samples
 * @param settings patience and learning rates
 * @param progress called after each epoch
 * @param <S> type of a sample
 * @param <W> type of the weights
 */
record EarlyStopping<S, W>(
    String name,
    int epochs,
    int batchSize,
    double tolerance,
    TrainingSettings settings,
    TrainingProgress progress) {
  /** Trains and validates a net. */
  interface EpochRunner<S, W> {
    /** Makes one optimizer step on a batch; returns its loss. */
    double train(List<S> batch, double learningRate);

    /** Returns the mean absolute relative error on the validation samples, as a fraction. */
    double validate();

    /** Returns the current weights. */
    W weights();
  }

  /**
   * Trains.
   *
   * @param epoch returns the ordered samples of the next epoch, the same number each time
   * @return the last weights whose validation error is among the lowest
   */
  W run(Supplier<List<S>> epoch, EpochRunner<S, W> runner) {
    W best = runner.weights();
    double bestError = Double.POSITIVE_INFINITY;
    int epochsSinceBest = 0;
    long step = 0;
    for (int e = 1; e <= epochs && epochsSinceBest < settings.patience(); e++) {
      List<S> samples = epoch.get();
      long steps = (long) epochs * ((samples.size() + batchSize - 1) / batchSize);
      double loss = 0;
      for (int from = 0; from < samples.size(); from += batchSize) {
        List<S> batch = samples.subList(from, Math.min(from + batchSize, samples.size()));
        loss += batch.size() * runner.train(batch, settings.learningRate(step++, steps));
      }
      double error = runner.validate();
      progress.epoch(name, e, epochs, loss / samples.size(), error);
      epochsSinceBest++;
      if (error < bestError * (1 + tolerance)) {
        best = runner.weights();
      }
      if (error < bestError) {
        bestError = error;
        epochsSinceBest = 0;
      }
    }
    return best;
  }
}
