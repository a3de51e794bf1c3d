package io.shardtide.cost;

import java.util.List;
import java.util.Optional;

/** Checks that the parts of a model fit together. */
final class ModelChecks {
  private ModelChecks() {}

  static void correction(String part, Optional<LogCorrection> correction, int size) {
    for (LogCorrection.Member member : correction.map(LogCorrection::members).orElse(List.of())) {
      if (member.weights().length != size || member.draw().length != size) {
        throw new InvalidModelException(
            "the correction of a model's %s must have %s weights, got %s and %s"
                .formatted(part, size, member.weights().length, member.draw().length));
      }
    }
  }

  static void names(String part, List<String> names, List<String> known) {
    names(part, names, known, known.size());
  }

  /**
   * Checks that names are the first ones of those that are known.
   *
   * @param least how many there are at least: newer ones are last
   */
  static void names(String part, List<String> names, List<String> known, int least) {
    if (names.size() < least || !names.equals(firstOf(known, names.size()))) {
      throw new InvalidModelException(
          "%s of a model must be %s, got %s".formatted(part, known, names));
    }
  }

  static void coefficients(String part, List<Double> coefficients, List<String> terms) {
    coefficients(part, coefficients, terms, terms.size());
  }

  /**
   * Checks coefficients of terms.
   *
   * @param least how many there are at least: newer terms are last
   */
  static void coefficients(String part, List<Double> coefficients, List<String> terms, int least) {
    if (coefficients.size() < least
        || !areNonNegative(coefficients, firstOf(terms, coefficients.size()))
        || coefficients.stream().allMatch(c -> c == 0)) {
      throw new InvalidModelException(
          "%s coefficients of a model must be at least 0, not all 0, one for each of %s, got %s"
              .formatted(part, terms, coefficients));
    }
  }

  static void nonNegative(String part, List<Double> coefficients, List<String> terms) {
    if (!areNonNegative(coefficients, terms)) {
      throw new InvalidModelException(
          "%s coefficients of a model must be at least 0, one for each of %s, got %s"
              .formatted(part, terms, coefficients));
    }
  }

  private static List<String> firstOf(List<String> names, int count) {
    return names.subList(0, Math.min(names.size(), count));
  }

  private static boolean areNonNegative(List<Double> coefficients, List<String> terms) {
    return coefficients.size() == terms.size()
        && coefficients.stream().allMatch(c -> c >= 0 && Double.isFinite(c));
  }

  static void tower(List<DenseLayer> tower, int features) {
    if (tower.size() < 2) {
      throw new InvalidModelException(
          "layers of a model's tower must be at least 2, got " + tower.size());
    }
    List<DenseLayer> hidden = tower.subList(0, tower.size() - 1);
    layers("tower", hidden, features);
    int read = hidden.get(hidden.size() - 1).outputs() + features;
    layers("tower", tower.subList(tower.size() - 1, tower.size()), read);
  }

  static void layers(String net, List<DenseLayer> layers, int inputs) {
    if (layers.isEmpty()) {
      throw new InvalidModelException(
          "layers of a model's %s must be at least 1, got 0".formatted(net));
    }
    int width = inputs;
    for (DenseLayer layer : layers) {
      if (layer.inputs() != width) {
        throw new InvalidModelException(
            "inputs of a layer of a model's %s must be %s, got %s"
                .formatted(net, width, layer.inputs()));
      }
      width = layer.outputs();
    }
  }
}
