package io.shardtide.replay;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.TableSpec;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.UUID;

/**
 * How a plan came about.
 *
 * @param plan the plan
 * @param previous the plan that was running
 * @param cluster the devices; empty if no predictions are on record
 * @param events what happened since the plan that was running, in order
 * @param tables the tables that the events name and that are there now
 * @param infeasible generations in between that did not fit
 * @param statuses what trainers said of the plan, in order
 */
public record PlanProvenance(
    ShardingPlan plan,
    Optional<ShardingPlan> previous,
    Optional<ClusterSpec> cluster,
    List<ProvenanceEvent> events,
    List<ProvenanceTable> tables,
    List<InfeasibleWorkload> infeasible,
    List<PlanStatus> statuses) {

  /**
   * An event.
   *
   * @param generation the generation that it made
   * @param eventId its id
   * @param source who published it; empty if the events are not on record
   * @param occurredAt when it happened; likewise
   * @param changes each change, in words; likewise
   */
  public record ProvenanceEvent(
      long generation,
      UUID eventId,
      Optional<String> source,
      Optional<Instant> occurredAt,
      List<String> changes) {}

  /**
   * A table that an event named.
   *
   * @param table the table
   * @param aloneMs what the model said that it would cost a device that held it whole, in
   *     milliseconds of computation a step; empty without the model
   * @param beforeMs the same when the plan before was made
   */
  public record ProvenanceTable(TableSpec table, OptionalDouble aloneMs, OptionalDouble beforeMs) {}

  /** Copies what may change. */
  public PlanProvenance {
    events = List.copyOf(events);
    tables = List.copyOf(tables);
    infeasible = List.copyOf(infeasible);
    statuses = List.copyOf(statuses);
  }
}
