package io.shardtide.bench.soak;

import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.SourcePosition;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What publishers and trainers sent during a soak, and what they were told. In memory; safe for use
 * by several threads. A sender adds an entry when it knows how sending ended, and answers as they
 * arrive.
 */
public final class Ledger {
  private final List<Delivery> deliveries = new ArrayList<>();
  private final List<Answer> answers = new ArrayList<>();
  private final List<ShownPlan> shown = new ArrayList<>();

  /** What is on an input topic. */
  public enum InputKind {
    /** An event on workload-changes. */
    EVENT,
    /** A status on plan-status. */
    STATUS,
    /** A measurement on measured-costs. */
    MEASUREMENT
  }

  /** Whether a record may be rejected. */
  public enum Validity {
    /**
     * The planner applies it, unless the state of the workload forbids it: it was sent before, its
     * table does not exist, its plan is not stored, or a later one came first.
     */
    VALID,
    /** Planted: the planner must reject it. */
    BAD
  }

  /**
   * A record that was sent once.
   *
   * @param kind the input topic
   * @param id the event id, or the measurement id; what names the record uniquely among statuses
   *     and records that are not decodable
   * @param workloadId the workload that was meant
   * @param validity whether it may be rejected
   * @param acknowledged its position, if Kafka acknowledged it; otherwise it may be on the log or
   *     not
   */
  public record Delivery(
      InputKind kind,
      String id,
      String workloadId,
      Validity validity,
      Optional<SourcePosition> acknowledged) {
    /** Checks that nothing is missing. */
    public Delivery {
      Objects.requireNonNull(kind, "kind");
      Objects.requireNonNull(id, "id");
      Objects.requireNonNull(workloadId, "workloadId");
      Objects.requireNonNull(validity, "validity");
      Objects.requireNonNull(acknowledged, "acknowledged");
    }
  }

  /** What a sender was told about a record. */
  public sealed interface Answer {
    /** Returns the event's id. */
    String eventId();

    /** Returns the workload. */
    String workloadId();
  }

  /**
   * The event was applied.
   *
   * @param eventId the event
   * @param workloadId the workload
   * @param generation the generation that it made; empty if the answer did not say
   */
  public record ToldAccepted(String eventId, String workloadId, OptionalLong generation)
      implements Answer {}

  /**
   * The event was rejected.
   *
   * @param eventId the event
   * @param workloadId the workload
   * @param source where it was acknowledged
   * @param reason the reason
   */
  public record ToldRejected(
      String eventId, String workloadId, SourcePosition source, RejectionReason reason)
      implements Answer {}

  /**
   * A plan arrived that covers the event's generation.
   *
   * @param eventId the event
   * @param workloadId the workload
   * @param planId the plan
   * @param generation the last generation that the plan covers
   */
  public record ToldPlan(String eventId, String workloadId, String planId, long generation)
      implements Answer {}

  /**
   * The plan of a workload that a dashboard showed when nothing changed any more.
   *
   * @param dashboard names the dashboard
   * @param workloadId the workload
   * @param planId the plan that it showed; empty for none
   * @param latestPlanId the workload's latest plan on the log at that time
   */
  public record ShownPlan(
      String dashboard, String workloadId, String planId, String latestPlanId) {}

  /** Adds what a dashboard showed. */
  public synchronized void add(ShownPlan plan) {
    shown.add(Objects.requireNonNull(plan, "plan"));
  }

  /** Returns what dashboards showed, in the order of {@link #add(ShownPlan)}. */
  public synchronized List<ShownPlan> shown() {
    return List.copyOf(shown);
  }

  /** Adds a record that was sent. */
  public synchronized void add(Delivery delivery) {
    deliveries.add(Objects.requireNonNull(delivery, "delivery"));
  }

  /** Adds an answer. */
  public synchronized void add(Answer answer) {
    answers.add(Objects.requireNonNull(answer, "answer"));
  }

  /** Returns what was sent, in the order of {@link #add(Delivery)}. */
  public synchronized List<Delivery> deliveries() {
    return List.copyOf(deliveries);
  }

  /** Returns the answers, in the order of {@link #add(Answer)}. */
  public synchronized List<Answer> answers() {
    return List.copyOf(answers);
  }
}
