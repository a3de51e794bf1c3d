package io.shardtide.search.local;

import io.shardtide.domain.Explanation;
import io.shardtide.domain.Explanation.Cause;
import io.shardtide.domain.Explanation.ExplainedAction;
import io.shardtide.search.ShapeCosts;
import io.shardtide.search.TableGroup;
import java.util.List;

/** Explains the size of a cache: gives the table the smallest one, and predicts the step. */
final class CacheExplainer {
  /** Tables that are explained; each takes an evaluation of every device that it is on. */
  private static final int MAX_TABLES = 32;

  private final Assignment assignment;
  private final Objective objective;
  private final CurrentPlan running;
  private final ShapeCosts costs;

  /**
   * @param assignment the plan; every change to it is undone
   * @param objective its cost, without the price of moves
   * @param running what was running
   */
  CacheExplainer(Assignment assignment, Objective objective, CurrentPlan running) {
    this.assignment = assignment;
    this.objective = objective;
    this.running = running;
    costs = assignment.costs();
  }

  /** Returns explanations of the largest tables that are cached, and were not in the same way. */
  List<Explanation> explain(List<TableGroup> tables) {
    return TableGroup.largest(tables, this::isNew, MAX_TABLES).stream()
        .map(t -> explain(t, tables.get(t).name()))
        .toList();
  }

  private boolean isNew(int table) {
    int shape = assignment.shapeOfTable(table, 0);
    List<CurrentPlan.RunningPart> before = running.parts(table);
    return costs.isCached(shape)
        && (before.isEmpty() || !before.get(0).cacheShare().equals(costs.part(shape).cacheShare()));
  }

  private Explanation explain(int table, String name) {
    SearchMove move = new SearchMove(costs);
    move.begin();
    for (int i = 0; i < assignment.shardsOfTable(table); i++) {
      int shape = assignment.shapeOfTable(table, i);
      move.replace(table, assignment.place(table, i), shape, least(shape));
    }
    objective.evaluate(move, Double.POSITIVE_INFINITY);
    double gain = objective.movedCostMs() - objective.costMs();
    return new Explanation(ExplainedAction.CACHE, name, -1, -1, Cause.MEMORY, gain);
  }

  private int least(int shape) {
    int least = shape;
    for (int less = shape; less != ShapeCosts.NONE; less = costs.withLessCache(less)) {
      least = less;
    }
    return least;
  }
}
