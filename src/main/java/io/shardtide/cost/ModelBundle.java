package io.shardtide.cost;

import io.shardtide.domain.CanonicalHash;
import java.util.List;
import java.util.Objects;

/**
 * A trained cost model as data: weights, normalisation, and where they come from. Never a graph,
 * never code: a graph from elsewhere could read and write files.
 *
 * @param modelId {@link #contentId}
 * @param hardware name of the hardware whose costs were learned
 * @param card where the model comes from
 * @param batchSize samples in the batches that were measured, over all devices
 * @param features what the tower reads, {@link ShardFeatures#NAMES}
 * @param tower layers of the table tower, each followed by {@code max(0, x)}
 * @param head layers from the sum of a device's towers to its computation in milliseconds
 * @param communicationFeatures what the communication nets read, {@link
 *     CommunicationFeatures#NAMES}
 * @param forward layers to the natural logarithm of the forward exchange in milliseconds, waiting
 *     not included
 * @param backward the same for the backward exchange
 */
public record ModelBundle(
    String modelId,
    String hardware,
    ModelCard card,
    int batchSize,
    List<Feature> features,
    List<DenseLayer> tower,
    List<DenseLayer> head,
    List<Feature> communicationFeatures,
    List<DenseLayer> forward,
    List<DenseLayer> backward) {

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
    features = List.copyOf(features);
    tower = List.copyOf(tower);
    head = List.copyOf(head);
    communicationFeatures = List.copyOf(communicationFeatures);
    forward = List.copyOf(forward);
    backward = List.copyOf(backward);
    if (hardware.isBlank()) {
      throw new InvalidModelException("The model names no hardware");
    }
    if (batchSize < 1) {
      throw new InvalidModelException(
          "The model was measured with " + batchSize + " samples per batch; legal are 1 and more");
    }
    checkFeatures("compute", features, ShardFeatures.NAMES);
    checkFeatures("communication", communicationFeatures, CommunicationFeatures.NAMES);
    checkLayers("tower", tower, features.size(), 0);
    checkLayers("head", head, tower.get(tower.size() - 1).outputs(), 1);
    checkLayers("forward", forward, communicationFeatures.size(), 1);
    checkLayers("backward", backward, communicationFeatures.size(), 1);
  }

  /** Returns this bundle with the id that its content gives it. */
  public ModelBundle identified() {
    return new ModelBundle(
        contentId(),
        hardware,
        card,
        batchSize,
        features,
        tower,
        head,
        communicationFeatures,
        forward,
        backward);
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
    hash.putAll(card.errors().entrySet(), entry -> hash.put(entry.getKey()).put(entry.getValue()));
    hash.put(batchSize);
    putFeatures(hash, features);
    putLayers(hash, tower);
    putLayers(hash, head);
    putFeatures(hash, communicationFeatures);
    putLayers(hash, forward);
    putLayers(hash, backward);
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

  private static void checkFeatures(String net, List<Feature> features, List<String> known) {
    List<String> names = features.stream().map(Feature::name).toList();
    if (!names.equals(known)) {
      throw new InvalidModelException(
          "The model's %s net reads %s; this version computes %s".formatted(net, names, known));
    }
  }

  private static void checkLayers(String net, List<DenseLayer> layers, int inputs, int outputs) {
    if (layers.isEmpty()) {
      throw new InvalidModelException("The model's " + net + " has no layers");
    }
    int width = inputs;
    for (DenseLayer layer : layers) {
      if (layer.inputs() != width) {
        throw new InvalidModelException(
            "A layer of the model's %s reads %d numbers where there are %d"
                .formatted(net, layer.inputs(), width));
      }
      width = layer.outputs();
    }
    if (outputs > 0 && width != outputs) {
      throw new InvalidModelException(
          "The model's %s gives %d numbers; legal is %d".formatted(net, width, outputs));
    }
  }
}
