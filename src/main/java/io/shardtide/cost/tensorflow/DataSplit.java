package io.shardtide.cost.tensorflow;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Samples in three parts: 90% are learned from, 5% choose the epoch whose weights are kept, and 5%
 * say how good it is.
 *
 * @param train learned from; shuffled in place by who learns
 * @param validation chooses the epoch
 * @param test says how good it is
 * @param <S> a sample
 */
record DataSplit<S>(List<S> train, List<S> validation, List<S> test) {
  private static final double TRAIN_SHARE = 0.9;
  private static final double VALIDATION_SHARE = 0.05;

  static <S> DataSplit<S> of(List<S> samples, Random random) {
    List<S> all = new ArrayList<>(samples);
    Collections.shuffle(all, random);
    int trainEnd = (int) (all.size() * TRAIN_SHARE);
    int validationEnd = (int) (all.size() * (TRAIN_SHARE + VALIDATION_SHARE));
    return new DataSplit<>(
        new ArrayList<>(all.subList(0, trainEnd)),
        all.subList(trainEnd, validationEnd),
        all.subList(validationEnd, all.size()));
  }

  /**
   * Returns a part of the training samples as large as the test's, to set the two errors side by
   * side.
   */
  List<S> trainProbe() {
    return train.subList(0, Math.min(train.size(), test.size()));
  }

  static double mape(float[] predicted, float[] labels) {
    double sum = 0;
    for (int i = 0; i < labels.length; i++) {
      sum += Math.abs(predicted[i] - labels[i]) / labels[i];
    }
    return sum / labels.length;
  }
}
