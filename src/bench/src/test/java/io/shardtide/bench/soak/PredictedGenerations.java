package io.shardtide.bench.soak;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;

import io.shardtide.bench.soak.AppliedEvents.AppliedGeneration;
import io.shardtide.cost.CostPredictions;
import io.shardtide.workload.SourcePosition;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/** Checks cost-predictions against the accepted events, and keeps which generations it has. */
final class PredictedGenerations {
  private final AppliedEvents applied;
  private final Findings findings;
  private final Map<String, PredictedWorkload> workloads = new HashMap<>();

  /** A generation with complete predictions. */
  static final class CommittedGeneration {
    private final SourcePosition source;
    private final boolean isDeletion;

    /** How often each model predicted it. */
    private final Map<String, Integer> models = new HashMap<>();

    private CommittedGeneration(SourcePosition source, boolean isDeletion) {
      this.source = source;
      this.isDeletion = isDeletion;
    }

    SourcePosition source() {
      return source;
    }

    boolean isDeletion() {
      return isDeletion;
    }

    boolean isPredictedBy(String modelId) {
      return models.containsKey(modelId);
    }

    int times() {
      return models.values().stream().mapToInt(Integer::intValue).sum();
    }
  }

  private static final class PredictedWorkload {
    private final NavigableMap<Long, CommittedGeneration> generations = new TreeMap<>();
    private CostPredictions last;
    private String model = "";

    /** Index of the next of the accepted events. */
    private int next;

    /** What an earlier violation added to all later generations: each is reported once. */
    private long shift;
  }

  private PredictedGenerations(AppliedEvents applied, Findings findings) {
    this.applied = applied;
    this.findings = findings;
  }

  static PredictedGenerations read(SoakLog log, AppliedEvents applied, Findings findings)
      throws IOException {
    PredictedGenerations predicted = new PredictedGenerations(applied, findings);
    log.read(
        log.topics().of(COST_PREDICTIONS),
        record -> {
          findings.checked(Guarantee.PREDICTIONS_COMPLETE);
          if (record instanceof CommittedRecord.Stored<CostPredictions> stored) {
            predicted.add(stored.position(), stored.value());
          } else {
            findings.violated(
                Guarantee.PREDICTIONS_COMPLETE,
                "",
                List.of(record.position()),
                "cannot be decoded");
          }
        });
    predicted.end();
    return predicted;
  }

  private void add(SourcePosition position, CostPredictions part) {
    PredictedWorkload workload =
        workloads.computeIfAbsent(part.workloadId(), id -> new PredictedWorkload());
    CostPredictions before = workload.last;
    workload.last = part;
    boolean isBegun = before != null && !before.isLast();
    boolean follows =
        isBegun ? part.part() == before.part() + 1 && isSameGroup(before, part) : part.part() == 0;
    if (!follows) {
      findings.violated(
          Guarantee.PREDICTIONS_COMPLETE,
          part.workloadId(),
          List.of(position),
          "expected part %d of %s, got part %d of %d of generation %d"
              .formatted(
                  isBegun ? before.part() + 1 : 0,
                  isBegun
                      ? "%d of generation %d".formatted(before.parts(), before.generation())
                      : "a generation",
                  part.part(),
                  part.parts(),
                  part.generation()));
    }
    if (part.isLast()) {
      complete(workload, position, part);
    }
  }

  private static boolean isSameGroup(CostPredictions before, CostPredictions part) {
    return part.generation() == before.generation()
        && part.parts() == before.parts()
        && part.eventId().equals(before.eventId())
        && part.source().equals(before.source())
        && part.modelId().equals(before.modelId());
  }

  private void complete(PredictedWorkload workload, SourcePosition position, CostPredictions part) {
    Map.Entry<Long, CommittedGeneration> latest = workload.generations.lastEntry();
    if (latest != null && latest.getKey() == part.generation()) {
      if (workload.model.equals(part.modelId())) {
        findings.violated(
            Guarantee.PREDICTIONS_COMPLETE,
            part.workloadId(),
            List.of(position),
            "generation %d must be predicted once by model %s in a row, got it twice"
                .formatted(part.generation(), part.modelId()));
      }
    } else {
      apply(workload, position, part);
    }
    workload
        .generations
        .computeIfAbsent(
            part.generation(), g -> new CommittedGeneration(part.source(), part.isDeletion()))
        .models
        .merge(part.modelId(), 1, Integer::sum);
    workload.model = part.modelId();
  }

  /** Compares a generation's first predictions with the next accepted event that needs some. */
  private void apply(PredictedWorkload workload, SourcePosition position, CostPredictions part) {
    findings.checked(Guarantee.APPLIED_ONCE);
    String id = part.workloadId();
    List<AppliedGeneration> events = applied.of(id);
    while (workload.next < events.size() && !events.get(workload.next).isPredicted()) {
      workload.next++;
    }
    AppliedGeneration expected = workload.next < events.size() ? events.get(workload.next) : null;
    String eventId = part.eventId().toString();
    boolean isNext =
        expected != null
            && expected.event().eventId().equals(eventId)
            && expected.event().position().equals(part.source());
    if (isNext && expected.generation() + workload.shift == part.generation()) {
      workload.next++;
      return;
    }
    findings.violated(
        Guarantee.APPLIED_ONCE,
        id,
        List.of(position, part.source()),
        "expected predictions of %s, got generation %d of event %s at %s"
            .formatted(
                expected == null
                    ? "no further generation"
                    : "generation %d of event %s at %s"
                        .formatted(
                            expected.generation() + workload.shift,
                            expected.event().eventId(),
                            expected.event().position()),
                part.generation(),
                eventId,
                part.source()));
    applied
        .find(id, eventId)
        .ifPresent(
            event -> {
              workload.next = (int) event.generation();
              workload.shift = part.generation() - event.generation();
            });
  }

  /** Checks that nothing is missing at the end. */
  private void end() {
    for (String id : applied.workloads()) {
      PredictedWorkload workload = workloads.getOrDefault(id, new PredictedWorkload());
      List<AppliedGeneration> events = applied.of(id);
      for (AppliedGeneration event : events.subList(workload.next, events.size())) {
        if (event.isPredicted()) {
          findings.violated(
              Guarantee.APPLIED_ONCE,
              id,
              List.of(event.event().position()),
              "event %s must be generation %d or be rejected, got neither predictions nor a rejection"
                  .formatted(event.event().eventId(), event.generation() + workload.shift));
        }
      }
      if (workload.last != null && !workload.last.isLast()) {
        findings.violated(
            Guarantee.PREDICTIONS_COMPLETE,
            id,
            List.of(),
            "generation %d ends with part %d of %d"
                .formatted(
                    workload.last.generation(), workload.last.part(), workload.last.parts()));
      }
    }
  }

  /** Returns a workload's generations that have complete predictions. */
  NavigableMap<Long, CommittedGeneration> of(String workloadId) {
    PredictedWorkload workload = workloads.get(workloadId);
    return workload == null ? new TreeMap<>() : workload.generations;
  }

  /** Returns the last generation up to one that deletes the workload; 0 if none does. */
  long deletedUpTo(String workloadId, long generation) {
    long deletion = 0;
    for (Map.Entry<Long, CommittedGeneration> entry :
        of(workloadId).headMap(generation, true).entrySet()) {
      deletion = entry.getValue().isDeletion() ? entry.getKey() : deletion;
    }
    return deletion;
  }

  /** Returns the workloads that have predictions. */
  Iterable<String> workloads() {
    return new TreeMap<>(workloads).keySet();
  }
}
