package io.shardtide.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.shardtide.workload.Names;
import java.util.List;
import java.util.Optional;

/**
 * Finds what is wrong with links that somebody wrote, in the words of the file: Avro's decoder
 * names types of tokens, and Jackson its own settings.
 */
final class LinksText {
  private static final int MAX_SHOWN = 80;
  private static final String MATRIX = "matrix";
  private static final List<String> BANDWIDTHS = List.of("withinRacks", "betweenRacks");

  private LinksText() {}

  /**
   * Checks links.
   *
   * @throws IllegalArgumentException if a value is of a wrong type
   */
  static void check(JsonNode links) {
    Optional<String> problem =
        links.isObject()
            ? racks(links).or(() -> matrix(links))
            : Optional.of("links must be an object, got " + shown(links));
    if (problem.isPresent()) {
      throw new IllegalArgumentException(problem.get());
    }
  }

  private static Optional<String> racks(JsonNode links) {
    for (String name : BANDWIDTHS) {
      if (links.has(name) && !isNumber(links.get(name))) {
        return Optional.of(
            "%s must be a number of GB/s, got %s".formatted(name, shown(links.get(name))));
      }
    }
    return links.has(MATRIX) || links.has("nodes") || BANDWIDTHS.stream().allMatch(links::has)
        ? Optional.empty()
        : Optional.of(
            "links must have nodes and matrix, or withinRacks and betweenRacks, got "
                + shown(links));
  }

  private static Optional<String> matrix(JsonNode links) {
    JsonNode matrix = links.path(MATRIX);
    if (!matrix.isMissingNode() && !matrix.isArray()) {
      return Optional.of("matrix must be a list of rows, got " + shown(matrix));
    }
    for (int i = 0; i < matrix.size(); i++) {
      String row = name(links, i);
      if (!matrix.get(i).isArray()) {
        return Optional.of(
            "the row of %s must be a list of numbers, got %s".formatted(row, shown(matrix.get(i))));
      }
      for (int j = 0; j < matrix.get(i).size(); j++) {
        JsonNode entry = matrix.get(i).get(j);
        if (!isNumber(entry)) {
          return Optional.of(
              "bandwidth from %s to %s must be a number%s, got %s"
                  .formatted(
                      row,
                      i == j ? "itself" : name(links, j),
                      i == j ? ", such as 0, although it is not used" : " of GB/s",
                      shown(entry)));
        }
      }
    }
    return Optional.empty();
  }

  private static String name(JsonNode links, int position) {
    JsonNode name = links.path("nodes").path(position);
    return name.isTextual() ? Names.quote(name.textValue()) : "node " + (position + 1);
  }

  private static boolean isNumber(JsonNode value) {
    return value.isNumber() && Double.isFinite(value.doubleValue());
  }

  private static String shown(JsonNode value) {
    String text = value.isNumber() ? value.asText() : value.toString();
    return text.length() > MAX_SHOWN ? text.substring(0, MAX_SHOWN) + "..." : text;
  }
}
