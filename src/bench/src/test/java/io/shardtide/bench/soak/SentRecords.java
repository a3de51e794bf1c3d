package io.shardtide.bench.soak;

import io.shardtide.bench.soak.AppliedEvents.AppliedGeneration;
import io.shardtide.bench.soak.Ledger.Delivery;
import io.shardtide.bench.soak.Ledger.InputKind;
import io.shardtide.bench.soak.Ledger.Validity;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.SourcePosition;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Compares what was sent and answered with the log. */
final class SentRecords {
  /** Why a valid record may be rejected: the workload's state forbids it. */
  private static final Set<RejectionReason> OF_STATE =
      EnumSet.of(
          RejectionReason.DUPLICATE_EVENT,
          RejectionReason.STALE_GENERATION,
          RejectionReason.UNKNOWN_TABLE,
          RejectionReason.UNKNOWN_WORKLOAD,
          RejectionReason.UNKNOWN_PLAN,
          RejectionReason.STALE_STATUS,
          RejectionReason.STALE_MEASUREMENT,
          RejectionReason.DUPLICATE_MEASUREMENT,
          RejectionReason.OUTDATED_MEASUREMENT);

  private final InputRecords inputs;
  private final AppliedEvents applied;
  private final PlanLog plans;
  private final Findings findings;

  SentRecords(InputRecords inputs, AppliedEvents applied, PlanLog plans, Findings findings) {
    this.inputs = inputs;
    this.applied = applied;
    this.plans = plans;
    this.findings = findings;
  }

  void check(Ledger ledger) {
    Map<SourcePosition, Delivery> at = new HashMap<>();
    Map<String, Integer> sent = new HashMap<>();
    for (Delivery delivery : ledger.deliveries()) {
      sent.merge(key(delivery.kind(), delivery.workloadId(), delivery.id()), 1, Integer::sum);
      delivery.acknowledged().ifPresent(position -> check(delivery, position, at));
      if (delivery.kind() == InputKind.MEASUREMENT && delivery.validity() == Validity.BAD) {
        // Reports are not acknowledged with their positions; their ids tell.
        inputs
            .measurements()
            .getOrDefault(InputRecords.key(delivery.workloadId(), delivery.id()), List.of())
            .forEach(position -> checkRejection(delivery, position));
      }
    }
    inputs
        .events()
        .forEach(
            (workload, events) -> {
              Map<String, List<SourcePosition>> byId = new HashMap<>();
              events.forEach(
                  event ->
                      byId.computeIfAbsent(event.eventId(), id -> new ArrayList<>())
                          .add(event.position()));
              byId.forEach(
                  (id, positions) ->
                      checkCount(
                          workload, id, positions, sent.get(key(InputKind.EVENT, workload, id))));
            });
    inputs
        .measurements()
        .forEach(
            (key, positions) -> {
              String[] of = key.split("\0", 2);
              checkCount(of[0], of[1], positions, sent.get(InputKind.MEASUREMENT + key));
            });
    ledger.answers().forEach(this::check);
    ledger.shown().forEach(this::check);
  }

  private static String key(InputKind kind, String workloadId, String id) {
    return kind + InputRecords.key(workloadId, id);
  }

  private void check(Delivery delivery, SourcePosition position, Map<SourcePosition, Delivery> at) {
    findings.checked(Guarantee.ACKNOWLEDGED_ON_LOG);
    Optional<String> id = inputs.idAt(position);
    Delivery other = at.put(position, delivery);
    boolean isOther = !id.orElse("").isEmpty() && !id.get().equals(delivery.id());
    if (id.isEmpty() || isOther || other != null) {
      findings.violated(
          Guarantee.ACKNOWLEDGED_ON_LOG,
          delivery.workloadId(),
          List.of(position),
          "expected %s %s, got %s"
              .formatted(
                  delivery.kind(),
                  delivery.id(),
                  id.isEmpty()
                      ? "no record"
                      : other == null ? id.get() : "an acknowledgement of " + other.id() + " too"));
      return;
    }
    checkRejection(delivery, position);
  }

