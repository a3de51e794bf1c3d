package io.shardtide.search.local;

import io.shardtide.domain.Bottleneck;
import io.shardtide.domain.Explanation;
import io.shardtide.domain.Explanation.Cause;
import io.shardtide.domain.Explanation.ExplainedAction;
import io.shardtide.domain.Overlap;
import io.shardtide.domain.ShardScope;
import io.shardtide.search.ShapeCosts;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Explains a plan: undoes one decision at a time and predicts the step without it. */
final class Explainer {
  /** Split or copied parts of a place that may be its bottleneck. */
  private static final int MAX_SPLIT_CANDIDATES = 16;

  private final Assignment assignment;
  private final Objective objective;
  private final SearchMove move;

  /**
   * @param assignment the plan; every change to it is undone
   * @param objective its cost, without the price of moves
   */
  Explainer(Assignment assignment, Objective objective) {
    this.assignment = assignment;
    this.objective = objective;
    move = new SearchMove(assignment.costs());
  }

  /** Returns the bottleneck of a step. */
  Bottleneck bottleneck(List<String> names) {
    int device = objective.lastDevice();
    double now = objective.costMs();
    int costliest = -1;
    int shape = ShapeCosts.NONE;
    double gain = Double.NEGATIVE_INFINITY;
    Places places = assignment.places();
    for (ShardScope scope : ShardScope.values()) {
      int place = places.of(scope, device);
      for (int i : candidates(place)) {
        int ofPart = assignment.shapeOfPlace(place, i);
        remove(place, assignment.table(place, i), ofPart);
        double without = now - costOf(move);
        if (without > gain) {
          gain = without;
          costliest = assignment.table(place, i);
          shape = ofPart;
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
    boolean hasRoom = hasRoomElsewhere(device, shape);
    return new Bottleneck(device, hasRoom ? cause : Cause.MEMORY, names.get(costliest), gain);
  }

  /**
   * Returns the parts of a place to look at: of those on several devices, which all have to be
   * evaluated without it, the ones with the most computation.
   */
  private int[] candidates(int place) {
    IntStream parts = IntStream.range(0, assignment.shardsOfPlace(place));
    if (place < assignment.devices()) {
      return parts.toArray();
    }
    return parts
        .boxed()
        .sorted(
            Comparator.comparingDouble(
                    (Integer i) -> -assignment.costs().aloneMs(assignment.shapeOfPlace(place, i)))
                .thenComparingInt(i -> assignment.table(place, i)))
        .limit(MAX_SPLIT_CANDIDATES)
        .mapToInt(Integer::intValue)
        .toArray();
  }

  private void remove(int place, int table, int shape) {
    if (place < assignment.devices()) {
      move.begin(place, place);
    } else {
      move.begin();
    }
    move.replace(table, place, shape, ShapeCosts.NONE);
  }

  private boolean hasRoomElsewhere(int device, int shape) {
    for (int d = 0; d < assignment.devices(); d++) {
      if (d != device && assignment.hasRoom(d, shape)) {
        return true;
      }
    }
    return assignment.devices() == 1;
  }

  private double costOf(SearchMove evaluated) {
    objective.evaluate(evaluated, Double.POSITIVE_INFINITY);
    return objective.movedCostMs();
  }

  /**
   * Returns why tables were cut; those that are cached are left out, as {@link CacheExplainer}
   * explains them.
   *
   * @param tables positions of the tables to explain
   * @param names names of all tables
   */
  List<Explanation> splits(List<Integer> tables, List<String> names) {
    List<Explanation> explanations = new ArrayList<>();
    for (int table : tables) {
      if (assignment.shardsOfTable(table) > 1
          && assignment.place(table, 0) < assignment.devices()
          && !assignment.costs().isCached(assignment.shapeOfTable(table, 0))) {
        explanations.add(split(table, names.get(table)));
      }
    }
    return explanations;
  }

  /** Merges a table's shards into the widest one, and cuts it again. */
  private Explanation split(int table, String name) {
    int columns = assignment.placedColumns(table);
    int widest = 0;
    for (int i = 0; i < assignment.shardsOfTable(table); i++) {
      widest =
          assignment.columnsOfTable(table, i) > assignment.columnsOfTable(table, widest)
              ? i
              : widest;
    }
    int device = assignment.place(table, widest);
    ShapeCosts costs = assignment.costs();
    if (!assignment.fitsAlone(costs.shape(table, columns))) {
      return new Explanation(ExplainedAction.SPLIT, name, -1, -1, Cause.MEMORY, 0);
    }
    double before = objective.costMs();
    int unitsBefore = objective.maxUnits();
    int whole = assignment.columnsOfTable(table, widest);
    List<SearchMove> merges = new ArrayList<>();
    while (assignment.shardsOfTable(table) > 1) {
      int i = 0;
      while (assignment.place(table, i) == device
          && assignment.columnsOfTable(table, i) == whole
          && i + 1 < assignment.shardsOfTable(table)) {
        i++;
      }
      int part = assignment.columnsOfTable(table, i);
      SearchMove merge = new SearchMove(costs);
      merge.begin(assignment.place(table, i), device);
      merge.edit(table, merge.first, part, 0);
      merge.edit(table, device, whole, whole + part);
      apply(merge);
      merges.add(merge);
      whole += part;
    }
    double gain = objective.costMs() - before;
    Cause cause = cause(unitsBefore);
    for (int i = merges.size() - 1; i >= 0; i--) {
      apply(merges.get(i).reverse());
    }
    return new Explanation(ExplainedAction.SPLIT, name, -1, -1, cause, gain);
  }

  private void apply(SearchMove merge) {
    objective.evaluate(merge, Double.POSITIVE_INFINITY);
    objective.apply(merge);
  }

  private Cause cause(int unitsBefore) {
    return objective.maxUnits() > unitsBefore ? Cause.COMMUNICATION : Cause.COMPUTATION;
  }

  /**
   * Returns why parts moved.
   *
   * @param overlaps what the running plan and this one both hold, of tables with parts on single
   *     devices in both, or on single nodes in both
   * @param positions position of each table by name
   */
  List<Explanation> moves(List<Overlap> overlaps, Map<String, Integer> positions) {
    record MovePath(String table, int from, int to) {}
    Map<MovePath, Integer> columns = new LinkedHashMap<>();
    for (Overlap overlap : overlaps) {
      ShardScope scope = scope(positions.get(overlap.table()));
      // The devices of a node get their rows by one decision.
      int from = firstDevice(scope, overlap.fromDevice());
      int to = firstDevice(scope, overlap.toDevice());
      if (from != to) {
        columns.merge(
            new MovePath(overlap.table(), from, to), overlap.region().columns(), Integer::sum);
      }
    }
    List<Explanation> explanations = new ArrayList<>();
    columns.forEach(
        (way, count) -> {
          int table = positions.get(way.table());
          explanations.add(
              way.from() >= assignment.devices()
                  ? new Explanation(
                      ExplainedAction.MOVE, way.table(), way.from(), way.to(), Cause.DEVICE_LOST, 0)
                  : scope(table) == ShardScope.DEVICE
                      ? moved(table, way.table(), way.from(), way.to(), count)
                      : movedNode(table, way.table(), way.from(), way.to()));
        });
    return explanations;
  }

  private ShardScope scope(int table) {
    return assignment.places().scope(assignment.place(table, 0));
  }

  private int firstDevice(ShardScope scope, int device) {
    Places places = assignment.places();
    return scope == ShardScope.NODE && device < assignment.devices()
        ? places.first(places.of(scope, device))
        : device;
  }

  /** Moves rows that are split over a node back to the node where they were. */
  private Explanation movedNode(int table, String name, int from, int to) {
    Places places = assignment.places();
    int before = places.of(ShardScope.NODE, from);
    int now = places.of(ShardScope.NODE, to);
    int shape = assignment.shape(table, now);
    move.begin();
    move.replace(table, now, shape, ShapeCosts.NONE);
    move.replace(table, before, ShapeCosts.NONE, shape);
    if (!assignment.hasRoom(before, shape)) {
      return new Explanation(ExplainedAction.MOVE, name, from, to, Cause.MEMORY, 0);
    }
    double costMs = objective.costMs();
    double computeMs = objective.computeMs(objective.lastDevice());
    objective.apply(move);
    double gain = objective.costMs() - costMs;
    double moreComputeMs = objective.computeMs(objective.lastDevice()) - computeMs;
    objective.apply(move.reverse());
    return new Explanation(ExplainedAction.MOVE, name, from, to, cause(moreComputeMs, gain), gain);
  }

  /** Returns what a decision saves, computation if that is at least half of its gain. */
  static Cause cause(double computeMs, double gainMs) {
    return 2 * computeMs >= gainMs ? Cause.COMPUTATION : Cause.COMMUNICATION;
  }

  private Explanation moved(int table, String name, int from, int to, int columns) {
    ShapeCosts costs = assignment.costs();
    int shape = assignment.shape(table, to);
    int there = costs.columns(shape);
    int back = Math.min(there, columns);
    int joined = costs.columns(assignment.shape(table, from));
    move.begin(to, from);
    if (back == there && joined == 0) {
      move.shift(table, shape, to, from);
    } else {
      move.edit(table, to, there, there - back);
      move.edit(table, from, joined, joined + back);
    }
    if (!assignment.hasRoom(from, move.bytes(from), move.hostBytes(from))) {
      return new Explanation(ExplainedAction.MOVE, name, from, to, Cause.MEMORY, 0);
    }
    double gain = costOf(move) - objective.costMs();
    boolean wouldBeLargest =
        assignment.allToAllUnits(from) + move.allToAllUnits(from) > objective.maxUnits();
    return new Explanation(
        ExplainedAction.MOVE,
        name,
        from,
        to,
        wouldBeLargest ? Cause.COMMUNICATION : Cause.COMPUTATION,
        gain);
  }
}
