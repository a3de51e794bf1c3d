package io.shardtide.cost;

import io.shardtide.domain.CanonicalHash;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.List;
import java.util.Objects;

/**
 * A trained cost model as data: weights, normalisation, and where they come from. Never a graph,
 * never code: an untrusted graph could read and write files.
 *
 * <p>The computation of a device, in milliseconds, for shards with features x and terms t ({@link
 * ComputeTerms}):
 *
 * <pre>
 *   h      = silu(W2 silu(W1 x + b1) + b2)
 *   y      = W3 [h, x] + b3                                   the tower
 *   comp_k = (c . t) exp(y_k)          for the first K of y   latency components
 *   ctx_j  = max(0, y_j)               for the rest
 *   S      = sum over the device's shards of [comp, ctx]
 *   g      = W5 max(0, W4 S/(1+S) + b4) + b5                  the head
 *   ms     = sum over k of S_k (1 + max(0, g_k)) / (1 + max(0, -g_k))
 * </pre>
 *
 * <p>A search keeps only the sums S of a device; the head is a few hundred multiplications without
 * a call of exp.
 *
 * @param modelId {@link #contentId}
 * @param hardware name of the hardware
 * @param card origin of the model
 * @param batchSize samples in the batches that were measured, over all devices
 * @param ranges training range of each of {@link TrainedRanges#QUANTITIES}
 * @param features inputs of the tower, {@link ShardFeatures#NAMES}
 * @param computeCoefficients c: milliseconds per unit of each of {@link ComputeTerms#NAMES}, at
 *     least 0
 * @param tower W1, W2, W3: the last layer reads the outputs of the one before and the features
 * @param head W4, W5: K outputs
 * @param communicationFeatures inputs of the communication nets, {@link
 *     CommunicationFeatures#NAMES}
 * @param forward net of the forward all-to-all, idle time not included
 * @param backward net of the backward all-to-all
 */
