package io.shardtide.cost.retraining;

import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.LogCorrection;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.ModelCard;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.cost.TrainedRanges;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Fine-tunes a model on measurements: adds corrections of its logarithmic costs, with their
 * uncertainty. Its weights, normalization and coefficients do not change. The same samples give the
 * same bits.
 */
public final class Retraining {
  /** Minimum number of recent computations: a few devices of a few plans. */
  public static final int MIN_COMPUTATIONS = 16;

  private Retraining() {}

  /**
   * Returns a fine-tuned model.
   *
   * @param champion the model to start from
   * @param towers runs its tower
   * @param recent recent samples, at least 16 computations
   * @param old older samples, which have less weight; may be empty
   * @param sources sources of the samples, for the model card
   * @param seed seed of all random draws
   * @throws IllegalArgumentException if there are too few samples
   */
  public static ModelBundle retrain(
      ModelBundle champion,
      TowerPredictor towers,
      SampleSet recent,
      SampleSet old,
      List<String> sources,
      long seed) {
    if (recent.compute().size() < MIN_COMPUTATIONS) {
      throw new IllegalArgumentException(
          "there must be at least %s recent computations, got %s"
              .formatted(MIN_COMPUTATIONS, recent.compute().size()));
    }
    SortedMap<String, Double> errors = new TreeMap<>();
    LogCorrection correction =
        new ComputeRetraining(champion).train(towers, recent, old, seed, errors);
    List<CollectiveNet> nets =
        champion.collectives().stream().map(CollectiveNet::uncorrected).toList();
    ModelBundle trained = ModelBundleBuilder.builder(champion).collectives(nets).build();
    List<CollectiveNet> collectives =
        new CollectiveRetraining(nets, new CostModel(trained).evaluator())
            .train(recent, old, seed, errors);
    return ModelBundleBuilder.builder(champion)
        .modelId("")
        .card(card(champion, recent, old, sources, seed, errors))
        .ranges(TrainedRanges.with(TrainedRanges.with(champion.ranges(), recent), old))
        .collectives(collectives)
        .correction(Optional.of(correction))
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
    SortedSet<String> heldOut = new TreeSet<>(champion.card().heldOutTables());
    for (SampleSet samples : List.of(recent, old)) {
      samples.collectives().forEach(sample -> collectives.merge(sample.shown(), 1, Integer::sum));
      heldOut.removeAll(samples.tables());
    }
    return new ModelCard(
        "Fine-tuned from model %s on measurements of %s trainers: %s recent and %s older computations, %s recent and %s older collectives%s"
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
