package io.shardtide.views;

import java.time.Instant;
import java.util.Optional;

/**
 * Something that happened.
 *
 * @param number counts entries, from 1, since the dashboard began to read
 * @param kind what
 * @param at when it was written to the log
 * @param about its workload or, of models and alarms, the hardware; empty if it names none that can
 *     be read
 * @param text what happened, for people
 * @param code of a rejection its code, of a plan its effort, of others their kind
 * @param planId the plan that it is about
 * @param answeredMs of a plan, see {@link PlanSummary#answeredMs}
 */
public record LogEvent(
    long number,
    EventKind kind,
    Instant at,
    Optional<String> about,
    String text,
    String code,
    Optional<String> planId,
    Optional<Double> answeredMs) {

  /** What may happen. */
  public enum EventKind {
    /** A publisher wrote a change; whether it is accepted is not known yet. */
    CHANGE,
    /** A plan was published. */
    PLAN,
    /** An event was not applied. */
    REJECTED,
    /** A generation does not fit. */
    INFEASIBLE,
    /** A trainer said what it does with a plan. */
    STATUS,
    /** Measured costs went away from predicted ones. */
    ALARM,
    /** A model took over, or did not. */
    MODEL
  }
}
