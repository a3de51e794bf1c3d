package io.shardtide.search.local;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.domain.ShardScope;
import io.shardtide.search.ShapeCosts;
import io.shardtide.search.TableGroup;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A search from the running plan. It keeps what can be kept and places what has no place. Then it
 * moves shards of the running plan if the gain of all moves together pays for them and for the
 * reshard; where something has to move anyway, the reshard is paid.
 */
final class Repair {
  private static final Comparator<Annealing> CHEAPEST_FIRST =
      Comparator.comparingDouble(Annealing::bestMs);

  /** Rounds without a gain after which a search ends: more of them gain nothing on average. */
  private static final int MAX_IDLE = 5;

  /** Perturbations without a gain after which a search ends. */
  private static final int MAX_KICKS = 20;

  private final LocalSearch search;
  private final CostEvaluator evaluator;
  private final List<TableGroup> tables;

  Repair(LocalSearch search) {
    this.search = search;
    evaluator = search.evaluator;
    tables = search.tables;
  }

  /** Returns the running plan with all tables placed and improved, or null if they do not fit. */
  Assignment run() {
    Assignment assignment = search.empty();
    for (int t = 0; t < tables.size(); t++) {
      for (CurrentPlan.RunningPart part :
          search.options.kept(t, search.running.parts(t), search.places)) {
        int shape = search.costs.shape(t, part.part(search.places));
        assignment.edit(t, part.place(), ShapeCosts.NONE, shape);
      }
    }
    new Eviction(assignment).run();
    int[] waiting = waiting(assignment);
    if (!search.optionPlacer.complete(assignment, scope -> true)) {
      return null;
    }
    return search.cluster.devices() == 1 ? assignment : improved(assignment, waiting);
  }

  private int[] waiting(Assignment assignment) {
    return IntStream.range(0, tables.size())
        .filter(t -> assignment.placedColumns(t) < tables.get(t).columns())
        .toArray();
  }

  private Assignment improved(Assignment assignment, int[] waiting) {
    if (waiting.length == 0 && search.settings.repairEvaluations() == 0) {
      return assignment;
    }
    Annealing first = search.annealing(assignment);
    if (waiting.length > 0) {
      first.improve(waiting, evaluator.evaluations() + search.settings.evaluations(waiting.length));
    }
    double costMs = first.bestMs();
    double reshardMs = first.moveMs() > 0 ? 0 : search.settings.reshardMsPerStep();
    if (search.settings.repairEvaluations() == 0
        || (reshardMs > 0 && costMs - search.lowerBoundMs() <= reshardMs)) {
      return assignment;
    }
    long limit = evaluator.evaluations() + search.settings.repairEvaluations();
    Assignment kept = assignment.copy();
    List<Annealing> searches = new ArrayList<>();
    searches.add(first);
    for (ShardScope scope : ShardScope.values()) {
      addWithout(scope, kept, searches, limit);
    }
    improveInTurn(searches, kept, limit);
    Annealing best = searches.stream().min(CHEAPEST_FIRST).orElseThrow();
    leaveOptimum(best, kept, limit);
    return best.bestMs() + reshardMs < costMs ? best.assignment() : kept;
  }

  /** Improves plans in rounds until the budget is spent, or several rounds have not gained. */
  private void improveInTurn(List<Annealing> searches, Assignment kept, long limit) {
    double bestMs = Double.POSITIVE_INFINITY;
    int idle = 0;
    while (idle < MAX_IDLE && !search.work.isSpent(limit)) {
      double before = bestMs;
      for (Annealing next : searches) {
        next.improve(limit);
        if (evaluator.evaluations() < limit) {
          next.reduceMoves(kept);
        }
        bestMs = Math.min(bestMs, next.bestMs());
      }
      idle = bestMs < before ? 0 : idle + 1;
    }
  }

  /**
   * Perturbs the best plan until the budget is spent, or several perturbations have not gained: a
   * plan that was balanced for other costs is often a local optimum 2 to 13% above the best one.
   */
  private void leaveOptimum(Annealing best, Assignment kept, long limit) {
    int idle = 0;
    while (idle < MAX_KICKS && !search.work.isSpent(limit)) {
      double before = best.bestMs();
      best.cycle(limit);
      if (evaluator.evaluations() < limit) {
        best.reduceMoves(kept);
      }
      idle = best.bestMs() < before ? 0 : idle + 1;
    }
  }

  /**
   * Adds a search from a plan without split tables of one scope, or without copies: the last one of
   * them pays for a collective, so that no single table's move gains.
   */
  private void addWithout(ShardScope scope, Assignment kept, List<Annealing> searches, long limit) {
    Assignment assignment = kept.copy();
    int[] changed =
        scope == ShardScope.DEVICE
            ? new int[0]
            : IntStream.range(0, tables.size())
                .filter(t -> kept.places().scope(kept.place(t, 0)) == scope)
                .toArray();
    for (int table : changed) {
      OptionPlacer.clear(assignment, table);
    }
    if (changed.length > 0
        && search.optionPlacer.complete(assignment, other -> other == ShardScope.DEVICE)) {
      Annealing without = search.annealing(assignment);
      without.improve(changed, limit);
      searches.add(without);
    }
  }
}
