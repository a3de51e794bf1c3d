package io.shardtide.views;

import io.shardtide.workload.Change;
import io.shardtide.workload.WorkloadChange;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * An event of the log, as the dashboard shows it.
 *
 * @param number sequence number, from 1, since the dashboard started to read
 * @param kind its kind
 * @param at timestamp of its record
 * @param about its workload; for models and alarms, the hardware; empty if the record names none
 * @param text description for people
 * @param code the reason of a rejection, the effort of a plan, the source of a change, otherwise
 *     its kind
 * @param planId its plan
 * @param answeredMs for a plan, see {@link PlanSummary#answeredMs}
 */
public record LogEvent(
    long number,
    EventKind kind,
    Instant at,
    Optional<String> about,
    String text,
    String code,
    Optional<String> planId,
    OptionalDouble answeredMs) {

  /** Kinds of events. */
  public enum EventKind {
    /** A publisher wrote a change; it may still be rejected. */
    CHANGE,
    /** A plan was published. */
    PLAN,
    /** An event was rejected. */
    REJECTED,
    /** A generation of a workload does not fit into memory. */
    INFEASIBLE,
    /** A trainer reported a plan's status. */
    STATUS,
    /** Measured costs drifted from predicted ones. */
    ALARM,
    /** A decision about a retrained model. */
    MODEL
  }

  /** Returns a text for a change: its first part, and how many more it has. */
  static String describe(WorkloadChange event) {
    Change first = event.changes().get(0);
    String text =
        first instanceof Change.TableUpserted upserted
            ? "table %s: %,d rows, %d columns, %s lookups"
                .formatted(
                    upserted.table().name(),
                    upserted.table().rows(),
                    upserted.table().columns(),
                    upserted.table().poolingFactor())
            : first instanceof Change.TableDropped dropped
                ? "table %s dropped".formatted(dropped.name())
                : first instanceof Change.TableResized resized
                    ? "table %s resized: %,d slots".formatted(resized.name(), resized.rows())
                    : first instanceof Change.ClusterSet set
                        ? "%d devices".formatted(set.cluster().devices())
                        : "workload deleted: " + ((Change.WorkloadDeleted) first).reason();
    int more = event.changes().size() - 1;
    return more == 0
        ? text
        : "%s, and %,d more %s".formatted(text, more, more == 1 ? "change" : "changes");
  }
}
