package io.shardtide.bench.soak;

import io.shardtide.workload.SourcePosition;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * Records that contradict a guarantee.
 *
 * @param guarantee the guarantee
 * @param workloadId the workload; empty if the records name none
 * @param positions the records, those that are on the log; none if only a missing record shows it
 * @param message what was expected, and what is there
 */
public record SoakViolation(
    Guarantee guarantee, String workloadId, List<SourcePosition> positions, String message) {
  /** Copies the list. */
  public SoakViolation {
    Objects.requireNonNull(guarantee, "guarantee");
    Objects.requireNonNull(workloadId, "workloadId");
    positions = List.copyOf(positions);
    Objects.requireNonNull(message, "message");
  }

  @Override
  public String toString() {
    return "%s: workload \"%s\", %s: %s"
        .formatted(
            guarantee.sentence(),
            workloadId,
            positions.isEmpty()
                ? "no position"
                : positions.stream().map(SourcePosition::toString).collect(Collectors.joining(" ")),
            message);
  }
}
