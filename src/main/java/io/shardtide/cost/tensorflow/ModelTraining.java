package io.shardtide.cost.tensorflow;

import io.shardtide.cost.AllToAllNet;
import io.shardtide.cost.Feature;
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
 * Pretrains a model from labelled samples. The same samples, settings and CPU give the same bits.
 */
public final class ModelTraining {
  static final int MIN_SAMPLES = 100;

  private ModelTraining() {}

  /**
   * Trains a model.
   *
   * @param samples at least 100 computations and 100 all-to-alls
   * @param about description of the samples for the model card
   * @param settings hyperparameters
   * @param progress called after each epoch
   * @throws IllegalArgumentException if there are too few samples
   */
  public static ModelBundle train(
      SampleSet samples, About about, TrainingSettings settings, TrainingProgress progress) {
    int allToAlls = samples.communication().values().stream().mapToInt(List::size).sum();
    if (samples.compute().size() < MIN_SAMPLES || allToAlls < MIN_SAMPLES) {
      throw new IllegalArgumentException(
          "there must be at least %d compute and %d communication samples, got %d and %d"
              .formatted(MIN_SAMPLES, MIN_SAMPLES, samples.compute().size(), allToAlls));
    }
    SortedMap<String, Double> errors = new TreeMap<>();
    ComputeTraining.TrainedCompute compute =
        ComputeTraining.train(samples, settings, progress, errors);
    List<Feature> features = CommunicationTraining.features(samples);
    AllToAllNet forward =
        CommunicationTraining.train(samples, features, true, settings, progress, errors);
    AllToAllNet backward =
        CommunicationTraining.train(samples, features, false, settings, progress, errors);
    SortedMap<Integer, Integer> communicationSamples = new TreeMap<>();
    samples
        .communication()
        .forEach((devices, list) -> communicationSamples.put(devices, list.size()));
    SortedSet<String> heldOutTables = new TreeSet<>();
    compute.heldOutTables().forEach(t -> heldOutTables.add(samples.tables().get(t).name()));
    ModelCard card =
        new ModelCard(
            about.description(),
            about.simulated(),
            settings.seed(),
            compute.samples(),
            communicationSamples,
            about.sources(),
            heldOutTables,
            errors);
    return ModelBundleBuilder.builder()
        .modelId("")
        .hardware(about.hardware())
        .card(card)
        .batchSize(samples.batchSize())
        .ranges(TrainedRanges.of(samples, compute.heldOutTables()))
        .features(compute.features())
        .computeCoefficients(compute.coefficients())
        .tower(compute.weights().tower())
        .head(compute.weights().head())
        .communicationFeatures(features)
        .forward(forward)
        .backward(backward)
        .build()
        .identified();
  }

  /**
   * Description of the samples.
   *
   * @param hardware name of the measured hardware
   * @param description the workloads and the hardware that were measured
   * @param simulated whether the costs come from a simulator
   * @param sources origins of the samples
   */
  public record About(
      String hardware, String description, boolean simulated, List<String> sources) {
    /** Copies mutable components. */
    public About {
      sources = List.copyOf(sources);
    }
  }
}
