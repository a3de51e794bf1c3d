package io.shardtide.search.local;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;

/**
 * Looks for cheaper assignments by changes of chance: each is made if it is better, and sometimes
 * if it is worse, the less so the colder it is (simulated annealing, Kirkpatrick et al. 1983). When
 * it has cooled down it begins again at the best assignment so far, a little warm, for longer.
 *
 * <p>Which changes are looked at does not depend on the budget, so that more budget goes on where
 * less has stopped, and the best so far is never worse.
 */
final class Annealing {
  // Heats are worsenings that are made one time in e, as fractions of the cost. All were found on
  // the
  // reference kit's tasks and on 612 and 1,022 tables on 128 devices; see RATIONALE.md.

  /** Where a search from scratch begins. */
  private static final double HOT = 0.003;

  /** Where it begins again after a kick. */
  private static final double WARM = 0.0003;

  /** Where the repair of a running plan begins. */
  private static final double MILD = 0.00003;

  /** Where each cooling ends. */
  private static final double COLD = 0.000003;

  /** Steps in which a cooling lowers the heat. */
  private static final int STEPS = 64;

  /** Changes that a cooling looks at, for each table and each device. */
  private static final long CHANGES = 60;

  /** The same after a kick. */
  private static final long CHANGES_AFTER_KICK = 30;

  private final Assignment assignment;
  private final Objective objective;
  private final CostEvaluator evaluator;
  private final long memoryBytes;
  private final SeededRandom chance;
  private final SearchMove change = new SearchMove();

  /** What leads back to the best assignment so far, the last one first. */
  private final List<SearchMove> undoes = new ArrayList<>();

  private double bestMs;
  private int maxColumns = Integer.MAX_VALUE;
  private boolean focus;

  Annealing(
      Assignment assignment,
      Objective objective,
      CostEvaluator evaluator,
      long memoryBytes,
      SeededRandom chance) {
    this.assignment = assignment;
    this.objective = objective;
    this.evaluator = evaluator;
    this.memoryBytes = memoryBytes;
    this.chance = chance;
    bestMs = objective.costMs();
  }

  Assignment assignment() {
    return assignment;
  }

  /** Returns the cost of the best assignment so far, in milliseconds. */
  double bestMs() {
    return bestMs;
  }

  /** Cools down once from hot; then the assignment is the best that was seen. */
  void begin(long evaluations) {
    maxColumns = objective.maxColumns();
    cool(HOT, CHANGES * (assignment.tables() + assignment.devices()), evaluations);
    returnToBest();
  }

  /**
   * Improves a running plan until the evaluator has been asked so often: nearly always downhill,
   * since what is far from the running plan costs moves.
   */
  void repair(long evaluations) {
    focus = true;
    while (evaluator.evaluations() < evaluations && assignment.devices() > 1) {
      cool(MILD, CHANGES * (assignment.tables() + assignment.devices()), evaluations);
      returnToBest();
    }
  }

  /** Kicks the assignment, cools it down, and goes back to the best that was seen. */
  void cycle(long evaluations) {
    int now = objective.maxColumns();
    int which = chance.below(3);
    if (which == 0) {
      maxColumns = Integer.MAX_VALUE;
    } else if (which == 1) {
      maxColumns = now;
    } else {
      int step = Math.max(1, now / TableSpec.COLUMN_UNIT / 64) * TableSpec.COLUMN_UNIT;
      maxColumns = now + step * (1 + chance.below(4));
      objective.setFloorColumns(maxColumns);
    }
    kick();
    cool(WARM, CHANGES_AFTER_KICK * (assignment.tables() + assignment.devices()), evaluations);
    returnToBest();
  }

  /**
   * Cuts a shard of a dear device and lays the parts elsewhere, whatever it costs: what no small
   * step leads to.
   */
  private void kick() {
    int kicks = 1 + chance.below(2);
    for (int k = 0; k < kicks; k++) {
      int d = chance.below(8) < 4 ? objective.dearest() : dear();
      int count = assignment.shardsOfDevice(d);
      if (count == 0) {
        continue;
      }
      int i = chance.below(count);
      int j = chance.below(count);
      if (assignment.aloneMs(assignment.table(d, j), assignment.widthOfDevice(d, j))
          > assignment.aloneMs(assignment.table(d, i), assignment.widthOfDevice(d, i))) {
        i = j;
      }
      int table = assignment.table(d, i);
      int whole = assignment.widthOfDevice(d, i);
      int units = whole / TableSpec.COLUMN_UNIT;
      int parts = 2 + chance.below(2);
      if (units < parts) {
        continue;
      }
      int part = units / parts * TableSpec.COLUMN_UNIT;
      int left = whole;
      for (int p = 1; p < parts; p++) {
        int e = cheap(d);
        if (e != d) {
          change.begin(d, e);
          change.edit(table, d, left, left - part);
          change.edit(table, e, 0, part);
          if (fits()) {
            force();
            left -= part;
          }
        }
      }
    }
  }

