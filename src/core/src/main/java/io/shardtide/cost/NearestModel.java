package io.shardtide.cost;

import io.shardtide.plan.OutOfRange;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.ShardScope;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The model that hardware without a model begins with: that of the nearest hardware, under another
 * name. A function of models and cluster.
 */
public final class NearestModel {
  /**
   * Kinds of hardware that may have the costs of others at a time. Each has a model of its own on
   * the log and in each planner's memory, 55 KB, for ever; nobody has so many machines that nobody
   * measured, but a program may write a new name into each event.
   */
  public static final int MOST_BORROWED = 64;

  private static final double LN_2 = StrictMath.log(2);

  private NearestModel() {}

  /**
   * Returns the first model of a cluster's hardware.
   *
   * <p>It begins as the model whose training range is nearest to the cluster ({@link #distance}).
   * Of several, a model of measured costs is taken before one of simulated costs (that of an H200
   * is off by 8% on plans of an H100, the simulated one by 24%: models/README.md), then the one
   * whose hardware has the longest part of its name in common, then the first by name. Models that
   * began as others themselves are not taken: what they know of their hardware may be little.
   *
   * @param models the current models
   * @param cluster a cluster of hardware without a model
   * @return empty if no model is left
   * @throws RejectedException if {@link #MOST_BORROWED} kinds of hardware have the costs of others
   */
  public static Optional<ModelBundle> begin(Collection<ModelBundle> models, ClusterSpec cluster) {
    requireRoom(models, cluster.hardware());
    return models.stream()
        .filter(model -> model.card().beganAs().isEmpty())
        .min(
            Comparator.comparingDouble((ModelBundle model) -> distance(model, cluster))
                .thenComparing(model -> model.card().simulated())
                .thenComparing(model -> -commonLength(model.hardware(), cluster.hardware()))
                .thenComparing(ModelBundle::hardware))
        .map(nearest -> renamed(nearest, cluster.hardware()));
  }

  /** Returns whether another kind of hardware may begin with the costs of others. */
  public static boolean hasRoom(Collection<ModelBundle> models) {
    return borrowed(models).size() < MOST_BORROWED;
  }

  /**
   * Checks that another kind of hardware may begin with the costs of others.
   *
   * @param hardware its name
   * @throws RejectedException if not
   */
  public static void requireRoom(Collection<ModelBundle> models, String hardware) {
    if (!hasRoom(models)) {
      throw RejectionReason.UNKNOWN_HARDWARE.failure(
          "hardware without a model of its own must be at most %s kinds, which begin with the nearest model; got \"%s\" beside %s. Maybe a mistyped name? Correct it, or train a model of this hardware: docs/MODELS.md"
              .formatted(MOST_BORROWED, hardware, borrowed(models)));
    }
  }

  private static SortedSet<String> borrowed(Collection<ModelBundle> models) {
    return models.stream()
        .filter(model -> model.proxyHardware().isPresent())
        .map(ModelBundle::hardware)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /**
   * Returns how far a cluster is outside of a model's training range, in doublings: those from its
   * batch, its devices and its devices per node to the range, and one for each collective that the
   * model does not predict, because it then lacks a kind of shards.
   */
  static double distance(ModelBundle model, ClusterSpec cluster) {
    double doublings = 0;
    for (OutOfRange outside : new TrainedRanges(model.ranges()).ofCluster(cluster)) {
      doublings += StrictMath.log(outside.factor()) / LN_2;
    }
    for (Direction direction : cluster.devices() > 1 ? Direction.values() : new Direction[0]) {
      List<Collective> needed =
          Arrays.stream(ShardScope.values())
              .flatMap(scope -> scope.collectives(direction).stream())
              .distinct()
              .toList();
      doublings += needed.stream().filter(c -> model.collective(c, direction).isEmpty()).count();
    }
    return doublings;
  }

  /** Returns the length of the longest text that both names have, in upper or lower case. */
  private static int commonLength(String one, String other) {
    String in = other.toLowerCase(Locale.ROOT);
    String name = one.toLowerCase(Locale.ROOT);
    int longest = 0;
    for (int from = 0; from < name.length(); from++) {
      while (from + longest < name.length()
          && in.contains(name.substring(from, from + longest + 1))) {
        longest++;
      }
    }
    return longest;
  }

  /** Samples and errors are those of the other hardware: the card has none. */
  private static ModelBundle renamed(ModelBundle nearest, String hardware) {
    ModelCard card = nearest.card();
    return ModelBundleBuilder.builder(nearest)
        .modelId("")
        .hardware(hardware)
        .card(
            new ModelCard(
                card.description(),
                card.simulated(),
                card.seed(),
                0,
                new TreeMap<>(),
                List.of(),
                new TreeSet<>(card.heldOutTables()),
                new TreeMap<>(),
                Optional.of(new ModelOrigin(nearest.hardware(), nearest.modelId()))))
        .build()
        .identified();
  }
}
