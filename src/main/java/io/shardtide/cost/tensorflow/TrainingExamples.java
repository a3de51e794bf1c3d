package io.shardtide.cost.tensorflow;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Parts that are learned from together: each step draws from every part, and each part counts as
 * much as it is told, however many examples it has.
 *
 * @param parts the parts; empty ones count nothing
 * @param settings how long and how fast
 * @param <E> an example
 */
record TrainingExamples<E>(List<ExampleSet<E>> parts, RetrainingSettings settings) {
  /**
   * Examples of a part in a step, at most: those of two parts fill a batch of the first training.
   */
  private static final int PER_STEP = 128;

  /**
   * A part.
   *
   * @param examples what is learned from
   * @param weight how much all of them together count
   * @param <E> an example
   */
  record ExampleSet<E>(List<E> examples, double weight) {}

  /** What learns. */
  @FunctionalInterface
  interface ExampleStep<E> {
    /** Learns from examples, each as much as its weight says. */
    void learn(List<E> examples, float[] weights, double learningRate);
  }

  /** Runs all steps. */
  void run(Random random, ExampleStep<E> learner) {
    List<ExampleSet<E>> some =
        parts.stream().filter(p -> !p.examples().isEmpty() && p.weight() > 0).toList();
    int size = some.stream().mapToInt(p -> Math.min(PER_STEP, p.examples().size())).sum();
    for (int step = 0; step < settings.steps(); step++) {
      List<E> batch = new ArrayList<>(size);
      float[] weights = new float[size];
      for (ExampleSet<E> part : some) {
        List<E> drawn = draw(part.examples(), random);
        // The loss is a mean over the batch: so much for each makes the part's weight of all.
        float each = (float) (part.weight() * size / drawn.size());
        drawn.forEach(
            example -> {
              weights[batch.size()] = each;
              batch.add(example);
            });
      }
      learner.learn(batch, weights, settings.rate(step));
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
