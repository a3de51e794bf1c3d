package io.shardtide.replay;

import io.shardtide.cost.CostPredictions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Puts the parts of predictions together that were made at once: of one generation of a workload,
 * by one model.
 */
final class PredictionGroups implements Consumer<CostPredictions> {
  private final Map<String, List<CostPredictions>> open = new HashMap<>();
  private final Consumer<List<CostPredictions>> each;

  /**
   * @param each is shown the parts of each group, the first first, when its last was read
   */
  PredictionGroups(Consumer<List<CostPredictions>> each) {
    this.each = each;
  }

  /**
   * Takes the next part.
   *
   * @throws IllegalArgumentException if a part before it is missing
   */
  @Override
  public void accept(CostPredictions part) {
    List<CostPredictions> parts = open.computeIfAbsent(part.workloadId(), id -> new ArrayList<>());
    CostPredictions before = parts.isEmpty() ? null : parts.get(parts.size() - 1);
    boolean follows =
        before == null
            ? part.part() == 0
            : part.part() == before.part() + 1
                && part.parts() == before.parts()
                && part.generation() == before.generation()
                && part.modelId().equals(before.modelId())
                && part.eventId().equals(before.eventId())
                && part.cluster().equals(before.cluster());
    if (!follows) {
      throw new IllegalArgumentException(
          "Part %d of %d of generation %d of workload \"%s\" follows %s; legal are all parts in a row. Maybe lines are missing"
              .formatted(
                  part.part(),
                  part.parts(),
                  part.generation(),
                  part.workloadId(),
                  before == null
                      ? "no other"
                      : "part %d of %d of generation %d"
                          .formatted(before.part(), before.parts(), before.generation())));
    }
    parts.add(part);
    if (part.isLast()) {
      open.remove(part.workloadId());
      each.accept(parts);
    }
  }

  /** Returns what is wrong at the end: a group whose last part is missing. */
  Optional<String> unfinished() {
    return open.values().stream()
        .map(parts -> parts.get(parts.size() - 1))
        .map(
            last ->
                "The predictions end with part %d of %d of generation %d of workload \"%s\"; legal are all parts. Maybe the file was cut off"
                    .formatted(last.part(), last.parts(), last.generation(), last.workloadId()))
        .sorted()
        .findFirst();
  }
}
