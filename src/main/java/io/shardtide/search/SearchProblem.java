package io.shardtide.search;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import java.util.List;
import java.util.Objects;

/**
 * What is to be sharded.
 *
 * @param tables the tables with what the model says of them; their order breaks ties
 * @param cluster the devices
 * @param model the model that predicted
 */
public record SearchProblem(List<TablePrediction> tables, ClusterSpec cluster, CostModel model) {
  /** Copies what may change. */
  public SearchProblem {
    tables = List.copyOf(tables);
    Objects.requireNonNull(cluster, "cluster");
    Objects.requireNonNull(model, "model");
  }
}
