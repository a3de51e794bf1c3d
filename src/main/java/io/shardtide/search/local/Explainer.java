package io.shardtide.search.local;

import io.shardtide.domain.Bottleneck;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Explanation;
import io.shardtide.domain.Explanation.Cause;
import io.shardtide.domain.Explanation.ExplainedAction;
import io.shardtide.domain.Overlap;
import io.shardtide.domain.ShardScope;
import io.shardtide.search.ShapeCosts;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Explains a plan: undoes one decision at a time and predicts the step without it. */
final class Explainer {
  private final Assignment assignment;
  private final Objective objective;
  private final ClusterSpec cluster;
  private final SearchMove move;

  /**
   * @param assignment the plan; every change to it is undone
   * @param objective its cost, without the price of moves
   */
  Explainer(Assignment assignment, Objective objective, ClusterSpec cluster) {
    this.assignment = assignment;
    this.objective = objective;
    this.cluster = cluster;
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
      for (int i = 0; i < assignment.shardsOfPlace(place); i++) {
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
    boolean hasRoom = hasRoomElsewhere(device, assignment.costs().load(shape).bytes());
    return new Bottleneck(device, hasRoom ? cause : Cause.MEMORY, names.get(costliest), gain);
  }

  private void remove(int place, int table, int shape) {
    if (place < assignment.devices()) {
      move.begin(place, place);
    } else {
      move.begin();
    }
    move.replace(table, place, shape, ShapeCosts.NONE);
  }

  private boolean hasRoomElsewhere(int device, long bytes) {
    for (int d = 0; d < assignment.devices(); d++) {
      if (d != device && assignment.bytes(d) + bytes <= cluster.usableBytesPerDevice()) {
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
   * Returns why tables were cut.
   *
   * @param tables positions of the tables to explain
   * @param names names of all tables
   */
  List<Explanation> splits(List<Integer> tables, List<String> names) {
    List<Explanation> explanations = new ArrayList<>();
    for (int table : tables) {
      if (assignment.shardsOfTable(table) > 1
          && assignment.place(table, 0) < assignment.devices()) {
        explanations.add(split(table, names.get(table)));
      }
    }
    return explanations;
  }

  /** Merges a table's shards into the widest one, and cuts it again. */
  private Explanation split(int table, String name) {
    int columns = 0;
    int widest = 0;
    for (int i = 0; i < assignment.shardsOfTable(table); i++) {
      columns += assignment.columnsOfTable(table, i);
      widest =
          assignment.columnsOfTable(table, i) > assignment.columnsOfTable(table, widest)
              ? i
              : widest;
    }
    int device = assignment.place(table, widest);
    ShapeCosts costs = assignment.costs();
    if (costs.load(costs.shape(table, columns)).bytes() > cluster.usableBytesPerDevice()) {
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
   * Returns why columns moved.
   *
   * @param overlaps what the running plan and this one both hold
   * @param positions position of each table by name
   */
  List<Explanation> moves(List<Overlap> overlaps, Map<String, Integer> positions) {
    record Way(String table, int from, int to) {}
    Map<Way, Integer> columns = new HashMap<>();
    List<Way> order = new ArrayList<>();
    for (Overlap overlap : overlaps) {
      if (overlap.changesDevice() && isOnDevices(positions.get(overlap.table()))) {
        Way way = new Way(overlap.table(), overlap.fromDevice(), overlap.toDevice());
        if (columns.merge(way, overlap.region().columns(), Integer::sum)
            == overlap.region().columns()) {
          order.add(way);
        }
      }
    }
    List<Explanation> explanations = new ArrayList<>();
    for (Way way : order) {
      int table = positions.get(way.table());
      explanations.add(moved(table, way.table(), way.from(), way.to(), columns.get(way)));
    }
    return explanations;
  }

  private boolean isOnDevices(int table) {
    return assignment.place(table, 0) < assignment.devices();
  }

  private Explanation moved(int table, String name, int from, int to, int columns) {
    if (from >= assignment.devices()) {
      return new Explanation(ExplainedAction.MOVE, name, from, to, Cause.DEVICE_LOST, 0);
    }
    ShapeCosts costs = assignment.costs();
    int there = costs.columns(assignment.shape(table, to));
    int back = Math.min(there, columns);
    int joined = costs.columns(assignment.shape(table, from));
    move.begin(to, from);
    move.edit(table, to, there, there - back);
    move.edit(table, from, joined, joined + back);
    if (assignment.bytes(from) + move.bytes(from) > cluster.usableBytesPerDevice()) {
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
