package io.shardtide.search;

import io.shardtide.cost.Tiers;
import io.shardtide.option.Option;
import io.shardtide.option.TablePart;
import io.shardtide.plan.Bottleneck;
import io.shardtide.plan.Explanation;
import io.shardtide.plan.Explanation.Cause;
import io.shardtide.plan.Explanation.ExplainedAction;
import io.shardtide.plan.Insight;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.Shard;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.TableGroup;
import io.shardtide.workload.ShardScope;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * Explains a plan: undoes one decision at a time and predicts the step without it. What several
 * tables on the same devices do together is not explained: no decision is one table's.
 */
final class Explainer {
  /** Tables that are explained for each kind of decision; some take evaluations of all devices. */
  static final int MAX_TABLES = 32;

  /** Split or copied parts of a place that may be its bottleneck. */
  private static final int MAX_SPLIT_CANDIDATES = 16;

  private final SearchProblem problem;
  private final List<TableGroup> tables;
  private final State state;
  private final Objective objective;
  private final TableWays ways;
  private final CurrentPlan running;
  private final Places places;
  private final Move move = new Move();

  /**
   * @param problem what was searched
   * @param tables the tables, those that are placed together as one
   * @param state the plan; every change to it is undone
   * @param objective its cost, without the price of moves
   * @param ways the ways of the tables
   * @param running the running plan
   */
  Explainer(
      SearchProblem problem,
      List<TableGroup> tables,
      State state,
      Objective objective,
      TableWays ways,
      CurrentPlan running) {
    this.problem = problem;
    this.tables = tables;
    this.state = state;
    this.objective = objective;
    this.ways = ways;
    this.running = running;
    places = state.places;
  }

  /**
   * Returns the bottleneck and the explanations.
   *
   * @param shards the shards of the plan
   */
  Insight insight(List<Shard> shards, double lowerBoundMs, double uncertaintyMs) {
    List<Explanation> explanations = new ArrayList<>();
    for (int t = 0; t < tables.size(); t++) {
      if (!tables.get(t).isShared() && isNewlyCut(t)) {
        explanations.add(cut(t));
      }
    }
    explain(t -> !tables.get(t).isAlwaysCopied() && isNewKind(t))
        .forEach(t -> explanations.add(kind(t)));
    explain(this::isNewCache)
        .forEach(
            t -> explanations.add(undone(ExplainedAction.CACHE, t, leastCache(t), Cause.MEMORY)));
    explain(this::hasNewRowsOnAll)
        .forEach(
            t -> {
              Way uncut = ways.find(t, state.way(t).option.withAllRows());
              explanations.add(undone(ExplainedAction.HOT_ROWS, t, uncut, Cause.COMMUNICATION));
            });
    explanations.addAll(moves(shards));
    explanations.sort(Explanation.ORDER);
    return new Insight(
        lowerBoundMs,
        uncertaintyMs,
        bottleneck(),
        explanations.stream().limit(Insight.MAX_EXPLANATIONS).toList());
  }

  private List<Integer> explain(IntPredicate which) {
    return TableGroup.largest(tables, which, MAX_TABLES);
  }

  private Explanation explanation(ExplainedAction action, int table, Cause cause, double gainMs) {
    return new Explanation(action, tables.get(table).name(), -1, -1, cause, gainMs);
  }

  /** Returns how much longer a step takes after the move, whether there is room for it or not. */
  private double gainMs() {
    return objective.costAfter(move) - objective.costMs();
  }

  /** Returns what a decision saves, computation if that is at least half of its gain. */
  private static Cause cause(double computeMs, double gainMs) {
    return 2 * computeMs >= gainMs ? Cause.COMPUTATION : Cause.COMMUNICATION;
  }

  // Cuts by columns.

  private boolean isNewlyCut(int table) {
    Way way = state.way(table);
    return way.part.isOnDevice() && way.parts > 1 && running.parts(table).size() != way.parts;
  }

  /** Merges a table's shards on one of their devices. */
  private Explanation cut(int table) {
    Way way = state.way(table);
    int columns = tables.get(table).columns();
    Way whole = ways.find(table, way.option.with(Option.ofColumns(columns).part()));
    if (whole == null || whole.load.bytes() > state.memory[state.place(table, 0)][Tiers.DEVICE]) {
      return explanation(ExplainedAction.SPLIT, table, Cause.MEMORY, 0);
    }
    int unitsBefore = objective.maxUnits();
    move.begin();
    move.add(table, whole)[0] = state.place(table, 0);
    double gain = gainMs();
    Cause cause = objective.movedMaxUnits() > unitsBefore ? Cause.COMMUNICATION : Cause.COMPUTATION;
    return explanation(ExplainedAction.SPLIT, table, cause, gain);
  }

  // Kinds.

  /**
   * Returns whether a table's rows are split or copied, or no longer are, other than in the part of
   * the running plan that can be kept.
   */
  private boolean isNewKind(int table) {
    TablePart part = state.way(table).part;
    return isKept(table)
        ? !running.parts(table).get(0).part().isSplitAs(part)
        : !part.isByColumns() || lostRows(table);
  }

