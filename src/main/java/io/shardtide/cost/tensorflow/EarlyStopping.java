package io.shardtide.cost.tensorflow;

import java.util.List;
import java.util.function.Supplier;

/**
 * Runs epochs until they are over or the validation error has stopped falling, and keeps the best
 * weights.
 *
 * @param <S> a sample
 * @param <W> weights
 */
final class EarlyStopping<S, W> {
  /** What is trained. */
  interface EpochRunner<S, W> {
    /** Learns from a batch and returns its loss. */
    double learn(List<S> batch, double learningRate);

    /** Returns the mean absolute relative error on the samples that choose the epoch. */
    double validate();

    /** Returns the weights as they are. */
    W weights();
  }

  private final String name;
  private final int epochs;
  private final int batchSize;
  private final TrainingSettings settings;
  private final TrainingProgress progress;

  EarlyStopping(
      String name,
      int epochs,
      int batchSize,
      TrainingSettings settings,
      TrainingProgress progress) {
    this.name = name;
    this.epochs = epochs;
    this.batchSize = batchSize;
    this.settings = settings;
    this.progress = progress;
  }

  /**
   * Trains.
   *
   * @param epoch gives the samples of the next epoch in their order; always as many
   */
  W run(Supplier<List<S>> epoch, EpochRunner<S, W> learner) {
    W kept = learner.weights();
    double best = Double.POSITIVE_INFINITY;
    int since = 0;
    long step = 0;
    for (int e = 1; e <= epochs && since < settings.patience(); e++) {
      List<S> samples = epoch.get();
      long steps = (long) epochs * ((samples.size() + batchSize - 1) / batchSize);
      double loss = 0;
      for (int from = 0; from < samples.size(); from += batchSize) {
        List<S> batch = samples.subList(from, Math.min(from + batchSize, samples.size()));
        loss += batch.size() * learner.learn(batch, settings.rate(step++, steps));
      }
      double error = learner.validate();
      progress.epoch(name, e, epochs, loss / samples.size(), error);
      since++;
      if (error < best) {
        best = error;
        kept = learner.weights();
        since = 0;
      }
    }
    return kept;
  }
}
