package io.shardtide.replay;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;

import io.shardtide.cost.CostPredictions;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;

/** Groups the parts of predictions of one generation of a workload by one model. */
final class PredictionGroups {
  private final Map<String, List<CostPredictions>> open = new HashMap<>();
  private final Consumer<List<CostPredictions>> each;

  private PredictionGroups(Consumer<List<CostPredictions>> each) {
    this.each = each;
  }

  /**
   * Reads the recorded predictions of some workloads.
   *
   * @param each called with the parts of each group, in order, once its last part is read
   * @return an error if the last part of a group is missing
   * @throws MalformedRecordException also if a part does not follow the part before
   */
  static Optional<String> read(
      LogRecords records, Predicate<String> hasWorkload, Consumer<List<CostPredictions>> each)
      throws IOException {
    PredictionGroups groups = new PredictionGroups(each);
    records.read(
        COST_PREDICTIONS,
        part -> {
          if (hasWorkload.test(part.workloadId())) {
            groups.add(part);
          }
        });
    return groups.unfinished();
  }

  private void add(CostPredictions part) {
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
          "Part %d of %d of generation %d of workload \"%s\" follows %s, expected all parts in order. Maybe lines are missing"
              .formatted(
                  part.part(),
                  part.parts(),
                  part.generation(),
                  part.workloadId(),
                  before == null
                      ? "no part"
                      : "part %d of %d of generation %d"
                          .formatted(before.part(), before.parts(), before.generation())));
    }
    parts.add(part);
    if (part.isLast()) {
      open.remove(part.workloadId());
      each.accept(parts);
    }
  }

  private Optional<String> unfinished() {
    return open.values().stream()
        .map(parts -> parts.get(parts.size() - 1))
        .map(
            last ->
                "The predictions end with part %d of %d of generation %d of workload \"%s\"; the later parts are missing. Maybe the file was truncated"
                    .formatted(last.part(), last.parts(), last.generation(), last.workloadId()))
        .sorted()
        .findFirst();
  }
}
