package io.shardtide.cost;

import java.util.List;

/**
 * Predicts the duration of an all-to-all on a device: a sum of {@link AllToAllTerms}, times e to
 * the power of a net's output.
 *
 * @param coefficients milliseconds per unit of each term, at least 0
 * @param layers layers from {@link CommunicationFeatures} to the correction's natural logarithm,
 *     {@code max(0, x)} between them
 */
public record AllToAllNet(List<Double> coefficients, List<DenseLayer> layers) {
  /** Copies what may change. */
  public AllToAllNet {
    coefficients = List.copyOf(coefficients);
    layers = List.copyOf(layers);
  }
}
