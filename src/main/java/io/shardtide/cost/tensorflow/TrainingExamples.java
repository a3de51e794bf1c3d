package io.shardtide.cost.tensorflow;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Weighted sets of training examples. Each optimizer step draws from every set; a set's weight does
 * not depend on the number of its examples.
 *
 * @param sets the sets; empty ones are ignored
 * @param settings number of steps and learning rates
 * @param <E> type of an example
 */
record TrainingExamples<E>(List<ExampleSet<E>> sets, RetrainingSettings settings) {
  /** Maximum examples of a set in a step: two sets fill a batch of the pretraining. */
  private static final int PER_STEP = 128;

  /**
   * A set of examples.
   *
   * @param examples the examples
   * @param weight weight of the whole set in the loss
   * @param <E> type of an example
   */
  record ExampleSet<E>(List<E> examples, double weight) {}

  /** An optimizer step. */
  @FunctionalInterface
  interface ExampleStep<E> {
    /** Makes one optimizer step on weighted examples. */
    void train(List<E> examples, float[] weights, double learningRate);
  }

  /** Runs all steps. */
  void run(Random random, ExampleStep<E> optimizer) {
    List<ExampleSet<E>> used =
        sets.stream().filter(s -> !s.examples().isEmpty() && s.weight() > 0).toList();
    int size = used.stream().mapToInt(s -> Math.min(PER_STEP, s.examples().size())).sum();
    for (int step = 0; step < settings.steps(); step++) {
      List<E> batch = new ArrayList<>(size);
      float[] weights = new float[size];
      for (ExampleSet<E> set : used) {
        List<E> drawn = draw(set.examples(), random);
        // The loss is a mean over the batch, so the weights of a set add up to weight * size.
        float exampleWeight = (float) (set.weight() * size / drawn.size());
        drawn.forEach(
            example -> {
              weights[batch.size()] = exampleWeight;
              batch.add(example);
            });
      }
      optimizer.train(batch, weights, settings.learningRate(step));
    }
  }

  private static <E> List<E> draw(List<E> examples, Random random) {
    if (examples.size() <= PER_STEP) {
      return examples;
    }
    List<E> drawn = new ArrayList<>(PER_STEP);
    for (int i = 0; i < PER_STEP; i++) {
      drawn.add(examples.get(random.nextInt(examples.size())));
    }
    return drawn;
  }
}
