package io.shardtide.search.problem;

import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.TablePrediction;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.Insight;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.Replication;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Shortfall;
import io.shardtide.plan.Transfer;
import io.shardtide.workload.TableSpec;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The output of a search. */
public sealed interface SearchResult {
  /** Returns the number of evaluations: predicted computations of a device. */
  long evaluations();

  /**
   * A plan.
   *
   * @param shards every column of every table once, in {@link Shard#ORDER} if the tables were
   *     sorted by name
   * @param deviceCosts one per device of a replica group
   * @param replication the replica groups
   * @param collectives the devices of a replica group and their collectives
   * @param predictedMs cost of one step in milliseconds, synchronization included
   * @param insight analysis of the plan; empty from the reference search, and while a search goes
   *     on
   * @param evaluations predicted computations of a device
   */
  @RecordBuilder
  record Found(
      List<Shard> shards,
      List<DeviceCost> deviceCosts,
      Replication replication,
      StepCollectives collectives,
      double predictedMs,
      Optional<Insight> insight,
      long evaluations)
      implements SearchResult {
    /** Copies what may change. */
    public Found {
      shards = List.copyOf(shards);
      deviceCosts = List.copyOf(deviceCosts);
    }

    /** Returns the shards on their devices. */
    public PlanShards placed() {
      return new PlanShards(shards, deviceCosts.size(), replication.groups());
    }

    /**
     * Returns the moves from the running plan to this one.
     *
     * @param running the shards of the running plan; none if there is none
     * @param tables the tables of this plan
     */
    public List<Transfer> moves(PlanShards running, List<TablePrediction> tables) {
      Map<String, TableSpec> byName =
          TableSpec.byName(tables.stream().map(TablePrediction::table).toList());
      return Overlap.moves(Overlap.between(running, placed()), byName, placed());
    }
  }

  /**
   * No plan.
   *
   * @param shortfall the memory that is missing
   * @param evaluations predicted computations of a device
   */
  record NotFound(Shortfall shortfall, long evaluations) implements SearchResult {}
}
