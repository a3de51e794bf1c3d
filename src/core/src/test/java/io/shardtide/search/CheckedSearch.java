package io.shardtide.search;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.plan.SearchSettings;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;

/** Searches that compare every cost after a move with one from scratch, which is slow. */
final class CheckedSearch {
  /** Sums of squares accumulate rounding errors; everything else is exact. */
  private static final double TOLERANCE = 1e-9;

  /** One for each search, whose own evaluations are counted. */
  private static final Map<LocalSearch, CostEvaluator> EVALUATORS =
      Collections.synchronizedMap(new WeakHashMap<>());

  private CheckedSearch() {}

  static SearchResult search(SearchProblem problem, SearchSettings settings) {
    return LocalSearch.search(problem, settings, (s, o) -> check(problem, s, o));
  }

  static LocalSearch of(SearchProblem problem, SearchSettings settings) {
    return new LocalSearch(problem, settings, 1, (s, o) -> check(problem, s, o));
  }

  private static void check(SearchProblem problem, LocalSearch search, Objective objective) {
    CostEvaluator evaluator =
        EVALUATORS.computeIfAbsent(search, s -> problem.model().evaluator(search.settings.risk()));
    Objective fresh =
        search.objective(objective.state.copy(), search.running, evaluator, applied -> {});
    // As it was set: a move may have left fewer units than that in total.
    fresh.minMaxUnits = objective.minMaxUnits;
    fresh.refreshCommunication();
    checkSame("evaluated cost", objective.movedCostMs, fresh.costMs);
    checkSame("evaluated score", objective.movedScore, fresh.score);
    checkSame("cost", objective.costMs, fresh.costMs);
    checkSame("score", objective.score, fresh.score);
    for (int d = 0; d < objective.state.devices; d++) {
      checkSame("start of device " + d, objective.startMs[d], fresh.startMs[d]);
      checkSame("forward communication of device " + d, objective.forwardMs[d], fresh.forwardMs[d]);
    }
  }

  private static void checkSame(String what, double kept, double fresh) {
    if (!(Math.abs(kept - fresh) <= TOLERANCE * Math.abs(fresh))) {
      throw new IllegalStateException(
          "%s must be %s ms as computed from scratch, got %s ms".formatted(what, fresh, kept));
    }
  }
}
