package io.shardtide.samples;

import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.workload.Limits;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;

/**
 * A figure that somebody measured and published, and which predictions it is compared with: the sum
 * of those of some workloads, less that of others. Differences cancel what is not predicted, such
 * as the dense part of a step.
 *
 * @param what what was measured
 * @param quantity of the plans of the workloads: {@code step}, in milliseconds, or {@code memory}
 *     of the device that has most, in GB (10^9 bytes); any other if nothing is compared
 * @param measured the figure; empty if only the order is known, plus above minus
 * @param tolerance largest error, as a share of the figure; empty if only the order must be right
 * @param plus names of workloads; empty if nothing is compared
 * @param minus names of workloads
 * @param card what it was measured on
 * @param scope the part of a step that was measured
 * @param source an address, or a name
 * @param note what to know of the comparison, or why there is none
 */
public record PublishedFigure(
    String what,
    String quantity,
    OptionalDouble measured,
    OptionalDouble tolerance,
    List<String> plus,
    List<String> minus,
    String card,
    String scope,
    String source,
    String note) {
  /** Quantities that plans have. */
  public static final List<String> QUANTITIES = List.of("step", "memory");

  /** What a line may leave out. */
  static final PublishedFigure DEFAULTS =
      new PublishedFigure(
          "-",
          "-",
          OptionalDouble.empty(),
          OptionalDouble.empty(),
          List.of(),
          List.of(),
          "-",
          "-",
          "-",
          "");

  /**
   * @throws IllegalArgumentException if a figure that is compared has an unknown quantity, or one
   *     of its numbers is not positive
   */
  public PublishedFigure {
    plus = List.copyOf(plus);
    minus = List.copyOf(minus);
    if (!plus.isEmpty() && !QUANTITIES.contains(quantity)) {
      throw new IllegalArgumentException(
          "quantity of a figure that is compared must be one of %s, got \"%s\""
              .formatted(String.join(", ", QUANTITIES), quantity));
    }
    measured.ifPresent(value -> Limits.ARGUMENTS.above("measured", value, 0));
    tolerance.ifPresent(value -> Limits.ARGUMENTS.above("tolerance", value, 0));
  }

  /**
   * Returns the figures of a file, one JSON object a line.
   *
   * @throws MalformedFileException if a line is none, or there are none
   */
  public static List<PublishedFigure> read(Path file) throws IOException {
    List<PublishedFigure> figures = new ArrayList<>();
    TextFiles.readLines(
        file,
        line -> figures.add(JsonRecords.read(PublishedFigure.class, JsonRecords.parse(line))));
    if (figures.isEmpty()) {
      throw new MalformedFileException(
          file,
          0,
          "no figures; expected lines of the form {\"what\":\"..\",\"quantity\":\"..\",..}");
    }
    return figures;
  }
}