  /** Returns whether a table's parts can be kept; of one that is split over nodes, all of them. */
  private boolean isKept(int table) {
    List<CurrentPlan.RunningPart> parts = running.parts(table);
    return !parts.isEmpty()
        && (running.scope(table) == ShardScope.DEVICE
            || parts.size() == running.partsBefore(table));
  }

  /** Returns whether rows of a table, split before, were on a device that is gone. */
  private boolean lostRows(int table) {
    return running.ran(table)
        && running.scope(table) != ShardScope.DEVICE
        && running.shards(table).shards().stream()
            .anyMatch(shard -> shard.device() >= state.devices);
  }

  /**
   * Takes a table out of the plan, and places it by columns instead; one that was split or copied
   * and is now on single devices goes back to where it was.
   */
  private Explanation kind(int table) {
    boolean goesBack = state.way(table).part.isByColumns();
    if (goesBack && running.parts(table).size() < running.partsBefore(table)) {
      return explanation(ExplainedAction.KIND, table, Cause.DEVICE_LOST, 0);
    }
    double costMs = objective.costMs();
    double computeMs = objective.computeMs(objective.lastDevice());
    Move back = Move.restoring(state, table);
    move.begin();
    move.add(table, null);
    apply(move);
    Move best = goesBack ? asBefore(table) : byColumns(table);
    double gain = 0;
    Cause cause = Cause.MEMORY;
    if (best != null) {
      apply(best);
      gain = objective.costMs() - costMs;
      cause = cause(objective.computeMs(objective.lastDevice()) - computeMs, gain);
    }
    apply(back);
    return explanation(ExplainedAction.KIND, table, cause, gain);
  }

  private void apply(Move any) {
    objective.costAfter(any);
    objective.apply(any);
  }

  /** Returns the best equal cut of a table's columns, on the devices that are ready first. */
  private Move byColumns(int table) {
    TableGroup group = tables.get(table);
    List<Integer> readyFirst =
        IntStream.range(0, state.devices)
            .boxed()
            .sorted(Comparator.comparingDouble(objective::startMs).thenComparingInt(d -> d))
            .toList();
    Move best = null;
    double bestMs = Double.POSITIVE_INFINITY;
    for (Option option : group.options(problem.cluster())) {
      if (!option.isOnDevice()) {
        continue;
      }
      Way way = ways.find(table, option);
      Move found = new Move();
      found.begin();
      int[] at = found.add(table, way);
      int placed = 0;
      for (int d : readyFirst) {
        if (placed < way.parts && state.mayAdd(table, way, d)) {
          at[placed++] = d;
        }
      }
      if (placed == way.parts && objective.costAfter(found) < bestMs) {
        best = found;
        bestMs = objective.movedCostMs();
      }
    }
    return best;
  }

  /** Returns the table where it was, if there is room for it. */
  private Move asBefore(int table) {
    List<CurrentPlan.RunningPart> parts = running.parts(table);
    Way way = ways.find(table, running.option(table));
    if (way == null || way.parts != parts.size()) {
      return null;
    }
    Move found = new Move();
    found.begin();
    int[] at = found.add(table, way);
    for (int i = 0; i < way.parts; i++) {
      at[i] = parts.get(i).place();
      if (!state.mayAdd(table, way, at[i])) {
        return null;
      }
    }
    return found;
  }

  // Caches, and rows that all devices have.

  private boolean isNewCache(int table) {
    List<CurrentPlan.RunningPart> before = running.parts(table);
    Way way = state.way(table);
    return way.isCached()
        && (before.isEmpty() || !before.get(0).part().cacheShare().equals(way.part.cacheShare()));
  }

  private Way leastCache(int table) {
    ways.of(table);
    Way least = state.way(table);
    while (least.lessCache != null) {
      least = least.lessCache;
    }
    return least;
  }

  private boolean hasNewRowsOnAll(int table) {
    Option option = state.way(table).option;
    return !option.hasAllRows() && option.firstRow() != running.firstRow(table);
  }

  /** Shards a table in another way at the same places, if there is one. */
  private Explanation undone(ExplainedAction action, int table, Way before, Cause cause) {
    if (before == null) {
      return explanation(action, table, cause, 0);
    }
    move.begin();
    move.change(state, table, before);
    return explanation(action, table, cause, gainMs());
  }

  // Moves.

