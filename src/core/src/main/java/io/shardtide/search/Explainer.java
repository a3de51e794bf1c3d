package io.shardtide.search;

import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.Tiers;
import io.shardtide.option.Option;
import io.shardtide.option.TablePart;
import io.shardtide.plan.Bottleneck;
import io.shardtide.plan.Deduplication;
import io.shardtide.plan.Explanation;
import io.shardtide.plan.Explanation.Cause;
import io.shardtide.plan.Explanation.ExplainedAction;
import io.shardtide.plan.Insight;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.Shard;
import io.shardtide.search.problem.TableGroup;
import io.shardtide.workload.ShardScope;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Explains a plan: undoes one decision at a time and predicts the step without it. What several
 * tables on the same devices do together is not explained: no decision is one table's.
 *
 * @param search what searched the plan
 * @param state the plan; every change to it is undone
 * @param objective its cost, without the price of moves
 * @param explanations those found so far
 */
record Explainer(
    LocalSearch search, State state, Objective objective, List<Explanation> explanations) {
  /** Tables that are explained for each kind of decision; some take evaluations of all devices. */
  static final int MAX_TABLES = 32;

  /** Split or copied parts of a place that may be its bottleneck. */
  private static final int MAX_SPLIT_CANDIDATES = 16;

  Explainer(LocalSearch search, State state, Objective objective) {
    this(search, state, objective, new ArrayList<>());
  }

  /**
   * Returns the bottleneck and the explanations.
   *
   * @param shards the shards of the plan
   */
  Insight insight(List<Shard> shards, double lowerBoundMs, double uncertaintyMs) {
    largest(search.tables.size(), this::isNewlyCut)
        .forEach(t -> explain(ExplainedAction.SPLIT, t, whole(t), Cause.MEMORY));
    largest(MAX_TABLES, this::isNewKind).forEach(this::explainKind);
    largest(MAX_TABLES, this::isNewCache)
        .forEach(t -> explain(ExplainedAction.CACHE, t, leastCache(t), Cause.MEMORY));
    largest(MAX_TABLES, this::hasNewRowsOnAll)
        .forEach(t -> explain(ExplainedAction.HOT_ROWS, t, allRows(t), Cause.COMMUNICATION));
    explainMoves(shards);
    explanations.sort(Explanation.ORDER);
    return new Insight(
        lowerBoundMs,
        uncertaintyMs,
        bottleneck(),
        explanations.stream().limit(Insight.MAX_EXPLANATIONS).toList(),
        deduplications());
  }

  /** Returns the deduplicated tables, by name. */
  private List<Deduplication> deduplications() {
    List<Deduplication> deduplications = new ArrayList<>();
    for (int t = 0; t < search.tables.size(); t++) {
      if (state.way[t].option.deduplicated()) {
        Move undone = allRows(t);
        double saved =
            undone == null
                ? Double.POSITIVE_INFINITY
                : objective.costAfter(undone) - objective.costMs;
        for (TablePrediction of : search.tables.get(t).tables()) {
          double left = of.derived().deduplicated().orElseThrow().poolingFactor();
          deduplications.add(
              new Deduplication(
                  of.table().name(),
                  left / of.table().poolingFactor(),
                  Double.isInfinite(saved) ? 0 : saved));
        }
      }
    }
    deduplications.sort(Comparator.comparing(Deduplication::table));
    return deduplications;
  }

  private List<Integer> largest(int most, IntPredicate isNew) {
    return TableGroup.largest(search.tables, isNew, most);
  }

  private void explain(ExplainedAction action, int table, Move undone, Cause otherwise) {
    explain(action, table, -1, -1, undone, otherwise);
  }

  /**
   * Explains a decision.
   *
   * @param undone the move that undoes it; null if there is none
   * @param otherwise its purpose, if that does not follow from the step without it
   */
  private void explain(
      ExplainedAction action, int table, int from, int to, Move undone, Cause otherwise) {
    double gainMs = 0;
    Cause cause = otherwise;
    if (undone != null) {
      gainMs = objective.costAfter(undone) - objective.costMs;
      cause =
          switch (action) {
            case SPLIT -> byUnits();
            case MOVE ->
                state.way[table].scope == ShardScope.NODE
                    ? byComputation(undone, gainMs)
                    : byUnits();
            case KIND -> byComputation(undone, gainMs);
            case CACHE, HOT_ROWS, GROUPS -> otherwise;
          };
    }
    explanations.add(
        new Explanation(action, search.tables.get(table).name(), from, to, cause, gainMs));
  }

  /** Returns what a decision saves, communication if a device would send more without it. */
  private Cause byUnits() {
    return objective.movedMaxUnits() > objective.maxUnits()
        ? Cause.COMMUNICATION
        : Cause.COMPUTATION;
  }

  /** Returns what a decision saves, computation if that is at least half of its gain. */
  private Cause byComputation(Move undone, double gainMs) {
    double computeMs = objective.computeMs[objective.lastDevice()];
    Move back = Move.restoring(state, undone.table[0]);
    objective.apply(undone);
    double savedMs = objective.computeMs[objective.lastDevice()] - computeMs;
    apply(back);
    return 2 * savedMs >= gainMs ? Cause.COMPUTATION : Cause.COMMUNICATION;
  }

  private void apply(Move any) {
    objective.costAfter(any);
    objective.apply(any);
  }

  /** Returns the move that shards a table in another way at the same places, if there is one. */
  private Move inPlace(int table, Way other) {
    Move move = new Move();
    if (other != null) {
      move.change(state, table, other);
    }
    return other == null ? null : move;
  }

  private static Move without(int table) {
    Move move = new Move();
    move.add(table, null);
    return move;
  }

  // Cuts by columns.

  private boolean isNewlyCut(int table) {
    Way way = state.way[table];
    return way.part.isOnDevice()
        && way.parts > 1
        && search.running.get(table).parts().size() != way.parts;
  }

  /** Returns a table's shards merged on one of their devices, if one could have them all. */
  private Move whole(int table) {
    Option option = state.way[table].option.withColumns(search.tables.get(table).columns());
    Way whole = search.ways.find(table, option);
    return whole == null || whole.load.bytes() > state.memory[Tiers.DEVICE][state.at[table][0]]
        ? null
        : inPlace(table, whole);
  }

  // Kinds.

  /**
   * Returns whether a table's rows are split or copied, or no longer are, other than in the part of
   * the running plan that can be kept.
   */
  private boolean isNewKind(int table) {
    TablePart part = state.way[table].part;
    if (search.tables.get(table).isAlwaysCopied()) {
      return false;
    }
    return isKept(search.running.get(table))
        ? !search.running.get(table).parts().get(0).part().isSplitAs(part)
        : !part.isByColumns() || lostRows(table);
  }

  /** Returns whether a table's parts can be kept; of one that is split over nodes, all of them. */
  private static boolean isKept(RunningTable table) {
    return !table.parts().isEmpty()
        && (table.scope() == ShardScope.DEVICE || table.parts().size() == table.partsBefore());
  }

  /** Returns whether rows of a table, split before, were on a device that is gone. */
  private boolean lostRows(int table) {
    return search.running.get(table).scope() != ShardScope.DEVICE
        && search.running.get(table).shards().shards().stream()
            .anyMatch(shard -> shard.device() >= state.devices);
  }

  /**
   * Takes a table out of the plan, and places it by columns instead; one that was split or copied
   * and is now on single devices goes back to where it was.
   */
  private void explainKind(int table) {
    boolean goesBack = state.way[table].part.isByColumns();
    boolean isLost =
        goesBack
            && search.running.get(table).parts().size() < search.running.get(table).partsBefore();
    Move undone = null;
    if (!isLost) {
      Move back = Move.restoring(state, table);
      apply(without(table));
      undone = goesBack ? asBefore(table) : byColumns(table);
      apply(back);
    }
    Cause otherwise = isLost ? Cause.DEVICE_LOST : Cause.MEMORY;
    explain(ExplainedAction.KIND, table, undone, otherwise);
  }

  /** Returns the best equal cut of a table's columns, on the devices that are ready first. */
  private Move byColumns(int table) {
    List<Integer> readyFirst =
        IntStream.range(0, state.devices)
            .boxed()
            .sorted(
                Comparator.comparingDouble((Integer d) -> objective.startMs[d])
                    .thenComparingInt(d -> d))
            .toList();
    Move best = null;
    double bestMs = Double.POSITIVE_INFINITY;
    for (Option option : search.tables.get(table).options(search.cluster)) {
      Move found =
          option.isOnDevice() ? placed(table, search.ways.find(table, option), readyFirst) : null;
      if (found != null && objective.costAfter(found) < bestMs) {
        best = found;
        bestMs = objective.movedCostMs;
      }
    }
    return best;
  }

  /** Returns the table where it was, if there is room for it. */
  private Move asBefore(int table) {
    List<Integer> places =
        search.running.get(table).parts().stream().map(RunningTable.RunningPart::place).toList();
    Way way = search.ways.find(table, search.running.get(table).option());
    return way == null || way.parts != places.size() ? null : placed(table, way, places);
  }

  /** Returns the parts of a table that has none at the first places with room; null if too few. */
  private Move placed(int table, Way way, List<Integer> places) {
    Move found = new Move();
    int[] at = found.add(table, way);
    int placed = 0;
    for (int place : places) {
      if (placed < way.parts && state.mayAdd(table, way, place)) {
        at[placed++] = place;
      }
    }
    return placed == way.parts ? found : null;
  }

  // Caches, and rows that all devices have.

  private boolean isNewCache(int table) {
    Way way = state.way[table];
    return way.isCached()
        && search.running.get(table).parts().stream()
            .limit(1)
            .noneMatch(before -> before.part().cacheShare().equals(way.part.cacheShare()));
  }

  private Move leastCache(int table) {
    search.ways.of(table);
    Way least = state.way[table];
    while (least.lessCache != null) {
      least = least.lessCache;
    }
    return inPlace(table, least);
  }

  private boolean hasNewRowsOnAll(int table) {
    Option option = state.way[table].option;
    return !option.hasAllRows() && option.firstRow() != search.running.get(table).firstRow();
  }

  private Move allRows(int table) {
    return inPlace(table, search.ways.find(table, state.way[table].option.withAllRows()));
  }

  // Moves.

  /** Explains why parts moved, of tables with parts on single devices, or nodes, in both plans. */
  private void explainMoves(List<Shard> shards) {
    Map<String, Integer> positions =
        IntStream.range(0, search.tables.size())
            .boxed()
            .filter(t -> !search.tables.get(t).isShared())
            .collect(Collectors.toMap(t -> search.tables.get(t).name(), t -> t));
    PlanShards plan = search.problem.reusablePlan();
    PlanShards before = new PlanShards(placed(plan.shards(), positions), plan.devices());
    PlanShards planned = new PlanShards(placed(shards, positions), state.devices);
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
    paths.forEach(path -> explainMove(path.table(), path.from(), path.to()));
  }

  /** Returns the shards for which the search chose a device or a node, as before. */
  private List<Shard> placed(List<Shard> shards, Map<String, Integer> positions) {
    return shards.stream()
        .filter(shard -> positions.containsKey(shard.table()))
        .filter(shard -> isPlaced(positions.get(shard.table()), shard.kind().scope()))
        .toList();
  }

  private boolean isPlaced(int table, ShardScope scope) {
    return scope == state.way[table].scope
        && (scope == ShardScope.DEVICE
            || (scope == ShardScope.NODE && isKept(search.running.get(table))));
  }

  private int firstDevice(int table, int device) {
    return state.way[table].scope == ShardScope.NODE && device < state.devices
        ? state.places.first[state.places.of(ShardScope.NODE, device)]
        : device;
  }

  /** Moves a part back to where it was. */
  private void explainMove(int table, int from, int to) {
    Move undone = null;
    if (from < state.devices) {
      ShardScope scope = state.way[table].scope;
      int before = state.places.of(scope, from);
      if (state.isAt(table, before)) {
        return; // It follows from the cut, which is explained.
      }
      int now = state.places.of(scope, to);
      int part = 0;
      while (state.at[table][part] != now) {
        part++;
      }
      undone = new Move();
      undone.shift(state, table, part, before);
      if (objective.evaluate(undone) == Double.POSITIVE_INFINITY) {
        undone = null;
      }
    }
    Cause otherwise = from < state.devices ? Cause.MEMORY : Cause.DEVICE_LOST;
    explain(ExplainedAction.MOVE, table, from, to, undone, otherwise);
  }

  // The bottleneck.

  private Bottleneck bottleneck() {
    int device = objective.lastDevice();
    double now = objective.costMs;
    int costliest = -1;
    double gain = Double.NEGATIVE_INFINITY;
    for (ShardScope scope : ShardScope.values()) {
      for (int table : candidates(state.places.of(scope, device))) {
        double saved = now - objective.costAfter(without(table));
        if (saved > gain) {
          gain = saved;
          costliest = table;
        }
      }
    }
    if (costliest < 0) {
      return new Bottleneck(device, Cause.COMMUNICATION, "", 0);
    }
    boolean isComputing =
        objective.computeMs[device]
            > objective.startMs[device] - objective.computeMs[device] + objective.forwardMs[device];
    Cause cause = isComputing ? Cause.COMPUTATION : Cause.COMMUNICATION;
    return new Bottleneck(
        device,
        hasRoomElsewhere(device, state.way[costliest]) ? cause : Cause.MEMORY,
        search.tables.get(costliest).name(),
        gain);
  }

  /**
   * Returns the tables of a place to look at: of those on several devices, which all have to be
   * evaluated without it, the ones with the most computation.
   */
  private List<Integer> candidates(int place) {
    boolean isDevice = place < state.devices;
    return IntStream.range(0, state.countAt[place])
        .mapToObj(i -> state.tableAt[place][i])
        .sorted(
            Comparator.comparingDouble((Integer t) -> isDevice ? 0 : -state.way[t].aloneMs)
                .thenComparingInt(t -> t))
        .limit(isDevice ? Long.MAX_VALUE : MAX_SPLIT_CANDIDATES)
        .toList();
  }

  private boolean hasRoomElsewhere(int device, Way way) {
    return state.devices == 1
        || IntStream.range(0, state.devices)
            .anyMatch(d -> d != device && state.hasRoom(d, way.load.memory()));
  }
}
