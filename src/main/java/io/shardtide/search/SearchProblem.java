package io.shardtide.search;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import java.util.List;
import java.util.Objects;

/**
 * What is to be sharded.
 *
 * @param tables the tables with what the model says of them; their order breaks ties
 * @param cluster the devices
 * @param model the model that predicted
 * @param running shards of the plan that runs, if one does; tables and devices of it may be gone
 */
public record SearchProblem(
    List<TablePrediction> tables, ClusterSpec cluster, CostModel model, List<Shard> running) {
  /** Copies what may change. */
  public SearchProblem {
    tables = List.copyOf(tables);
    Objects.requireNonNull(cluster, "cluster");
    Objects.requireNonNull(model, "model");
    running = List.copyOf(running);
  }

  /** A problem without a running plan. */
  public SearchProblem(List<TablePrediction> tables, ClusterSpec cluster, CostModel model) {
    this(tables, cluster, model, List.of());
  }
}