  /** Returns why parts moved, of tables with parts on single devices, or nodes, in both plans. */
  private List<Explanation> moves(List<Shard> shards) {
    Map<String, Integer> positions = new HashMap<>();
    for (int t = 0; t < tables.size(); t++) {
      if (!tables.get(t).isShared()) {
        positions.put(tables.get(t).name(), t);
      }
    }
    List<Shard> placed =
        problem.reusablePlan().shards().stream()
            .filter(shard -> positions.containsKey(shard.table()))
            .filter(shard -> isPlaced(positions.get(shard.table()), shard))
            .toList();
    PlanShards before = new PlanShards(placed, problem.reusablePlan().devices());
    List<Shard> now = shards.stream().filter(shard -> !shard.isCopied()).toList();
    PlanShards planned = new PlanShards(now, problem.cluster().devices());
    record MovePath(int table, int from, int to) {}
    Set<MovePath> paths = new LinkedHashSet<>();
    for (Overlap overlap : Overlap.between(before, planned)) {
      int table = positions.get(overlap.table());
      // The devices of a node get their rows by one decision.
      int from = firstDevice(table, overlap.fromDevice());
      int to = firstDevice(table, overlap.toDevice());
      if (from != to) {
        paths.add(new MovePath(table, from, to));
      }
    }
    return paths.stream()
        .flatMap(path -> moved(path.table(), path.from(), path.to()).stream())
        .toList();
  }

  /** Returns whether the search chose a device or a node for a shard, as before. */
  private boolean isPlaced(int table, Shard shard) {
    ShardScope scope = shard.kind().scope();
    return !shard.isCopied()
        && scope == state.way(table).scope
        && (scope == ShardScope.DEVICE || (scope == ShardScope.NODE && isKept(table)));
  }

  private int firstDevice(int table, int device) {
    return state.way(table).scope == ShardScope.NODE && device < state.devices
        ? places.first(places.of(ShardScope.NODE, device))
        : device;
  }

  /** Moves a part back to where it was. */
  private Optional<Explanation> moved(int table, int from, int to) {
    if (from >= state.devices) {
      return moved(table, from, to, Cause.DEVICE_LOST, 0);
    }
    ShardScope scope = state.way(table).scope;
    int before = places.of(scope, from);
    int now = places.of(scope, to);
    int part = 0;
    while (state.place(table, part) != now) {
      part++;
    }
    if (state.isAt(table, before)) {
      return Optional.empty(); // It follows from the cut, which is explained.
    }
    move.begin();
    move.shift(state, table, part, before);
    if (objective.evaluate(move) == Double.POSITIVE_INFINITY) {
      return moved(table, from, to, Cause.MEMORY, 0);
    }
    double gain = objective.movedCostMs() - objective.costMs();
    Cause cause =
        objective.movedMaxUnits() > objective.maxUnits() ? Cause.COMMUNICATION : Cause.COMPUTATION;
    if (scope == ShardScope.NODE) {
      double computeMs = objective.computeMs(objective.lastDevice());
      Move back = Move.restoring(state, table);
      objective.apply(move);
      cause = cause(objective.computeMs(objective.lastDevice()) - computeMs, gain);
      apply(back);
    }
    return moved(table, from, to, cause, gain);
  }

  private Optional<Explanation> moved(int table, int from, int to, Cause cause, double gainMs) {
    String name = tables.get(table).name();
    return Optional.of(new Explanation(ExplainedAction.MOVE, name, from, to, cause, gainMs));
  }

  // The bottleneck.

  private Bottleneck bottleneck() {
    int device = objective.lastDevice();
    double now = objective.costMs();
    int costliest = -1;
    double gain = Double.NEGATIVE_INFINITY;
    for (ShardScope scope : ShardScope.values()) {
      for (int table : candidates(places.of(scope, device))) {
        move.begin();
        move.add(table, null);
        double without = now - objective.costAfter(move);
        if (without > gain) {
          gain = without;
          costliest = table;
        }
      }
    }
    if (costliest < 0) {
      return new Bottleneck(device, Cause.COMMUNICATION, "", 0);
    }
    boolean isComputing =
        objective.computeMs(device)
            > objective.startMs(device) - objective.computeMs(device) + objective.forwardMs(device);
    Cause cause = isComputing ? Cause.COMPUTATION : Cause.COMMUNICATION;
    return new Bottleneck(
        device,
        hasRoomElsewhere(device, state.way(costliest)) ? cause : Cause.MEMORY,
        tables.get(costliest).name(),
        gain);
  }

  /**
   * Returns the tables of a place to look at: of those on several devices, which all have to be
   * evaluated without it, the ones with the most computation.
   */
  private List<Integer> candidates(int place) {
    boolean isDevice = place < state.devices;
    return IntStream.range(0, state.countAt(place))
        .mapToObj(i -> state.tableAt(place, i))
        .sorted(
            Comparator.comparingDouble((Integer t) -> isDevice ? 0 : -state.way(t).aloneMs)
                .thenComparingInt(t -> t))
        .limit(isDevice ? Long.MAX_VALUE : MAX_SPLIT_CANDIDATES)
        .toList();
  }

  private boolean hasRoomElsewhere(int device, Way way) {
    for (int d = 0; d < state.devices; d++) {
      if (d != device && state.hasRoom(d, way.load.memory())) {
        return true;
      }
    }
    return state.devices == 1;
  }
}
