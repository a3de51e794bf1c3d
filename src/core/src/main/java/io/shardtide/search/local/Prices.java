package io.shardtide.search.local;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.SearchSettings;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.TableGroup;
import java.util.List;

/**
 * What an assignment costs beside computation and collectives of a step, in milliseconds a step.
 *
 * @param moves the price of moves away from the running plan
 * @param synchronization the price of keeping replica groups equal
 */
record Prices(MovePrice moves, SynchronizationPrice synchronization) {
  /**
   * Returns the prices of a problem.
   *
   * @param tables the tables, those that are placed together as one
   * @param running the running plan
   * @param settings what moves cost
   * @param evaluator predicts
   */
  static Prices of(
      SearchProblem problem,
      List<TableGroup> tables,
      CurrentPlan running,
      SearchSettings settings,
      CostEvaluator evaluator) {
    ClusterSpec cluster = problem.cluster();
    return new Prices(
        new MovePrice(running, tables, cluster, settings, problem.synchronization().groups()),
        new SynchronizationPrice(problem.synchronization(), evaluator, cluster.devices()));
  }

  /** Returns the sum. */
  double ms() {
    return moves.ms() + synchronization.ms();
  }

  /** Returns prices of the same kinds, before any assignment. */
  Prices copy() {
    return new Prices(moves.copy(), synchronization.copy());
  }

  /** Recomputes the prices from the assignment. */
  void refresh(Assignment assignment) {
    moves.refresh(assignment);
    synchronization.refresh(assignment);
  }

  /** Returns by how much a move raises the prices. */
  double change(Assignment assignment, SearchMove move) {
    return moves.change(assignment, move) + synchronization.change(assignment, move);
  }

  /** Updates the prices for a move that is about to be applied. */
  void apply(Assignment assignment, SearchMove move) {
    moves.apply(assignment, move);
    synchronization.apply(assignment, move);
  }
}
