package io.shardtide.search.local;

import io.shardtide.domain.Bottleneck;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Explanation;
import io.shardtide.domain.Explanation.Cause;
import io.shardtide.domain.Explanation.ExplainedAction;
import io.shardtide.domain.Overlap;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Says why a plan is as it is, by undoing one thing at a time and asking what the step would then
 * cost.
 */
final class Explainer {
  private final Assignment assignment;
  private final Objective objective;
  private final AllToAllCosts exchange;
  private final ClusterSpec cluster;
  private final SearchMove change = new SearchMove();

  /**
   * @param assignment the plan; undone and done again, it stays as it is
   * @param objective what it costs, moves not counted
   */
  Explainer(
      Assignment assignment, Objective objective, AllToAllCosts exchange, ClusterSpec cluster) {
    this.assignment = assignment;
    this.objective = objective;
    this.exchange = exchange;
    this.cluster = cluster;
  }

  /** Returns what a step waits for. */
  Bottleneck bottleneck(List<String> names) {
    int device = objective.dearest();
    double now = objective.costMs();
    int dearest = -1;
    int dearestWidth = 0;
    double gain = Double.NEGATIVE_INFINITY;
    for (int i = 0; i < assignment.shardsOfDevice(device); i++) {
      change.begin(device, device);
      change.edit(assignment.table(device, i), device, assignment.widthOfDevice(device, i), 0);
      double without = now - costOf(change);
      if (without > gain) {
        gain = without;
        dearest = assignment.table(device, i);
        dearestWidth = assignment.widthOfDevice(device, i);
      }
    }
    if (dearest < 0) {
      return new Bottleneck(device, Cause.COMMUNICATION, "", 0);
    }
    boolean isComputing =
        objective.computeMs(device)
            > exchange.backwardMs(assignment.columns(device), objective.maxColumns())
                + exchange.forwardMs(assignment.columns(device), objective.maxColumns());
    Cause cause = isComputing ? Cause.COMPUTATION : Cause.COMMUNICATION;
    return new Bottleneck(
        device,
        hasRoomElsewhere(device, assignment.bytes(dearest, dearestWidth)) ? cause : Cause.MEMORY,
        names.get(dearest),
        gain);
  }

  private boolean hasRoomElsewhere(int device, long bytes) {
    for (int d = 0; d < assignment.devices(); d++) {
      if (d != device && assignment.bytes(d) + bytes <= cluster.memoryBytesPerDevice()) {
        return true;
      }
    }
    return assignment.devices() == 1;
  }

  private double costOf(SearchMove looked) {
    objective.look(looked, Double.POSITIVE_INFINITY);
    return objective.changedCostMs();
  }

  /**
   * Returns why tables were cut.
   *
   * @param table position of each table that is asked about
   * @param names names of all tables
   */
  List<Explanation> splits(List<Integer> table, List<String> names) {
    List<Explanation> explanations = new ArrayList<>();
    for (int t : table) {
      if (assignment.shardsOfTable(t) > 1) {
        explanations.add(split(t, names.get(t)));
      }
    }
    return explanations;
  }

  /** Puts a table together where it has most columns, and takes it apart again. */
  private Explanation split(int table, String name) {
    int columns = 0;
    int widest = 0;
    for (int i = 0; i < assignment.shardsOfTable(table); i++) {
      columns += assignment.widthOfTable(table, i);
      widest =
          assignment.widthOfTable(table, i) > assignment.widthOfTable(table, widest) ? i : widest;
    }
    int device = assignment.device(table, widest);
    if (assignment.bytes(table, columns) > cluster.memoryBytesPerDevice()) {
      return new Explanation(ExplainedAction.SPLIT, name, -1, -1, Cause.MEMORY, 0);
    }
    double before = objective.costMs();
    int columnsBefore = objective.maxColumns();
    int whole = assignment.widthOfTable(table, widest);
    List<SearchMove> made = new ArrayList<>();
    while (assignment.shardsOfTable(table) > 1) {
      int i = 0;
      while (assignment.device(table, i) == device
          && assignment.widthOfTable(table, i) == whole
          && i + 1 < assignment.shardsOfTable(table)) {
        i++;
      }
      int width = assignment.widthOfTable(table, i);
      SearchMove merge = new SearchMove();
      merge.begin(assignment.device(table, i), device);
      merge.edit(table, merge.first, width, 0);
      merge.edit(table, device, whole, whole + width);
      make(merge);
      made.add(merge);
      whole += width;
    }
    double gain = objective.costMs() - before;
    Cause cause = cause(columnsBefore);
    for (int i = made.size() - 1; i >= 0; i--) {
      make(made.get(i).reverse());
    }
    return new Explanation(ExplainedAction.SPLIT, name, -1, -1, cause, gain);
  }

  private void make(SearchMove merge) {
    objective.look(merge, Double.POSITIVE_INFINITY);
    objective.make(merge);
  }

  private Cause cause(int columnsBefore) {
    return objective.maxColumns() > columnsBefore ? Cause.COMMUNICATION : Cause.COMPUTATION;
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
      if (overlap.changesDevice()) {
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
      explanations.add(move(table, way.table(), way.from(), way.to(), columns.get(way)));
    }
    return explanations;
  }

  private Explanation move(int table, String name, int from, int to, int columns) {
    if (from >= assignment.devices()) {
      return new Explanation(ExplainedAction.MOVE, name, from, to, Cause.DEVICE_LOST, 0);
    }
    int there = assignment.shardWidth(table, to);
    int back = Math.min(there, columns);
    int joined = assignment.shardWidth(table, from);
    change.begin(to, from);
    change.edit(table, to, there, there - back);
    change.edit(table, from, joined, joined + back);
    if (assignment.bytes(from) + change.bytes(assignment, from) > cluster.memoryBytesPerDevice()) {
      return new Explanation(ExplainedAction.MOVE, name, from, to, Cause.MEMORY, 0);
    }
    double gain = costOf(change) - objective.costMs();
    boolean wouldBeWidest =
        assignment.columns(from) + change.columns(from) > objective.maxColumns();
    return new Explanation(
        ExplainedAction.MOVE,
        name,
        from,
        to,
        wouldBeWidest ? Cause.COMMUNICATION : Cause.COMPUTATION,
        gain);
  }
}
