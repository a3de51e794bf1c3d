package io.shardtide.search.local;

import io.shardtide.domain.Explanation;
import io.shardtide.domain.Insight;
import io.shardtide.domain.Overlap;
import io.shardtide.domain.PlanShards;
import io.shardtide.domain.Shard;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.TableGroup;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The analysis of a plan that was found.
 *
 * @param problem what was searched
 * @param tables the tables, those that are placed together as one
 * @param assignment the plan
 * @param objective the cost of the assignment without moves
 * @param running the running plan
 */
record PlanAnalysis(
    SearchProblem problem,
    List<TableGroup> tables,
    Assignment assignment,
    Objective objective,
    CurrentPlan running) {

  /**
   * Returns the bottleneck and the explanations.
   *
   * @param shards the shards of the plan
   */
  Insight insight(List<Shard> shards, double lowerBoundMs, double uncertaintyMs) {
    List<String> names = tables.stream().map(TableGroup::name).toList();
    Map<String, Integer> positions = new HashMap<>();
    // What several tables do together is not explained: no decision is one table's.
    for (int t = 0; t < names.size(); t++) {
      if (!tables.get(t).isShared()) {
        positions.put(names.get(t), t);
      }
    }
    Explainer explainer = new Explainer(assignment, objective);
    KindExplainer kinds = new KindExplainer(assignment, objective, running);
    // Earlier plans explain the cuts and the kinds that they chose.
    List<Integer> newlyCut =
        IntStream.range(0, tables.size())
            .filter(t -> !tables.get(t).isShared())
            .filter(t -> running.parts(t).size() != assignment.shardsOfTable(t))
            .boxed()
            .toList();
    List<Explanation> explanations = new ArrayList<>(explainer.splits(newlyCut, names));
    explanations.addAll(kinds.explain(tables));
    explanations.addAll(new CacheExplainer(assignment, objective, running).explain(tables));
    // Of all other tables, moves follow from the kind.
    List<Shard> placed =
        problem.start().shards().stream()
            .filter(shard -> positions.containsKey(shard.table()))
            .filter(shard -> kinds.isPlaced(positions.get(shard.table()), shard.kind().scope()))
            .toList();
    PlanShards before = new PlanShards(placed, problem.start().devices());
    PlanShards planned = new PlanShards(shards, problem.cluster().devices());
    explanations.addAll(explainer.moves(Overlap.between(before, planned), positions));
    explanations.sort(Explanation.ORDER);
    return new Insight(
        lowerBoundMs,
        uncertaintyMs,
        explainer.bottleneck(names),
        explanations.stream().limit(Insight.MAX_EXPLANATIONS).toList());
  }
}
