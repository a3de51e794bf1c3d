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

/** Trains a bundle from labelled samples. The same samples, settings and CPU give the same bits. */
public final class ModelTraining {
  static final int MIN_SAMPLES = 100;

  private ModelTraining() {}

  /**
   * Trains a bundle.
   *
   * @param samples samples with at least 100 computations and 100 exchanges
   * @param about what the bundle's card says of them
   * @param settings how long and how fast
   * @param progress hears of each epoch
   * @throws IllegalArgumentException if there are too few samples
   */
  public static ModelBundle train(
      SampleSet samples, About about, TrainingSettings settings, TrainingProgress progress) {
    int exchanges = samples.communication().values().stream().mapToInt(List::size).sum();
    if (samples.compute().size() < MIN_SAMPLES || exchanges < MIN_SAMPLES) {
      throw new IllegalArgumentException(
          "There are %d compute and %d communication samples; legal are %d and more of each"
              .formatted(samples.compute().size(), exchanges, MIN_SAMPLES));
    }
    SortedMap<String, Double> errors = new TreeMap<>();
    ComputeTraining.Trained compute = ComputeTraining.train(samples, settings, progress, errors);
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
   * What a person says of the samples.
   *
   * @param hardware name of the hardware that was measured
   * @param description what was measured and on what
   * @param simulated whether the costs come from a simulator
   * @param sources where the samples come from
   */
  public record About(
      String hardware, String description, boolean simulated, List<String> sources) {
    /** Copies what may change. */
    public About {
      sources = List.copyOf(sources);
    }
  }
}
