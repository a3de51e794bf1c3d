package io.shardtide.cost;

import io.shardtide.plan.Shard;
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Named;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.TableSpec;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * A trained cost model as data: weights, normalisation, and where they come from. Never a graph,
 * never code: an untrusted graph could read and write files.
 *
 * <p>The computation of a device, in milliseconds, for shards with features x and terms t ({@link
 * ComputeTerms}), forward (f) and backward (b):
 *
 * <pre>
 *   h      = silu(W2 silu(W1 x + b1) + b2)
 *   y      = W3 [h, x] + b3                                   the tower
 *   comp_k = (c_f . t) exp(y_k)        for the first K of y   forward latency components
 *   comp_k = (c_b . t) exp(y_k)        for the next K         backward latency components
 *   ctx_j  = max(0, y_j)               for the rest
 *   S      = sum over the device's shards of [comp, ctx]
 *   F, B   = sums of S over the forward and over the backward components
 *   r      = [S_f / F, S_b / B, S_ctx / (1 + S_ctx), F/(F+q), B/(B+q) for q = 0.03, 0.3, 3 ms]
 *   g      = W5 max(0, W4 r + b4) + b5                        the head
 *   ms     = sum over k of S_k (1 + max(0, g_k)) / (1 + max(0, -g_k))
 * </pre>
 *
 * <p>Where launch groups were fitted ({@link LaunchGroups}), S and the head are of one group, its
 * head also reads how wide the group's widest shard is, and a device takes the sum over its groups
 * of ms and (l_f + l_b) . u, u being the terms of the group.
 *
 * <p>The head reads shares of latency components and how large their sums are, because which of
 * them overlap depends on their ratio: a kernel takes the longer of what its memory and its lanes
 * need, whatever the size. A search keeps only the sums S of a device; the head is a few hundred
 * multiplications without a call of exp.
 *
 * @param modelId {@link #contentId}
 * @param hardware name of the hardware
 * @param card origin of the model
 * @param ranges training range of each of {@link TrainedRanges#QUANTITIES}
 * @param features inputs of the tower, {@link ShardFeatures#NAMES}, of older models the first ones
 * @param forwardCoefficients c_f: milliseconds per unit of each of {@link ComputeTerms#NAMES}, of
 *     older models the first ones, at least 0
 * @param backwardCoefficients c_b, likewise
 * @param measuresDirections whether forward and backward computation were measured apart; if not,
 *     only their sum means anything
 * @param tower W1, W2, W3: the last layer reads the outputs of the one before and the features
 * @param head W4, W5: 2 K outputs
 * @param collectives predict collectives, at least the all-to-alls of both directions; one that was
 *     neither measured nor on a data sheet is missing
 * @param launches what a launch costs beside its shards; empty for a model of before launch groups,
 *     which sees all shards of a device as one
 * @param correction what measurements of running plans say about the computation of shards, over
 *     {@link ShapeBasis}; empty for a model that was not fine-tuned
 * @param optimizers those that were measured, in order; empty for a model that does not tell them
 *     apart. Others cost what the coefficients of the terms of state say
 * @param cachesFrom the model of other hardware whose costs of cached shards it has, scaled, since
 *     they were not measured; empty for all others
 * @param hostLinkGbs bandwidth of a device's link to host memory, in 10^9 bytes a second, above 0,
 *     of a data sheet; empty: that of published runs ({@link HostLink})
 */
@RecordBuilder
public record ModelBundle(
    String modelId,
    String hardware,
    ModelCard card,
    List<TrainedRange> ranges,
    List<Feature> features,
    List<Double> forwardCoefficients,
    List<Double> backwardCoefficients,
    boolean measuresDirections,
    List<DenseLayer> tower,
    List<DenseLayer> head,
    List<CollectiveNet> collectives,
    Optional<LaunchCosts> launches,
    Optional<LogCorrection> correction,
    List<Optimizer> optimizers,
    Optional<ModelOrigin> cachesFrom,
    OptionalDouble hostLinkGbs) {

  /** The format that this version writes; a reader refuses another one. */
  public static final int FORMAT_MAJOR = 2;

  /** Additions to the format that an older reader may ignore. */
  public static final int FORMAT_MINOR = 3;

  /**
   * Copies what may change and checks that the parts fit together.
   *
   * @throws InvalidModelException if they do not
   */
  public ModelBundle {
    ranges = List.copyOf(ranges);
    features = List.copyOf(features);
    forwardCoefficients = List.copyOf(forwardCoefficients);
    backwardCoefficients = List.copyOf(backwardCoefficients);
    tower = List.copyOf(tower);
    head = List.copyOf(head);
    collectives = List.copyOf(collectives);
    optimizers = optimizers.stream().distinct().sorted().toList();
    ModelChecks.correction("tower", correction, ShapeBasis.SIZE);
    double gbs = hostLinkGbs.orElse(HostLink.PUBLISHED_GBS);
    if (!(gbs > 0 && Double.isFinite(gbs))) {
      throw new InvalidModelException(
          "GB/s of a model's host link must be a finite number above 0, got " + gbs);
    }
    if (hardware.isBlank()) {
      throw new InvalidModelException("hardware of a model must have a name, got a blank text");
    }
    ModelChecks.names(
        "ranges", ranges.stream().map(TrainedRange::quantity).toList(), TrainedRanges.QUANTITIES);
    ModelChecks.names(
        "compute net",
        features.stream().map(Feature::name).toList(),
        ShardFeatures.NAMES,
        ShardFeatures.FIRST);
    ModelChecks.coefficients(
        "forward", forwardCoefficients, ComputeTerms.NAMES, ComputeTerms.FIRST);
    ModelChecks.coefficients(
        "backward", backwardCoefficients, ComputeTerms.NAMES, ComputeTerms.FIRST);
    ModelChecks.tower(tower, features.size());
    int components = head.isEmpty() ? 0 : head.get(head.size() - 1).outputs();
    int outputs = tower.get(tower.size() - 1).outputs();
    if (components < 2 || components % 2 != 0 || components > outputs) {
      throw new InvalidModelException(
          "the head must correct an even number of latency components, 2 to %s, got %s"
              .formatted(outputs, components));
    }
    ModelChecks.layers("head", head, HeadInputs.size(outputs, launches.isPresent()));
    Set<String> predicted = new HashSet<>();
    for (CollectiveNet net : collectives) {
      if (!predicted.add(net.shown())) {
        throw new InvalidModelException(
            "nets of a model must be one for each collective, got two for " + net.shown());
      }
    }
    for (Direction direction : Direction.values()) {
      if (collectives.stream().noneMatch(net -> predicts(net, Collective.ALL_TO_ALL, direction))) {
        throw new InvalidModelException(
            "a model must predict the %s all-to-all, got nets of %s"
                .formatted(direction.label(), predicted));
      }
    }
  }

  private static boolean predicts(CollectiveNet net, Collective collective, Direction direction) {
    return net.collective() == collective && net.covers(direction);
  }

  /** Returns whether measurements of running plans changed the model. */
  public boolean isFineTuned() {
    return correction.isPresent();
  }

  /**
   * Returns the length of a tower's output: what the head reads, the numbers of the launch group,
   * and of a fine-tuned model the standard deviation of the shard's cost, in milliseconds.
   */
  public int towerSize() {
    return headOutputs()
        + (launches.isPresent() ? LaunchGroups.NUMBERS : 0)
        + (isFineTuned() ? 1 : 0);
  }

  /**
   * Returns the length of a launch group's segment of a sum of towers: a tower's output, followed
   * by {@link AddedMs}.
   */
  public int segmentSize() {
    return towerSize() + AddedMs.NUMBERS;
  }

  /** Returns the length of a device's sum of towers: a segment for each launch group. */
  public int sumSize() {
    return segmentSize() * (launches.isPresent() ? LaunchGroups.COUNT : 1);
  }

  /** Returns how many of a tower's outputs the head reads. */
  public int headOutputs() {
    return tower.get(tower.size() - 1).outputs();
  }

  /** Returns the number of latency components among them, 2 K: the forward ones come first. */
  public int latencyComponents() {
    return head.get(head.size() - 1).outputs();
  }

  /** Returns the net of a collective, if it was measured. */
  public Optional<CollectiveNet> collective(Collective collective, Direction direction) {
    return collectives.stream().filter(net -> predicts(net, collective, direction)).findFirst();
  }

  /** Returns whether a measured collective can be predicted. */
  public boolean predicts(CollectiveSample sample) {
    return collective(sample.collective(), sample.direction().orElse(Direction.FORWARD))
        .isPresent();
  }

  /**
   * Returns the hardware whose costs the model predicts, if that is other hardware: until the
   * model's own is measured.
   */
  public Optional<String> proxyHardware() {
    return card.beganAs().filter(began -> card.computeSamples() == 0).map(ModelOrigin::hardware);
  }

  /** Returns how the model began as that of other hardware, for people; empty if it did not. */
  public Optional<String> describeOrigin() {
    return card.beganAs()
        .map(
            began ->
                proxyHardware().isPresent()
                    ? ModelOrigin.describe(began.hardware(), hardware)
                    : "began as "
                        + began.hardware()
                        + ", fine-tuned on "
                        + card.computeSamples()
                        + " computations of "
                        + hardware);
  }

  /** Returns the collectives that nobody measured, whose costs come from a data sheet. */
  public List<String> fromDataSheet() {
    return collectives.stream()
        .filter(net -> net.source() == CollectiveSource.DATA_SHEET)
        .map(CollectiveNet::shown)
        .toList();
  }

  /**
   * Returns whose links costs of collectives come from, for people: names the collectives if they
   * are not all. Empty if all were measured.
   */
  public Optional<String> describeLinks() {
    List<String> some = fromDataSheet();
    if (some.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        "links of %s from a data sheet%s"
            .formatted(
                card.beganAs().map(ModelOrigin::hardware).orElse(hardware),
                some.size() == collectives.size() ? "" : " (" + String.join(", ", some) + ")"));
  }

  /** Returns how fast the link to host memory is taken to be, for people. */
  public String describeHostLink() {
    return "host link of %s GB/s a device, %s"
        .formatted(
            hostLinkGbs.orElse(HostLink.PUBLISHED_GBS),
            hostLinkGbs.isPresent() ? "from a data sheet" : "as in published runs");
  }

  /** Returns whose costs of cached shards it has, for people; empty if that is its own hardware. */
  public Optional<String> describeCaches() {
    return cachesFrom.map(origin -> "caches from " + origin.hardware() + ", scaled");
  }

  /** Returns the same where a plan depends on it: if one of its shards has a cache. */
  public Optional<String> describeCaches(List<Shard> shards) {
    return describeCaches()
        .filter(text -> shards.stream().anyMatch(shard -> shard.cacheShare().isPresent()));
  }

  /**
   * Returns which optimizers of tables nobody measured, for people. Empty if all were measured, or
   * the model does not tell optimizers apart and no table names one.
   */
  public Optional<String> describeOptimizers(Collection<TableSpec> tables) {
    NavigableSet<Optimizer> used = new TreeSet<>();
    for (TableSpec table : tables) {
      table.optimizer().ifPresent(used::add);
      if (table.optimizer().isEmpty() && !optimizers.isEmpty()) {
        used.add(Optimizer.DEFAULT);
      }
    }
    optimizers.forEach(used::remove);
    if (used.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        optimizers.isEmpty()
            ? "costs do not tell optimizers apart"
            : "costs of " + Named.join(used) + " by the bytes of their state");
  }

  /** Returns whose costs a plan has where the hardware's own were not measured, for people. */
  public Stream<String> describeUnmeasured(Collection<TableSpec> tables, List<Shard> shards) {
    return Stream.of(describeLinks(), describeOptimizers(tables), describeCaches(shards))
        .flatMap(Optional::stream);
  }

  /**
   * Returns the card's description, after how the model began as that of other hardware and what
   * was not measured.
   */
  public String describe() {
    return describe(card.description());
  }

  /**
   * Returns a text after how the model began as that of other hardware and what was not measured.
   */
  public String describe(String text) {
    List<String> parts = new ArrayList<>(describeOrigin().stream().toList());
    parts.addAll(unmeasured());
    parts.add(text);
    return String.join("; ", parts);
  }

  /** Returns whose links and whose caches it has, where its own were not measured, for people. */
  public List<String> unmeasured() {
    return Stream.of(describeLinks(), describeCaches()).flatMap(Optional::stream).toList();
  }

  /** Returns the beginning of the id, for display. */
  public String shown() {
    return CanonicalHash.shown(modelId);
  }

  /** Returns this bundle with the id that follows from its content. */
  public ModelBundle identified() {
    return ModelBundleBuilder.builder(this).modelId(contentId()).build();
  }

  /** Returns SHA-256 over the content, as 64 hexadecimal digits. */
  public String contentId() {
    CanonicalHash hash =
        new CanonicalHash("CostModelBundle/" + FORMAT_MAJOR)
            .put(hardware)
            .put(card.description())
            .put(card.simulated())
            .put(card.seed())
            .put(card.computeSamples())
            .put(card.collectiveSamples())
            .put(card.sources())
            .put(card.heldOutTables())
            .put(card.errors())
            .put(ranges)
            .put(features)
            .put(forwardCoefficients)
            .put(backwardCoefficients)
            .put(measuresDirections)
            .put(tower)
            .put(head);
    hash.putAll(
        collectives,
        net -> {
          hash.put(net.shown()).put(net.features()).put(net.coefficients()).put(net.layers());
          putCorrection(hash, net.correction());
          // Ids of models whose collectives were all measured are older than this.
          if (net.source() != CollectiveSource.MEASURED) {
            hash.put(net.source());
          }
        });
    // Ids of models that did not begin as another one are older than this.
    card.beganAs().ifPresent(hash::put);
    putCorrection(hash, correction);
    launches.ifPresent(hash::put);
    // Ids of models that do not tell optimizers apart are older than this.
    optimizers.forEach(hash::put);
    // Ids of models whose costs of caches are their own are older than this.
    cachesFrom.ifPresent(hash::put);
    // Ids of models without a host link of their own are older than this.
    hostLinkGbs.ifPresent(of -> hash.put("host link").put(of));
    return hash.hex();
  }

  /**
   * Puts a correction; without one nothing, so that a model that was not fine-tuned keeps its id.
   */
  private static void putCorrection(CanonicalHash hash, Optional<LogCorrection> correction) {
    if (correction.isPresent()) {
      hash.putAll(
          correction.get().members(),
          member -> {
            hash.put(member.phase());
            Arrays.stream(member.weights()).forEach(hash::put);
            Arrays.stream(member.draw()).forEach(hash::put);
          });
    }
  }
}
