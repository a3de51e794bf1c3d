package io.shardtide.cost.tensorflow;

import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.ModelCard;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.TrainedRanges;
import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Pretrains a model from labelled samples. The same samples, settings and CPU give the same bits.
 */
public final class ModelTraining {
  static final int MIN_SAMPLES = 100;

  private ModelTraining() {}

  /**
   * Trains a model.
   *
   * @param samples at least 100 computations and 100 all-to-alls of each direction; collectives of
   *     which there are fewer samples are not predicted
   * @param about description of the samples for the model card
   * @param settings hyperparameters
   * @param progress called after each epoch
   * @throws IllegalArgumentException if there are too few samples
   */
  public static ModelBundle train(
      SampleSet samples, About about, TrainingSettings settings, TrainingProgress progress) {
    SortedMap<String, List<CollectiveSample>> collectives = new TreeMap<>();
    for (CollectiveSample sample : samples.collectives()) {
      collectives.computeIfAbsent(sample.shown(), name -> new ArrayList<>()).add(sample);
    }
    collectives.values().removeIf(list -> list.size() < MIN_SAMPLES);
    boolean exchanges =
        Arrays.stream(Direction.values())
            .allMatch(
                direction ->
                    collectives.values().stream().anyMatch(list -> covers(list, direction)));
    if (samples.compute().size() < MIN_SAMPLES || !exchanges) {
      SortedMap<String, Long> counts =
          samples.collectives().stream()
              .collect(
                  Collectors.groupingBy(
                      CollectiveSample::shown, TreeMap::new, Collectors.counting()));
      throw new IllegalArgumentException(
          "there must be at least %d compute samples and %d all-to-alls of each direction, got %d and %s"
              .formatted(MIN_SAMPLES, MIN_SAMPLES, samples.compute().size(), counts));
    }
    SortedMap<String, Double> errors = new TreeMap<>();
    ComputeTraining.TrainedCompute compute =
        ComputeTraining.train(samples, settings, progress, errors);
    List<CollectiveNet> nets = new ArrayList<>();
    SortedMap<String, Integer> collectiveSamples = new TreeMap<>();
    collectives.forEach(
        (name, list) -> {
          nets.add(CollectiveTraining.train(list, settings, progress, errors));
          collectiveSamples.put(name, list.size());
        });
    SortedSet<String> heldOutTables = new TreeSet<>();
    compute.heldOutTables().forEach(t -> heldOutTables.add(samples.tables().get(t).name()));
    ModelCard card =
        new ModelCard(
            about.description(),
            about.simulated(),
            settings.seed(),
            compute.samples(),
            collectiveSamples,
            about.sources(),
            heldOutTables,
            errors,
            Optional.empty());
    return ModelBundleBuilder.builder()
        .modelId("")
        .hardware(about.hardware())
        .card(card)
        .ranges(TrainedRanges.of(samples, compute.heldOutTables()))
        .features(compute.features())
        .forwardCoefficients(compute.forwardCoefficients())
        .backwardCoefficients(compute.backwardCoefficients())
        .measuresDirections(compute.measuresDirections())
        .tower(compute.weights().tower())
        .head(compute.weights().head())
        .collectives(nets)
        .launches(Optional.of(compute.launches()))
        .correction(Optional.empty())
        .build()
        .identified();
  }

  private static boolean covers(List<CollectiveSample> list, Direction direction) {
    CollectiveSample first = list.get(0);
    return first.collective() == Collective.ALL_TO_ALL
        && first.direction().map(d -> d == direction).orElse(true);
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
