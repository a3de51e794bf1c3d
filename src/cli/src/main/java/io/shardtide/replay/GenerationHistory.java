package io.shardtide.replay;

import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.Workload;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Predicate;

/**
 * Which event made which generation. The recorded events include rejected ones: once a workload has
 * a cluster, an event was applied if predictions name it.
 */
final class GenerationHistory {
  private final Map<String, WorkloadEvents> byWorkload = new HashMap<>();

  /**
   * An applied event.
   *
   * @param event the event
   * @param before the workload before it
   * @param generation the generation that it made
   */
  record Applied(WorkloadChange event, Workload before, long generation) {}

  /**
   * The events of one generation.
   *
   * @param applied the events applied since the previous generation
   * @param problem how the events and the predictions contradict each other
   */
  record GenerationStep(List<Applied> applied, Optional<String> problem) {}

  private static final class WorkloadEvents {
    final List<WorkloadChange> events = new ArrayList<>();
    Set<UUID> seen = new HashSet<>();
    int next;
    Workload now;

    WorkloadEvents(String workloadId) {
      now = Workload.empty(workloadId);
    }
  }

  /** Reads the recorded events of some workloads; none if no events are recorded. */
  static GenerationHistory read(LogRecords records, Predicate<String> hasWorkload)
      throws IOException {
    GenerationHistory history = new GenerationHistory();
    for (WorkloadChange event :
        records.all(WORKLOAD_CHANGES, of -> hasWorkload.test(of.workloadId()))) {
      history.byWorkload.computeIfAbsent(event.workloadId(), WorkloadEvents::new).events.add(event);
    }
    return history;
  }

  /** Applies events up to the generation of some predictions. */
  GenerationStep advance(List<CostPredictions> group) {
    CostPredictions part = group.get(0);
    WorkloadEvents events = byWorkload.computeIfAbsent(part.workloadId(), WorkloadEvents::new);
    List<Applied> applied = new ArrayList<>();
    Optional<String> problem =
        events.now.generation() == part.generation() && events.seen.contains(part.eventId())
            ? Optional.empty()
            : forward(events, part, applied);
    if (problem.isEmpty()) {
      problem = contradiction(events.now, group);
    }
    return new GenerationStep(applied, problem);
  }

  /** Returns how many events follow the last one that predictions name. */
  long unmatched() {
    return byWorkload.values().stream()
        .mapToLong(events -> events.events.size() - events.next)
        .sum();
  }

  private static Optional<String> forward(
      WorkloadEvents events, CostPredictions part, List<Applied> applied) {
    boolean isRecorded =
        events.events.subList(events.next, events.events.size()).stream()
            .anyMatch(e -> e.eventId().equals(part.eventId()));
    if (!isRecorded) {
      return Optional.of("event %s is not recorded".formatted(part.eventId()));
    }
    Set<UUID> seen = new HashSet<>(events.seen);
    int next = events.next;
    Workload now = events.now;
    Optional<String> problem = forward(events, part, applied, true);
    if (problem.isPresent() && now.cluster().isEmpty()) {
      events.seen = seen;
      events.next = next;
      events.now = now;
      applied.clear();
      problem = forward(events, part, applied, false);
    }
    return problem;
  }

  /**
   * Applies events up to the one that predictions name.
   *
   * @param repeated whether planners applied events that change a table twice, as earlier versions
   *     did; nothing tells before the workload has a cluster
   */
  private static Optional<String> forward(
      WorkloadEvents events, CostPredictions part, List<Applied> applied, boolean repeated) {
    String rejection = "";
    while (events.next < events.events.size()) {
      WorkloadChange event = events.events.get(events.next++);
      boolean isNamed = event.eventId().equals(part.eventId());
      if (events.seen.contains(event.eventId())) {
        continue;
      }
      try {
        if (!repeated) {
          event.checkDistinct();
        }
        Workload after = events.now.apply(event);
        // With a cluster, an applied event is named by predictions: this one was rejected.
        if (isNamed || (events.now.cluster().isEmpty() && after.cluster().isEmpty())) {
          applied.add(new Applied(event, events.now, after.generation()));
          events.now = after;
          events.seen.add(event.eventId());
        }
      } catch (RejectedException e) {
        rejection = ": " + e.getMessage();
        continue;
      }
      if (isNamed) {
        return events.now.generation() == part.generation()
            ? Optional.empty()
            : Optional.of(
                "event %s makes generation %d, by the recorded events"
                    .formatted(part.eventId(), events.now.generation()));
      }
    }
    return Optional.of(
        "event %s cannot be applied after the events before it%s"
            .formatted(part.eventId(), rejection));
  }

  private static Optional<String> contradiction(Workload now, List<CostPredictions> group) {
    if (group.get(group.size() - 1).isDeletion()) {
      return now.exists()
          ? Optional.of("they delete the workload, and the events do not")
          : Optional.empty();
    }
    if (!now.cluster().equals(Optional.of(group.get(0).cluster()))) {
      return Optional.of(
          "they are for %s, and the events set %s"
              .formatted(
                  group.get(0).cluster(), now.cluster().map(Object::toString).orElse("none")));
    }
    for (CostPredictions part : group) {
      if (part.update().orElse(null) instanceof Update.Predicted predicted) {
        TableSpec table = predicted.prediction().table();
        TableSpec expected = now.tables().get(table.name());
        if (expected == null
            || !table.equals(expected.withDefaultOptimizer(group.get(0).cluster().optimizer()))) {
          return Optional.of(
              "they are for %s, and the events give %s"
                  .formatted(table, expected == null ? "no such table" : expected));
        }
      } else if (part.update().orElse(null) instanceof Update.Dropped dropped
          && now.tables().containsKey(dropped.name())) {
        return Optional.of("they drop table %s, and the events do not".formatted(dropped.name()));
      }
    }
    return Optional.empty();
  }
}
