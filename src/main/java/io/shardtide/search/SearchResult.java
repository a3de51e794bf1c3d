package io.shardtide.search;

import io.shardtide.domain.DeviceCost;
import io.shardtide.domain.Insight;
import io.shardtide.domain.Shard;
import io.shardtide.domain.Shortfall;
import java.util.List;
import java.util.Optional;

/** What a search came to. */
public sealed interface SearchResult {
  /** Returns how many costs of a device the search asked for. */
  long evaluations();

  /**
   * A plan.
   *
   * @param shards every column of every table once, in {@link Shard#ORDER} if the tables were
   *     sorted by name
   * @param deviceCosts one per device
   * @param predictedMs cost of one step in milliseconds
   * @param insight what is known of the plan; empty from the reference search
   * @param evaluations costs of a device that were asked for
   */
  record Found(
      List<Shard> shards,
      List<DeviceCost> deviceCosts,
      double predictedMs,
      Optional<Insight> insight,
      long evaluations)
      implements SearchResult {
    /** Copies what may change. */
    public Found {
      shards = List.copyOf(shards);
      deviceCosts = List.copyOf(deviceCosts);
    }
  }

  /**
   * No plan.
   *
   * @param shortfall the memory that is missing
   * @param evaluations costs of a device that were asked for
   */
  record NotFound(Shortfall shortfall, long evaluations) implements SearchResult {}
}
