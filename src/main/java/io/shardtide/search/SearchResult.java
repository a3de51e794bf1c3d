package io.shardtide.search;

import io.shardtide.domain.CollectiveCodec;
import io.shardtide.domain.DeviceCost;
import io.shardtide.domain.Insight;
import io.shardtide.domain.PlanShards;
import io.shardtide.domain.Replication;
import io.shardtide.domain.Shard;
import io.shardtide.domain.Shortfall;
import java.util.List;
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
   * @param codecs the codecs of collectives, in {@link CollectiveCodec#ORDER}
   * @param predictedMs cost of one step in milliseconds, synchronization included
   * @param insight analysis of the plan; empty from the reference search
   * @param evaluations predicted computations of a device
   */
  record Found(
      List<Shard> shards,
      List<DeviceCost> deviceCosts,
      Replication replication,
      List<CollectiveCodec> codecs,
      double predictedMs,
      Optional<Insight> insight,
      long evaluations)
      implements SearchResult {
    /** Copies what may change. */
    public Found {
      shards = List.copyOf(shards);
      deviceCosts = List.copyOf(deviceCosts);
      codecs = List.copyOf(codecs);
    }

    /** Returns this plan, found after so many evaluations. */
    public Found after(long allEvaluations) {
      return new Found(
          shards, deviceCosts, replication, codecs, predictedMs, insight, allEvaluations);
    }

    /** Returns the shards on their devices. */
    public PlanShards placed() {
      return new PlanShards(shards, deviceCosts.size(), replication.groups());
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