@RecordBuilder
public record ModelBundle(
    String modelId,
    String hardware,
    ModelCard card,
    int batchSize,
    List<TrainedRange> ranges,
    List<Feature> features,
    List<Double> computeCoefficients,
    List<DenseLayer> tower,
    List<DenseLayer> head,
    List<Feature> communicationFeatures,
    AllToAllNet forward,
    AllToAllNet backward) {

  /** The format that this version writes; a reader refuses a larger one. */
  public static final int FORMAT_MAJOR = 1;

  /** Additions to the format that an older reader may ignore. */
  public static final int FORMAT_MINOR = 0;

  /**
   * Copies what may change and checks that the parts fit together.
   *
   * @throws InvalidModelException if they do not
   */
  public ModelBundle {
    Objects.requireNonNull(modelId, "modelId");
    Objects.requireNonNull(hardware, "hardware");
    Objects.requireNonNull(card, "card");
    ranges = List.copyOf(ranges);
    features = List.copyOf(features);
    computeCoefficients = List.copyOf(computeCoefficients);
    tower = List.copyOf(tower);
    head = List.copyOf(head);
    communicationFeatures = List.copyOf(communicationFeatures);
    if (hardware.isBlank()) {
      throw new InvalidModelException("hardware of a model must have a name, got a blank text");
    }
    if (batchSize < 1) {
      throw new InvalidModelException(
          "samples per batch of a model must be at least 1, got " + batchSize);
    }
    checkNames(
        "ranges", ranges.stream().map(TrainedRange::quantity).toList(), TrainedRanges.QUANTITIES);
    checkNames("compute net", features.stream().map(Feature::name).toList(), ShardFeatures.NAMES);
    checkNames(
        "communication nets",
        communicationFeatures.stream().map(Feature::name).toList(),
        CommunicationFeatures.NAMES);
    checkCoefficients("compute", computeCoefficients, ComputeTerms.NAMES);
    checkCoefficients("forward", forward.coefficients(), AllToAllTerms.NAMES);
    checkCoefficients("backward", backward.coefficients(), AllToAllTerms.NAMES);
    checkTower(tower, features.size());
    checkLayers("head", head, tower.get(tower.size() - 1).outputs());
    int components = head.get(head.size() - 1).outputs();
    if (components > head.get(0).inputs()) {
      throw new InvalidModelException(
          "the head must correct at most %d latency components, got %d"
              .formatted(head.get(0).inputs(), components));
    }
    for (AllToAllNet net : List.of(forward, backward)) {
      checkLayers("all-to-all", net.layers(), communicationFeatures.size());
      if (net.layers().get(net.layers().size() - 1).outputs() != 1) {
        throw new InvalidModelException("outputs of a model's all-to-all net must be 1");
      }
    }
  }

  /** Returns the number of tower outputs. */
  public int towerSize() {
    return head.get(0).inputs();
  }

  /** Returns K, the number of latency components among them. */
  public int latencyComponents() {
    return head.get(head.size() - 1).outputs();
  }

  /**
   * Returns what the communication nets read for an all-to-all load: the columns that carry as much
   * in a batch of the sampled size.
   *
   * @param elements numbers that a device contributes to the all-to-all of a step
   */
  public double sampledColumns(double elements) {
    return elements / batchSize;
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
            .put(card.simulated() ? 1 : 0)
            .put(card.seed())
            .put(card.computeSamples());
    hash.putAll(
        card.communicationSamples().entrySet(),
        entry -> hash.put(entry.getKey()).put(entry.getValue()));
    hash.putAll(card.sources(), hash::put);
    hash.putAll(card.heldOutTables(), hash::put);
    hash.putAll(card.errors().entrySet(), entry -> hash.put(entry.getKey()).put(entry.getValue()));
    hash.put(batchSize);
    hash.putAll(ranges, range -> hash.put(range.quantity()).put(range.min()).put(range.max()));
    putFeatures(hash, features);
    hash.putAll(computeCoefficients, c -> hash.put((double) c));
    putLayers(hash, tower);
    putLayers(hash, head);
    putFeatures(hash, communicationFeatures);
    for (AllToAllNet net : List.of(forward, backward)) {
      hash.putAll(net.coefficients(), c -> hash.put((double) c));
      putLayers(hash, net.layers());
    }
    return hash.hex();
  }

  private static void putFeatures(CanonicalHash hash, List<Feature> features) {
    hash.putAll(
        features,
        feature ->
            hash.put(feature.name())
                .put(feature.mean())
                .put(feature.scale())
                .put(feature.min())
                .put(feature.max()));
  }

  private static void putLayers(CanonicalHash hash, List<DenseLayer> layers) {
    hash.putAll(
        layers,
        layer ->
            hash.put(layer.inputs()).put(layer.outputs()).put(layer.weights()).put(layer.biases()));
  }

  private static void checkNames(String part, List<String> names, List<String> known) {
    if (!names.equals(known)) {
      throw new InvalidModelException(
          "%s of a model must be %s, got %s".formatted(part, known, names));
    }
  }

  private static void checkCoefficients(
      String part, List<Double> coefficients, List<String> terms) {
    if (coefficients.size() != terms.size()
        || coefficients.stream().anyMatch(c -> !(c >= 0 && Double.isFinite(c)))
        || coefficients.stream().allMatch(c -> c == 0)) {
      throw new InvalidModelException(
          "%s coefficients of a model must be at least 0, not all 0, one for each of %s, got %s"
              .formatted(part, terms, coefficients));
    }
  }

  private static void checkTower(List<DenseLayer> tower, int features) {
    if (tower.size() < 2) {
      throw new InvalidModelException(
          "layers of a model's tower must be at least 2, got " + tower.size());
    }
    List<DenseLayer> hidden = tower.subList(0, tower.size() - 1);
    checkLayers("tower", hidden, features);
    int read = hidden.get(hidden.size() - 1).outputs() + features;
    checkLayers("tower", tower.subList(tower.size() - 1, tower.size()), read);
  }

  private static void checkLayers(String net, List<DenseLayer> layers, int inputs) {
    if (layers.isEmpty()) {
      throw new InvalidModelException(
          "layers of a model's %s must be at least 1, got 0".formatted(net));
    }
    int width = inputs;
    for (DenseLayer layer : layers) {
      if (layer.inputs() != width) {
        throw new InvalidModelException(
            "inputs of a layer of a model's %s must be %d, got %d"
                .formatted(net, width, layer.inputs()));
      }
      width = layer.outputs();
    }
  }
}
