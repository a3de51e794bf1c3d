package io.shardtide.search;

import io.shardtide.option.Option;
import io.shardtide.option.TablePart;
import io.shardtide.search.bound.PlanBound;
import io.shardtide.search.problem.TableGroup;
import io.shardtide.workload.ShardScope;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A search from the running plan. It keeps what can be kept and places what has no place. Then it
 * moves shards of the running plan if the gain of all moves together pays for them and for the
 * reshard; where something has to move anyway, the reshard is paid.
 */
record Repair(LocalSearch search) {
  /** Rounds without a gain after which a search ends: more of them gain nothing on average. */
  private static final int MAX_IDLE = 5;

  /** Perturbations without a gain after which a search ends. */
  private static final int MAX_KICKS = 20;

  /** Returns the running plan with all tables placed and improved, or null if they do not fit. */
  State run() {
    State state = search.empty();
    for (int t = 0; t < search.tables.size(); t++) {
      Way way = kept(t);
      for (RunningTable.RunningPart part : search.running.get(t).parts()) {
        if (way != null) {
          state.add(t, way, part.place());
        }
      }
    }
    new PartRemoval(state).run();
    int[] waiting =
        IntStream.range(0, search.tables.size()).filter(t -> !state.isComplete(t)).toArray();
    if (!search.placer.complete(state, scope -> true)) {
      return null;
    }
    return search.cluster.devices() == 1 ? state : improved(state, waiting);
  }

  /** Returns the way of a running table if a plan may keep its parts; null if not. */
  private Way kept(int table) {
    List<RunningTable.RunningPart> parts = search.running.get(table).parts();
    if (parts.isEmpty()) {
      return null;
    }
    TableGroup group = search.tables.get(table);
    RunningTable.RunningPart first = parts.get(0);
    int columns = parts.stream().mapToInt(RunningTable.RunningPart::columns).sum();
    if (first.part().scope() != ShardScope.DEVICE && columns < group.columns()) {
      return null; // A table that is split over nodes is placed as a whole.
    }
    if (group.isConstrained() && !keepsConstraints(group, parts)) {
      return null;
    }
    boolean areEqual =
        parts.stream().allMatch(part -> part.part().equals(first.part()))
            && parts.stream().map(RunningTable.RunningPart::place).distinct().count()
                == parts.size();
    if (!areEqual) {
      return null;
    }
    Option option = search.running.get(table).option();
    Way way = search.ways.find(table, option);
    return way == null ? search.ways.find(table, option.withAllRows()) : way;
  }

  private boolean keepsConstraints(TableGroup group, List<RunningTable.RunningPart> running) {
    TablePart part = running.get(0).part();
    Places places = search.places;
    boolean isInNode =
        part.scope() != ShardScope.DEVICE
            || !group.keepsPartsInNode()
            || running.stream().map(of -> places.nodeOf[of.place()]).distinct().count() == 1;
    return isInNode && group.columns() % part.columns() == 0 && group.allows(part, search.cluster);
  }

  private State improved(State state, int[] waiting) {
    if (waiting.length == 0 && search.settings.repairEvaluations() == 0) {
      return state;
    }
    Annealing first = search.annealing(state, true);
    if (waiting.length > 0) {
      first.improve(
          waiting, search.work.evaluations() + search.settings.evaluations(waiting.length));
    }
    double costMs = first.bestMs;
    double reshardMs = first.objective.movePrice.ms > 0 ? 0 : search.settings.reshardMsPerStep();
    if (search.settings.repairEvaluations() == 0
        || (reshardMs > 0 && costMs - PlanBound.of(search.problem, 0) <= reshardMs)) {
      return state;
    }
    long limit = search.work.evaluations() + search.settings.repairEvaluations();
    State kept = state.copy();
    List<Annealing> searches = new ArrayList<>();
    searches.add(first);
    for (ShardScope scope : ShardScope.values()) {
      addWithout(scope, kept, searches, limit);
    }
    improveInTurn(searches, kept, limit);
    Annealing best =
        searches.stream()
            .min(Comparator.comparingDouble((Annealing search) -> search.bestMs))
            .orElseThrow();
    leaveOptimum(best, kept, limit);
    return best.bestMs + reshardMs < costMs ? best.best() : kept;
  }

  /** Improves plans in rounds until the budget is spent, or several rounds have not gained. */
  private void improveInTurn(List<Annealing> searches, State kept, long limit) {
    double bestMs = Double.POSITIVE_INFINITY;
    int idle = 0;
    while (idle < MAX_IDLE && !search.work.isSpent(limit)) {
      double before = bestMs;
      for (Annealing next : searches) {
        next.improve(limit);
        if (search.work.evaluations() < limit) {
          next.reduceMoves(kept);
        }
        bestMs = Math.min(bestMs, next.bestMs);
      }
      idle = bestMs < before ? 0 : idle + 1;
    }
  }

  /**
   * Perturbs the best plan until the budget is spent, or several perturbations have not gained: a
   * plan that was balanced for other costs is often a local optimum 2 to 13% above the best one.
   */
  private void leaveOptimum(Annealing best, State kept, long limit) {
    int idle = 0;
    while (idle < MAX_KICKS && !search.work.isSpent(limit)) {
      double before = best.bestMs;
      best.cycle(limit);
      if (search.work.evaluations() < limit) {
        best.reduceMoves(kept);
      }
      idle = best.bestMs < before ? 0 : idle + 1;
    }
  }

  /**
   * Adds a search from a plan without split tables of one scope, or without copies: the last one of
   * them pays for a collective, so that no single table's move gains.
   */
  private void addWithout(ShardScope scope, State kept, List<Annealing> searches, long limit) {
    State state = kept.copy();
    int[] changed =
        scope == ShardScope.DEVICE
            ? new int[0]
            : IntStream.range(0, search.tables.size())
                .filter(t -> kept.way[t].scope == scope)
                .toArray();
    for (int table : changed) {
      state.clear(table);
    }
    if (changed.length > 0 && search.placer.complete(state, other -> other == ShardScope.DEVICE)) {
      Annealing without = search.annealing(state, true);
      without.improve(changed, limit);
      searches.add(without);
    }
  }
}
