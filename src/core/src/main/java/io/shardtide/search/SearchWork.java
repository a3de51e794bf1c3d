package io.shardtide.search;

import io.shardtide.cost.CostEvaluator;
import java.util.concurrent.CancellationException;

/**
 * What a search has spent. Its budget is evaluations; where few tables may move, most proposals
 * lead to none, so that proposals have a limit of their own.
 */
final class SearchWork {
  /**
   * Proposals for each evaluation of a budget. Searches whose tables may all move make fewer; 20 of
   * them take about as long as one evaluation.
   */
  private static final long PROPOSALS_PER_EVALUATION = 20;

  private final CostEvaluator evaluator;
  long proposals;

  /** The number of moves that were evaluated. */
  long moves;

  private volatile boolean isStopped;

  SearchWork(CostEvaluator evaluator) {
    this.evaluator = evaluator;
  }

  /**
   * Counts a proposal.
   *
   * @throws CancellationException if the search was stopped, or its thread interrupted
   */
  void proposed() {
    proposals++;
    if ((proposals & 1_023) == 0) {
      check();
    }
  }

  /**
   * Checks that the search goes on.
   *
   * @throws CancellationException if it was stopped, or its thread interrupted
   */
  void check() {
    if (isStopped || Thread.currentThread().isInterrupted()) {
      throw new CancellationException("the search was stopped");
    }
  }

  /** Stops the search, which runs in another thread. */
  void stop() {
    isStopped = true;
  }

  /** Returns how often a computation was predicted, for moves and for bookkeeping. */
  long evaluations() {
    return evaluator.evaluations();
  }

  /**
   * Returns whether a budget is spent.
   *
   * @param evaluations the budget, from the search's beginning
   */
  boolean isSpent(long evaluations) {
    return evaluations() >= evaluations || proposals / PROPOSALS_PER_EVALUATION >= evaluations;
  }
}