  private void checkRejection(Delivery delivery, SourcePosition position) {
    findings.checked(Guarantee.RIGHTLY_REJECTED);
    Optional<RejectionReason> reason = inputs.rejection(position);
    boolean isRight =
        delivery.validity() == Validity.BAD
            ? reason.isPresent()
            : reason.map(OF_STATE::contains).orElse(true);
    if (!isRight) {
      findings.violated(
          Guarantee.RIGHTLY_REJECTED,
          delivery.workloadId(),
          List.of(position),
          "%s %s is %s, expected %s, got %s"
              .formatted(
                  delivery.kind(),
                  delivery.id(),
                  delivery.validity(),
                  delivery.validity() == Validity.BAD ? "a rejection" : "none but for its state",
                  reason.map(RejectionReason::toString).orElse("none")));
    }
  }

  private void checkCount(
      String workload, String id, List<SourcePosition> positions, Integer sent) {
    findings.checked(Guarantee.SENT_ONCE);
    int most = sent == null ? 0 : sent;
    if (positions.size() > most) {
      findings.violated(
          Guarantee.SENT_ONCE,
          workload,
          positions,
          "%s was sent %d times, got %d records".formatted(id, most, positions.size()));
    }
  }

  private void check(Ledger.Answer answer) {
    findings.checked(Guarantee.ANSWERS_TRUE);
    Optional<AppliedGeneration> event = applied.find(answer.workloadId(), answer.eventId());
    if (answer instanceof Ledger.ToldAccepted told) {
      boolean isTrue =
          event.isPresent()
              && (told.generation().isEmpty()
                  || told.generation().getAsLong() == event.get().generation());
      if (!isTrue) {
        violated(
            answer,
            event,
            "accepted"
                + (told.generation().isPresent()
                    ? " as generation " + told.generation().getAsLong()
                    : ""));
      }
    } else if (answer instanceof Ledger.ToldRejected told) {
      Optional<RejectionReason> reason = inputs.rejection(told.source());
      if (!reason.equals(Optional.of(told.reason()))) {
        violated(answer, event, "%s of %s".formatted(told.reason(), told.source()));
      }
    } else if (answer instanceof Ledger.ToldPlan told) {
      boolean isTrue =
          event.isPresent()
              && plans
                  .find(told.workloadId(), told.planId())
                  .filter(
                      plan ->
                          plan.generation() == told.generation()
                              && event.get().generation() <= plan.generation())
                  .isPresent();
      if (!isTrue) {
        violated(
            answer,
            event,
            "plan %s up to generation %d".formatted(told.planId(), told.generation()));
      }
    }
  }

  private void check(Ledger.ShownPlan shown) {
    findings.checked(Guarantee.DASHBOARDS);
    boolean isOnLog = plans.find(shown.workloadId(), shown.latestPlanId()).isPresent();
    if (!isOnLog || !shown.planId().equals(shown.latestPlanId())) {
      findings.violated(
          Guarantee.DASHBOARDS,
          shown.workloadId(),
          List.of(),
          "%s shows plan %s, expected %s%s"
              .formatted(
                  shown.dashboard(),
                  shown.planId().isEmpty() ? "none" : shown.planId(),
                  shown.latestPlanId(),
                  isOnLog ? "" : ", which is not on the log"));
    }
  }

  private void violated(Ledger.Answer answer, Optional<AppliedGeneration> event, String told) {
    findings.violated(
        Guarantee.ANSWERS_TRUE,
        answer.workloadId(),
        event.map(of -> List.of(of.event().position())).orElse(List.of()),
        "the sender of event %s was told %s; expected what the log says: %s"
            .formatted(
                answer.eventId(),
                told,
                event.map(of -> "applied as generation " + of.generation()).orElse("not applied")));
  }
}
