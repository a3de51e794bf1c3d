package io.shardtide.cost.tensorflow;

import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.Links;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.ModelCard;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.TrainedRanges;
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.SortedMap;
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
   * @param samples at least 100 computations; collectives of which there are fewer than 100 samples
   *     count as not measured
   * @param links predict the collectives that were not measured; without them, all-to-alls of both
   *     directions must be measured, and other collectives may be missing
   * @param from a model, of other hardware as a rule, that training starts from: fewer than 100
   *     computations with cached shards count as not measured, and then costs of caches are those
   *     of this model, scaled; if its predictions, scaled, are nearer to the samples than fitted
   *     terms are, its weights are the first ones
   * @param about description of the samples for the model card
   * @param settings hyperparameters
   * @param progress called after each epoch
   * @throws IllegalArgumentException if there are too few samples, or training does not make nets
   *     of the sizes that {@code from} has
   */
  public static ModelBundle train(
      SampleSet samples,
      Optional<Links> links,
      Optional<ModelBundle> from,
      About about,
      TrainingSettings settings,
      TrainingProgress progress) {
    SortedMap<String, List<CollectiveSample>> collectives = new TreeMap<>();
    for (CollectiveSample sample : samples.collectives()) {
      collectives.computeIfAbsent(sample.shown(), name -> new ArrayList<>()).add(sample);
    }
    collectives.values().removeIf(list -> list.size() < MIN_SAMPLES);
    Map<Direction, Set<Collective>> unmeasured = unmeasured(collectives.values());
    boolean lacksAllToAlls =
        unmeasured.values().stream().anyMatch(some -> some.contains(Collective.ALL_TO_ALL));
    if (samples.compute().size() < MIN_SAMPLES || (lacksAllToAlls && links.isEmpty())) {
      SortedMap<String, Long> counts =
          samples.collectives().stream()
              .collect(
                  Collectors.groupingBy(
                      CollectiveSample::shown, TreeMap::new, Collectors.counting()));
      throw new IllegalArgumentException(
          "there must be at least %s compute samples and %s all-to-alls of each direction, got %s and %s. If collectives cannot be measured, give the links of a data sheet (pretrain --links)"
              .formatted(MIN_SAMPLES, MIN_SAMPLES, samples.compute().size(), counts));
    }
    SortedMap<String, Double> errors = new TreeMap<>();
    ComputeTraining.TrainedCompute compute =
        new ComputeTraining(samples, from.map(StartingModel::new), settings)
            .train(progress, errors);
    List<CollectiveNet> nets = new ArrayList<>();
    SortedMap<String, Integer> collectiveSamples = new TreeMap<>();
    collectives.forEach(
        (name, list) -> {
          nets.add(new CollectiveTraining(list, settings.seed()).train(settings, progress, errors));
          collectiveSamples.put(name, list.size());
        });
    List<String> sources = new ArrayList<>(about.sources());
    compute
        .startedFrom()
        .ifPresent(
            origin ->
                sources.add(
                    "first weights: %s, %s"
                        .formatted(origin.hardware(), CanonicalHash.shown(origin.modelId()))));
    SampleSet ranged = samples;
    if (links.isPresent() && unmeasured.values().stream().anyMatch(some -> !some.isEmpty())) {
      DataSheetCollectives sheet = new DataSheetCollectives(links.get(), settings, progress);
      unmeasured.forEach(
          (direction, some) ->
              some.forEach(collective -> nets.add(sheet.net(collective, direction))));
      List<CollectiveSample> all = new ArrayList<>(samples.collectives());
      all.addAll(sheet.samples());
      sources.add(links.get().describe());
      ranged = samples.with(samples.compute(), all);
    }
    ModelCard card =
        new ModelCard(
            about.description(),
            about.simulated(),
            settings.seed(),
            compute.samples(),
            collectiveSamples,
            sources,
            new TreeSet<>(compute.heldOutTables()),
            errors,
            Optional.empty());
    ComputeTraining.ShardTable fitted = compute.fitted();
    return ModelBundleBuilder.builder()
        .modelId("")
        .hardware(about.hardware())
        .card(card)
        .ranges(TrainedRanges.of(ranged, compute.heldOutTables()))
        .features(fitted.features)
        .forwardCoefficients(fitted.forward)
        .backwardCoefficients(fitted.backward)
        .measuresDirections(fitted.measuresDirections)
        .tower(compute.weights().tower())
        .head(compute.weights().head())
        .collectives(nets)
        .launches(Optional.of(fitted.launches))
        .correction(Optional.empty())
        .optimizers(fitted.state.optimizers)
        .cachesFrom(compute.cachesFrom())
        .hostLinkGbs(links.map(of -> of.sheet().hostGbs()).orElse(OptionalDouble.empty()))
        .build()
        .identified();
  }

  /** Returns the collectives that steps need and that no samples are of, by direction. */
  private static Map<Direction, Set<Collective>> unmeasured(
      Collection<List<CollectiveSample>> measured) {
    Map<Direction, Set<Collective>> unmeasured = new EnumMap<>(Direction.class);
    for (Direction direction : Direction.values()) {
      Set<Collective> some = EnumSet.noneOf(Collective.class);
      for (ShardScope scope : ShardScope.values()) {
        some.addAll(scope.collectives(direction));
      }
      measured.stream()
          .map(list -> list.get(0))
          .filter(sample -> sample.direction().orElse(direction) == direction)
          .forEach(sample -> some.remove(sample.collective()));
      unmeasured.put(direction, some);
    }
    return unmeasured;
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
