package io.shardtide.cost.tensorflow;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * A random split of samples: 90% for training, 5% for validation, 5% for the test.
 *
 * @param train training samples; may be shuffled in place
 * @param validation samples that select the best epoch
 * @param test samples that measure the final error
 * @param <S> type of a sample
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

  /** Returns the mean absolute relative error, as a fraction. */
  static double mape(float[] predicted, float[] labels) {
    double sum = 0;
    for (int i = 0; i < labels.length; i++) {
      sum += Math.abs(predicted[i] - labels[i]) / labels[i];
    }
    return sum / labels.length;
  }
}