  private void force() {
    objective.look(change, Double.POSITIVE_INFINITY);
    make();
  }

  private void make() {
    objective.make(change);
    undoes.add(change.reverse());
    if (objective.costMs() < bestMs) {
      bestMs = objective.costMs();
      undoes.clear();
    }
  }

  private void cool(double from, long proposals, long evaluations) {
    double scale = objective.costMs();
    double factor = StrictMath.pow(COLD / from, 1.0 / STEPS);
    double heat = from * scale;
    long step = Math.max(1, proposals / STEPS);
    for (long i = 0; i < proposals; i++) {
      if (evaluator.evaluations() >= evaluations) {
        return;
      }
      if (i % step == step - 1) {
        heat *= factor;
      }
      if (!propose() || !fits()) {
        continue;
      }
      double limit = objective.score() + heat * chance.exponential();
      if (objective.look(change, limit) <= limit) {
        make();
      }
    }
  }

  private void returnToBest() {
    objective.setFloorColumns(0);
    for (int i = undoes.size() - 1; i >= 0; i--) {
      undoes.get(i).make(assignment);
    }
    undoes.clear();
    objective.refresh();
  }

  private boolean fits() {
    return fits(change.first) && fits(change.second);
  }

  private boolean fits(int device) {
    int wider = change.columns(device);
    if (wider > 0 && assignment.columns(device) + wider > maxColumns) {
      return false;
    }
    long gain = change.bytes(assignment, device);
    return gain <= 0 || assignment.bytes(device) + gain <= memoryBytes;
  }

  /** Fills in a change; false if chance came up with none. */
  private boolean propose() {
    int kind = chance.below(16);
    if (kind < 3) {
      return proposeWithinTable();
    }
    int d = dear();
    int count = assignment.shardsOfDevice(d);
    if (count == 0) {
      return false;
    }
    int i = chance.below(count);
    int table = assignment.table(d, i);
    int whole = assignment.widthOfDevice(d, i);
    if (kind == 3) {
      int part = width(whole);
      if (part == whole) {
        return false;
      }
      change.begin(d, d);
      change.edit(table, d, whole, whole - part);
      change.edit(table, d, 0, part);
      return true;
    }
    int e = cheap(d);
    if (e == d) {
      return false;
    }
    change.begin(d, e);
    if (kind < 10) {
      give(table, d, whole, width(whole), e);
      return true;
    }
    int back = assignment.shardsOfDevice(e);
    if (back == 0) {
      return false;
    }
    int j = chance.below(back);
    int other = assignment.table(e, j);
    int otherWhole = assignment.widthOfDevice(e, j);
    if (other == table) {
      return false;
    }
    // Whole shards, or as many columns of the one as of the other: the devices' columns stay.
    int even = kind < 13 ? Math.min(whole, otherWhole) : Integer.MAX_VALUE;
    give(table, d, whole, Math.min(whole, even), e);
    give(other, e, otherWhole, Math.min(otherWhole, even), d);
    return true;
  }

  /** Adds to the change that columns leave a shard, and join one of their table if there is one. */
  private void give(int table, int from, int whole, int width, int to) {
    int joined = assignment.shardWidth(table, to);
    change.edit(table, from, whole, whole - width);
    change.edit(table, to, joined, joined + width);
  }

  /** Columns from one shard of a table to another. */
  private boolean proposeWithinTable() {
    int table = chance.below(assignment.tables());
    int shards = assignment.shardsOfTable(table);
    if (shards < 2) {
      return false;
    }
    int i = chance.below(shards);
    int j = chance.below(shards - 1);
    j = j >= i ? j + 1 : j;
    int from = assignment.widthOfTable(table, i);
    int to = assignment.widthOfTable(table, j);
    int width = width(from);
    change.begin(assignment.device(table, i), assignment.device(table, j));
    change.edit(table, change.first, from, from - width);
    change.edit(table, change.second, to, to + width);
    return true;
  }

  /** Returns all of a shard, or a part of it. */
  private int width(int whole) {
    int units = whole / TableSpec.COLUMN_UNIT;
    return units == 1 || chance.below(8) < 5
        ? whole
        : TableSpec.COLUMN_UNIT * (1 + chance.below(units - 1));
  }

  /** Returns a device that something should leave: often the dearest, or the dearer of two. */
  private int dear() {
    int which = chance.below(focus ? 3 : 8);
    if (which == 0) {
      return objective.dearest();
    }
    if (which == 1) {
      return objective.widest();
    }
    int a = chance.below(assignment.devices());
    if (which < 4) {
      return a;
    }
    int b = chance.below(assignment.devices());
    return objective.loadMs(a) >= objective.loadMs(b) ? a : b;
  }

  /** Returns a device that can take something: the cheaper of two. */
  private int cheap(int not) {
    int a = chance.below(assignment.devices());
    int b = chance.below(assignment.devices());
    if (a == not) {
      return b;
    }
    return b == not || objective.loadMs(a) <= objective.loadMs(b) ? a : b;
  }
}
