package io.shardtide.replay;

import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.UUID;

/**
 * The records that led to a plan.
 *
 * @param plan the plan
 * @param previous the plan that was running
 * @param cluster its cluster; empty if no predictions are recorded
 * @param pool the allocation that gave it its devices; empty if a publisher did, or no predictions
 *     are recorded
 * @param events events since the plan that was running, in order
 * @param tables tables that the events changed and did not drop
 * @param shared tables that constraints put on the devices of another one, by name
 * @param infeasible generations since then that did not fit
 * @param statuses statuses that trainers reported for the plan, in order
 * @param simulated whether its cost model was trained on simulated costs; empty without the model
 */
public record PlanProvenance(
    ShardingPlan plan,
    Optional<ShardingPlan> previous,
    Optional<ClusterSpec> cluster,
    Optional<PoolClusterOrigin> pool,
    List<ProvenanceEvent> events,
    List<ProvenanceTable> tables,
    List<SharedDevices> shared,
    List<InfeasibleWorkload> infeasible,
    List<PlanStatus> statuses,
    Optional<Boolean> simulated) {

  /**
   * An event.
   *
   * @param generation the generation that it made
   * @param eventId its id
   * @param source who published it; empty if events are not recorded
   * @param occurredAt when it occurred; empty if events are not recorded
   * @param changes a description of each change; empty if events are not recorded
   */
  public record ProvenanceEvent(
      long generation,
      UUID eventId,
      Optional<String> source,
      Optional<Instant> occurredAt,
      List<String> changes) {}

  /**
   * A table that an event changed, itself or what it costs alone.
   *
   * @param table the table
   * @param aloneMs predicted compute time of a step, in milliseconds, if a device held this table
   *     alone; empty without the model
   * @param beforeMs the same when the previous plan was made
   */
  public record ProvenanceTable(TableSpec table, OptionalDouble aloneMs, OptionalDouble beforeMs) {}

  /**
   * A table that is placed together with another one, so that no decision explains it alone.
   *
   * @param table the table
   * @param other the table that its constraints name
   */
  public record SharedDevices(String table, String other) {}
}
