package io.shardtide.cost.tensorflow;

import io.shardtide.cost.AllToAllNet;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.ModelCard;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.TrainedRanges;
import java.util.List;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Trains a model on what was measured since: from its own weights, with its own normalisation and
 * coefficients.
 *
 * <p>Errors count by their logarithm, and as they are instead of squared, so that a few wrong
 * labels lose against the many that are right. Against forgetting, the model is held to its own
 * answers on made-up shards and exchanges (Li and Hoiem, Learning without Forgetting, ECCV 2016;
 * Furlanello et al., Born-Again Neural Networks, ICML 2018): a search that plans with the model
 * finds whatever it says too little of. What changes by one factor everywhere is free of that. The
 * same samples, settings and CPU give the same bits.
 */
public final class Retraining {
  /** Computations below which nothing is learned: a few devices of a few plans. */
  public static final int MIN_COMPUTATIONS = 16;

  /** Exchanges below which the exchange nets stay as they are. */
  public static final int MIN_EXCHANGES = 8;

  private Retraining() {}

  /**
   * Returns a model that was trained on.
   *
   * @param champion the model that it begins as
   * @param recent samples of the recent past, at least 16 computations
   * @param old samples from before, which count less; may be empty
   * @param sources who measured, for the card
   * @param seed seed of all chance
   * @throws IllegalArgumentException if there are too few samples, or the batches of old and recent
   *     ones differ in size
   */
  public static ModelBundle retrain(
      ModelBundle champion, SampleSet recent, SampleSet old, List<String> sources, long seed) {
    if (recent.compute().size() < MIN_COMPUTATIONS) {
      throw new IllegalArgumentException(
          "There are %d measured computations to learn from; legal are %d and more"
              .formatted(recent.compute().size(), MIN_COMPUTATIONS));
    }
    if (recent.batchSize() != old.batchSize()) {
      throw new IllegalArgumentException(
          "Recent samples are of batches of %d, old ones of batches of %d; legal is one size"
              .formatted(recent.batchSize(), old.batchSize()));
    }
    RetrainingSettings settings = RetrainingSettings.defaults(seed);
    SortedMap<String, Double> errors = new TreeMap<>();
    ComputeNet.Weights compute = ComputeRetraining.train(champion, recent, old, settings, errors);
    AllToAllNet forward = champion.forward();
    AllToAllNet backward = champion.backward();
    if (exchanges(recent) >= MIN_EXCHANGES) {
      forward = CommunicationRetraining.train(champion, true, recent, old, settings, errors);
      backward = CommunicationRetraining.train(champion, false, recent, old, settings, errors);
    }
    return ModelBundleBuilder.builder(champion)
        .modelId("")
        .card(card(champion, recent, old, sources, seed, errors))
        .ranges(TrainedRanges.with(TrainedRanges.with(champion.ranges(), recent), old))
        .tower(compute.tower())
        .head(compute.head())
        .forward(forward)
        .backward(backward)
        .build()
        .identified();
  }

  private static int exchanges(SampleSet samples) {
    return samples.communication().values().stream().mapToInt(List::size).sum();
  }

  private static ModelCard card(
      ModelBundle champion,
      SampleSet recent,
      SampleSet old,
      List<String> sources,
      long seed,
      SortedMap<String, Double> errors) {
    SortedMap<Integer, Integer> communication = new TreeMap<>();
    for (SampleSet samples : List.of(recent, old)) {
      samples
          .communication()
          .forEach((devices, list) -> communication.merge(devices, list.size(), Integer::sum));
    }
    SortedSet<String> heldOut = new TreeSet<>(champion.card().heldOutTables());
    for (SampleSet samples : List.of(recent, old)) {
      samples.tables().forEach(table -> heldOut.remove(table.name()));
    }
    return new ModelCard(
        "Retrained from model %s on what %d trainers measured: %d recent and %d older computations, %d recent and %d older exchanges%s"
            .formatted(
                champion.modelId(),
                sources.size(),
                recent.compute().size(),
                old.compute().size(),
                exchanges(recent),
                exchanges(old),
                champion.card().simulated()
                    ? "; the first model in this line was trained on simulated costs"
                    : ""),
        champion.card().simulated(),
        seed,
        recent.compute().size() + old.compute().size(),
        communication,
        sources,
        heldOut,
        errors);
  }
}
