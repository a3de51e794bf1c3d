package io.shardtide.bench.soak;

import io.shardtide.bench.soak.InputRecords.LoggedEvent;
import io.shardtide.workload.RejectionReason;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/**
 * Which generation each accepted event makes: an event that is not on rejected-events raises the
 * generation by one. Checks what follows from that alone.
 */
final class AppliedEvents {
  private final Map<String, List<AppliedGeneration>> byWorkload = new HashMap<>();
  private final Map<String, AppliedGeneration> byId = new HashMap<>();

  /**
   * The generation that an event makes.
   *
   * @param generation the generation, from 1
   * @param event the event
   * @param isPredicted whether predictions must follow: the workload has a cluster, or had one
   *     until the event deleted it
   */
  record AppliedGeneration(long generation, LoggedEvent event, boolean isPredicted) {}

  AppliedEvents(InputRecords inputs, Findings findings) {
    inputs
        .events()
        .forEach(
            (workload, events) ->
                byWorkload.put(workload, apply(workload, events, inputs, findings)));
  }

  private List<AppliedGeneration> apply(
      String workload, List<LoggedEvent> events, InputRecords inputs, Findings findings) {
    List<AppliedGeneration> applied = new ArrayList<>();
    boolean hasCluster = false;
    for (LoggedEvent event : events) {
      findings.checked(Guarantee.APPLIED_ONCE);
      AppliedGeneration earlier = byId.get(InputRecords.key(workload, event.eventId()));
      boolean isStale =
          event.expectedGeneration().isPresent()
              && event.expectedGeneration().getAsLong() != applied.size();
      Optional<RejectionReason> reason = inputs.rejection(event.position());
      if (reason.isPresent()) {
        checkReason(workload, event, reason.get(), earlier, isStale, findings);
        continue;
      }
      if (earlier != null) {
        findings.violated(
            Guarantee.APPLIED_ONCE,
            workload,
            List.of(earlier.event().position(), event.position()),
            "event %s must be applied once and rejected afterwards, got no rejection"
                .formatted(event.eventId()));
      }
      if (isStale) {
        findings.violated(
            Guarantee.APPLIED_ONCE,
            workload,
            List.of(event.position()),
            "the event expects generation %d and must be rejected at generation %d, got no rejection"
                .formatted(event.expectedGeneration().getAsLong(), applied.size()));
      }
      boolean had = hasCluster;
      hasCluster = !event.isDeletion() && (hasCluster || event.setsCluster());
      AppliedGeneration next =
          new AppliedGeneration(
              applied.size() + 1L, event, hasCluster || (event.isDeletion() && had));
      applied.add(next);
      byId.putIfAbsent(InputRecords.key(workload, event.eventId()), next);
    }
    return applied;
  }

  private static void checkReason(
      String workload,
      LoggedEvent event,
      RejectionReason reason,
      AppliedGeneration earlier,
      boolean isStale,
      Findings findings) {
    boolean isRight =
        switch (reason) {
          case DUPLICATE_EVENT -> earlier != null;
          case STALE_GENERATION -> isStale;
          default -> true;
        };
    if (!isRight) {
      findings.violated(
          Guarantee.RIGHTLY_REJECTED,
          workload,
          List.of(event.position()),
          reason == RejectionReason.DUPLICATE_EVENT
              ? "rejected as a duplicate, expected event %s to be applied earlier"
                  .formatted(event.eventId())
              : "rejected as of a stale generation, expected it to be applied at its generation, %s"
                  .formatted(event.expectedGeneration()));
    }
  }

  /** Returns a workload's generations, in order. */
  List<AppliedGeneration> of(String workloadId) {
    return byWorkload.getOrDefault(workloadId, List.of());
  }

  /** Returns the workloads that have events, rejected ones included. */
  Iterable<String> workloads() {
    return new TreeSet<>(byWorkload.keySet());
  }

  /** Returns the generation that an event made; empty if it was not applied. */
  Optional<AppliedGeneration> find(String workloadId, String eventId) {
    return Optional.ofNullable(byId.get(InputRecords.key(workloadId, eventId)));
  }
}
