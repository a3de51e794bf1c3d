package io.shardtide.replay;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.Workload;
import io.shardtide.domain.WorkloadChange;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/**
 * Which event made which generation. The events hold what was rejected too; of those that follow
 * the cluster's, an event was applied if predictions name it.
 */
final class GenerationHistory {
  private final Map<String, Lane> lanes = new HashMap<>();

  /**
   * An event that was applied.
   *
   * @param event the event
   * @param before the workload before it
   * @param generation the generation that it made
   */
  record Applied(WorkloadChange event, Workload before, long generation) {}

  /**
   * What a look at the events said.
   *
   * @param applied what was applied since the look before
   * @param problem how the events and the predictions contradict each other
   */
  record GenerationStep(List<Applied> applied, Optional<String> problem) {}

  private static final class Lane {
    final List<WorkloadChange> events = new ArrayList<>();
    final Set<UUID> seen = new HashSet<>();
    int next;
    Workload now;
  }

  /** Adds the next event of the log. */
  void add(WorkloadChange event) {
    lanes.computeIfAbsent(event.workloadId(), id -> new Lane()).events.add(event);
  }

  /** Goes on to the generation that predictions are of. */
  GenerationStep advance(List<CostPredictions> group) {
    CostPredictions part = group.get(0);
    String id = part.workloadId();
    Lane lane = lanes.computeIfAbsent(id, key -> new Lane());
    if (lane.now == null) {
      lane.now = Workload.empty(id);
    }
    List<Applied> applied = new ArrayList<>();
    Optional<String> problem =
        lane.now.generation() == part.generation() && lane.seen.contains(part.eventId())
            ? Optional.empty()
            : forward(lane, part, applied);
    if (problem.isEmpty()) {
      problem = contradiction(lane.now, group);
    }
    return new GenerationStep(applied, problem);
  }

  /** Returns how many events follow the last one that predictions name. */
  long left() {
    return lanes.values().stream().mapToLong(lane -> lane.events.size() - lane.next).sum();
  }

  private static Optional<String> forward(Lane lane, CostPredictions part, List<Applied> applied) {
    boolean isThere =
        lane.events.subList(lane.next, lane.events.size()).stream()
            .anyMatch(e -> e.eventId().equals(part.eventId()));
    if (!isThere) {
      return Optional.of("its event %s is not among the events".formatted(part.eventId()));
    }
    String why = "";
    while (lane.next < lane.events.size()) {
      WorkloadChange event = lane.events.get(lane.next++);
      boolean wanted = event.eventId().equals(part.eventId());
      if (lane.seen.contains(event.eventId())) {
        continue;
      }
      try {
        Workload after = lane.now.apply(event);
        // With a cluster, what was applied was predicted: this event was not applied.
        if (wanted || after.cluster().isEmpty()) {
          applied.add(new Applied(event, lane.now, after.generation()));
          lane.now = after;
          lane.seen.add(event.eventId());
        }
      } catch (RejectedException e) {
        why = ": " + e.getMessage();
        continue;
      }
      if (wanted) {
        return lane.now.generation() == part.generation()
            ? Optional.empty()
            : Optional.of(
                "its event %s makes generation %d of the events"
                    .formatted(part.eventId(), lane.now.generation()));
      }
    }
    return Optional.of(
        "its event %s cannot be applied to the events before it%s".formatted(part.eventId(), why));
  }

  private static Optional<String> contradiction(Workload now, List<CostPredictions> group) {
    if (!now.cluster().equals(Optional.of(group.get(0).cluster()))) {
      return Optional.of(
          "it is of %s, and the events set %s"
              .formatted(
                  group.get(0).cluster(), now.cluster().map(Object::toString).orElse("none")));
    }
    for (CostPredictions part : group) {
      if (part.update().orElse(null) instanceof Update.Predicted predicted) {
        TableSpec table = predicted.prediction().table();
        TableSpec said = now.tables().get(table.name());
        if (!table.equals(said)) {
          return Optional.of(
              "it is of %s, and the events say %s"
                  .formatted(table, said == null ? "that there is no such table" : said));
        }
      } else if (part.update().orElse(null) instanceof Update.Forgotten forgotten
          && now.tables().containsKey(forgotten.table())) {
        return Optional.of(
            "it forgets table %s, which the events do not drop".formatted(forgotten.table()));
      }
    }
    return Optional.empty();
  }
}
