package io.shardtide.cost.tensorflow;

import io.shardtide.cost.CollectiveNet;
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
 * Fine-tunes a model on measurements, starting from its weights; normalization and coefficients do
 * not change.
 *
 * <p>The loss is robust: it grows linearly with the logarithmic error, so that the influence of
 * wrong labels is bounded. Against catastrophic forgetting, the model is regularized towards its
 * own predictions on random shards and collectives, the anchors (Li and Hoiem, Learning without
 * Forgetting, ECCV 2016; Furlanello et al., Born-Again Neural Networks, ICML 2018): a search
 * exploits any shard that the model underestimates. A common factor of all costs is not penalized.
 * The same samples, settings and CPU give the same bits.
 */
public final class Retraining {
  /** Minimum number of recent computations: a few devices of a few plans. */
  public static final int MIN_COMPUTATIONS = 16;

  /** With fewer recent samples of a collective, its net does not change. */
  public static final int MIN_COLLECTIVES = 8;

  private Retraining() {}

  /**
   * Returns a fine-tuned model.
   *
   * @param champion the model to start from
   * @param recent recent samples, at least 16 computations
   * @param old older samples, which have less weight; may be empty
   * @param sources sources of the samples, for the model card
   * @param seed seed of all random draws
   * @throws IllegalArgumentException if there are too few samples
   */
  public static ModelBundle retrain(
      ModelBundle champion, SampleSet recent, SampleSet old, List<String> sources, long seed) {
    if (recent.compute().size() < MIN_COMPUTATIONS) {
      throw new IllegalArgumentException(
          "there must be at least %d recent computations, got %d"
              .formatted(MIN_COMPUTATIONS, recent.compute().size()));
    }
    RetrainingSettings settings = RetrainingSettings.defaults(seed);
    SortedMap<String, Double> errors = new TreeMap<>();
    ComputeNet.Weights compute = ComputeRetraining.train(champion, recent, old, settings, errors);
    List<CollectiveNet> collectives =
        champion.collectives().stream()
            .map(net -> CollectiveRetraining.train(champion, net, recent, old, settings, errors))
            .toList();
    return ModelBundleBuilder.builder(champion)
        .modelId("")
        .card(card(champion, recent, old, sources, seed, errors))
        .ranges(TrainedRanges.with(TrainedRanges.with(champion.ranges(), recent), old))
        .tower(compute.tower())
        .head(compute.head())
        .collectives(collectives)
        .build()
        .identified();
  }

  private static ModelCard card(
      ModelBundle champion,
      SampleSet recent,
      SampleSet old,
      List<String> sources,
      long seed,
      SortedMap<String, Double> errors) {
    SortedMap<String, Integer> collectives = new TreeMap<>();
    for (SampleSet samples : List.of(recent, old)) {
      samples.collectives().forEach(sample -> collectives.merge(sample.shown(), 1, Integer::sum));
    }
    SortedSet<String> heldOut = new TreeSet<>(champion.card().heldOutTables());
    for (SampleSet samples : List.of(recent, old)) {
      samples.tables().forEach(table -> heldOut.remove(table.name()));
    }
    return new ModelCard(
        "Fine-tuned from model %s on measurements of %d trainers: %d recent and %d older computations, %d recent and %d older collectives%s"
            .formatted(
                champion.modelId(),
                sources.size(),
                recent.compute().size(),
                old.compute().size(),
                recent.collectives().size(),
                old.collectives().size(),
                champion.card().simulated()
                    ? "; the original model was trained on simulated costs"
                    : ""),
        champion.card().simulated(),
        seed,
        recent.compute().size() + old.compute().size(),
        collectives,
        sources,
        heldOut,
        errors,
        champion.card().beganAs());
  }
}
