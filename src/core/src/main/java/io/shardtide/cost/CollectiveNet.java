package io.shardtide.cost;

import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import java.util.List;
import java.util.Optional;

/**
 * Predicts the duration of a collective that all devices begin together: a sum of terms, times e to
 * the power of a net's output. {@link CollectiveInputs} has both inputs.
 *
 * @param collective the collective
 * @param direction the half of a step that it was measured in; empty if it stands for both
 * @param features inputs of the net
 * @param coefficients milliseconds per unit of each term, at least 0
 * @param layers layers from the features to the correction's natural logarithm, {@code max(0, x)}
 *     between them
 * @param correction what measurements of running plans say, over {@link CollectiveBasis}; empty if
 *     nothing
 * @param source where coefficients and layers come from; a correction does not change it
 */
public record CollectiveNet(
    Collective collective,
    Optional<Direction> direction,
    List<Feature> features,
    List<Double> coefficients,
    List<DenseLayer> layers,
    Optional<LogCorrection> correction,
    CollectiveSource source) {

  /**
   * Copies what may change and checks that the parts fit together.
   *
   * @throws InvalidModelException if they do not
   */
  public CollectiveNet {
    features = List.copyOf(features);
    coefficients = List.copyOf(coefficients);
    layers = List.copyOf(layers);
    String name = collective.label();
    ModelChecks.names(
        name, features.stream().map(Feature::name).toList(), CollectiveInputs.features(collective));
    ModelChecks.coefficients(name, coefficients, CollectiveInputs.terms(collective));
    ModelChecks.layers(name, layers, features.size());
    ModelChecks.correction(name, correction, CollectiveBasis.SIZE);
    if (layers.get(layers.size() - 1).outputs() != 1) {
      throw new InvalidModelException("outputs of a model's %s net must be 1".formatted(name));
    }
  }

  /** A net of measured samples that was not fine-tuned. */
  public CollectiveNet(
      Collective collective,
      Optional<Direction> direction,
      List<Feature> features,
      List<Double> coefficients,
      List<DenseLayer> layers) {
    this(
        collective,
        direction,
        features,
        coefficients,
        layers,
        Optional.empty(),
        CollectiveSource.MEASURED);
  }

  /** Returns this net without a correction. */
  public CollectiveNet uncorrected() {
    return with(Optional.empty());
  }

  /** Returns this net with a correction. */
  public CollectiveNet corrected(LogCorrection by) {
    return with(Optional.of(by));
  }

  private CollectiveNet with(Optional<LogCorrection> other) {
    return new CollectiveNet(collective, direction, features, coefficients, layers, other, source);
  }

  /** Returns whether this predicts a direction. */
  boolean covers(Direction of) {
    return direction.isEmpty() || direction.get() == of;
  }

  /** Returns whether this predicts what a sample measures, or a part of it. */
  public boolean covers(CollectiveSample sample) {
    return collective == sample.collective()
        && (direction.isEmpty()
            || sample.direction().isEmpty()
            || direction.equals(sample.direction()));
  }

  /** Returns what this predicts, for display: {@code all_to_all.forward}, say. */
  public String shown() {
    return collective.label() + direction.map(d -> "." + d.label()).orElse("");
  }
}
