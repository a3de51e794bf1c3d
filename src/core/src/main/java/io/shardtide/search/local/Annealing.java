package io.shardtide.search.local;

import io.shardtide.search.ShapeCosts;
import java.util.ArrayList;
import java.util.List;

/**
 * Searches cheaper assignments by random moves: a better one is always accepted, a worse one with a
 * probability that falls with the temperature (simulated annealing, Kirkpatrick et al. 1983). A
 * cooled search starts again from the best assignment found, after a random perturbation (a kick)
 * and at a lower temperature.
 *
 * <p>The sequence of moves does not depend on the budget: a larger budget continues where a smaller
 * one stopped, and the best assignment found is never worse.
 */
final class Annealing {
  // Temperatures are worsenings that are accepted with probability 1/e, as shares of the cost. All
  // were tuned on the reference tasks and 612 and 1,022 tables on 128 devices; see RATIONALE.md.

  /** Start of a search from scratch. */
  private static final double HOT = 0.003;

  /** Start after a kick. */
  private static final double WARM = 0.0003;

  /** Start of the repair of a running plan. */
  private static final double MILD = 0.00003;

  /** End of each cooling. */
  private static final double COLD = 0.000003;

  /** Steps in which a cooling lowers the temperature. */
  private static final int STEPS = 64;

  /** Moves that a cooling proposes, for each table and each device. */
  private static final long MOVES = 60;

  /** The same after a kick. */
  private static final long MOVES_AFTER_KICK = 30;

  /**
   * Of so many proposals, one shards a table in another way; with many devices fewer, because all
   * of them are evaluated.
   */
  private static final int OTHER_WAY_EVERY = 16;

  /** Of so many proposals, one gives a table a larger cache, where tables may be cached. */
  private static final int CACHE_EVERY = 4;

  private final Assignment assignment;
  private final Objective objective;
  private final SearchWork work;
  private final SeededRandom random;
  private final SearchMove move;
  private final TableOptions options;
  private final OptionMoves optionMoves;
  private final RandomDevices devices;

  /** Of so many proposals, one shards a table in another way; 0 if there is no other way. */
  private final int otherWayEvery;

  /** Moves back to the best assignment found, in reverse order. */
  private final List<SearchMove> undo = new ArrayList<>();

  private double bestMs;
  private int unitsLimit = Integer.MAX_VALUE;
  private boolean isRepair;

  /** The tables that may move; null for all. */
  private int[] only;

  Annealing(
      Assignment assignment,
      Objective objective,
      SearchWork work,
      TableOptions options,
      SeededRandom random) {
    this.assignment = assignment;
    this.objective = objective;
    this.work = work;
    this.random = random;
    this.options = options;
    devices = new RandomDevices(assignment, objective, random);
    move = new SearchMove(assignment.costs());
    optionMoves = new OptionMoves(options, assignment, objective, random);
    otherWayEvery = Math.max(OTHER_WAY_EVERY, assignment.devices() / 2);
    bestMs = objective.costMs();
  }

  Assignment assignment() {
    return assignment;
  }

  /** Returns the cost of the best assignment found, in milliseconds. */
  double bestMs() {
    return bestMs;
  }

  /** Returns the price of the moves from the running plan, in milliseconds a step. */
  double moveMs() {
    return objective.moveMs();
  }

  /** Cools down once from hot, and returns to the best assignment found. */
  void begin(long evaluations) {
    unitsLimit = objective.maxUnits();
    cool(HOT, MOVES * (assignment.tables() + assignment.devices()), evaluations);
    returnToBest();
  }

  /** Improves the places of some tables of a running plan; see {@link #improve(long)}. */
  void improve(int[] tables, long evaluations) {
    only = tables;
    improve(evaluations);
    only = null;
  }

  /**
   * Improves a running plan until a budget is spent at the latest. Nearly all accepted moves are
   * improvements, because moving away from the running plan has a price.
   */
  void improve(long evaluations) {
    isRepair = true;
    int tables = only == null ? assignment.tables() : only.length;
    cool(MILD, MOVES * (tables + assignment.devices()), evaluations);
    returnToBest();
  }

  /** Takes back moves since an earlier assignment that do not pay; see {@link MoveReduction}. */
  void reduceMoves(Assignment earlier) {
    new MoveReduction(assignment, objective, earlier).run();
    bestMs = objective.costMs();
  }

  /** Kicks the assignment, cools it down, and returns to the best assignment found. */
  void cycle(long evaluations) {
    int now = objective.maxUnits();
    int which = random.below(3);
    if (which == 0) {
      unitsLimit = Integer.MAX_VALUE;
    } else if (which == 1) {
      unitsLimit = now;
    } else {
      int step = Math.max(1, now / 64);
      unitsLimit = now + step * (1 + random.below(4));
      objective.setMinMaxUnits(unitsLimit);
    }
    kick();
    cool(WARM, MOVES_AFTER_KICK * (assignment.tables() + assignment.devices()), evaluations);
    returnToBest();
  }

  /**
   * Cuts a shard of a highly loaded device and places the parts on other devices, whatever it
   * costs: no sequence of improving moves leads there.
   */
  private void kick() {
    for (int kicks = 1 + random.below(2); kicks > 0; kicks--) {
      int d = random.below(8) < 4 ? objective.lastDevice() : devices.donor(isRepair);
      int count = assignment.shardsOfPlace(d);
      if (count == 0) {
        continue;
      }
      int i = random.below(count);
      int j = random.below(count);
      i = aloneMs(d, j) > aloneMs(d, i) ? j : i;
      int table = assignment.table(d, i);
      if (optionMoves.propose(move, table)) {
        objective.evaluate(move, Double.POSITIVE_INFINITY);
        apply();
      }
    }
  }

  private double aloneMs(int device, int i) {
    return assignment.costs().aloneMs(assignment.shapeOfPlace(device, i));
  }

  private void apply() {
    objective.apply(move);
    undo.add(move.reverse());
    if (objective.costMs() < bestMs) {
      // What it costs when the search ends here: then a larger budget ends with nothing worse.
      bestMs = objective.costOfLoadsMs();
      undo.clear();
    }
  }

  private void cool(double from, long proposals, long evaluations) {
    double scale = objective.costMs();
    double factor = StrictMath.pow(COLD / from, 1.0 / STEPS);
    double temperature = from * scale;
    long step = Math.max(1, proposals / STEPS);
    for (long i = 0; i < proposals; i++) {
      if (work.isSpent(evaluations)) {
        return;
      }
      work.proposed();
      if (i % step == step - 1) {
        temperature *= factor;
      }
      if (!propose() || (move.isLocal() && !fits())) {
        continue;
      }
      double limit = objective.score() + temperature * random.exponential();
      work.moved();
      if (objective.evaluate(move, limit) <= limit) {
        apply();
      }
    }
  }

  private void returnToBest() {
    objective.setMinMaxUnits(0);
    for (int i = undo.size() - 1; i >= 0; i--) {
      undo.get(i).apply(assignment);
    }
    undo.clear();
    objective.refresh();
  }

  private boolean fits() {
    return fits(move.first) && fits(move.second);
  }

  private boolean fits(int device) {
    int more = move.allToAllUnits(device);
    if (more > 0 && assignment.allToAllUnits(device) + more > unitsLimit) {
      return false;
    }
    return assignment.hasRoom(device, move.bytes(device), move.hostBytes(device));
  }

  /** Fills in a random move; returns false if the draw gives none. */
  private boolean propose() {
    if (only != null) {
      return proposeOf(only[random.below(only.length)]);
    }
    if (random.below(otherWayEvery) == 0) {
      return proposeOtherWay();
    }
    if (options.cacheable().length > 0 && random.below(CACHE_EVERY) == 0) {
      return optionMoves.proposeCache(move);
    }
    boolean isSwap = random.below(12) >= 6;
    int d = devices.donor(isRepair);
    int count = assignment.shardsOfPlace(d);
    if (count == 0) {
      return false;
    }
    int i = random.below(count);
    int table = assignment.table(d, i);
    int e = devices.recipient(d);
    if (e == d || !mayMove(table, e)) {
      return false;
    }
    move.begin(d, e);
    if (!isSwap) {
      move.shift(table, assignment.shapeOfPlace(d, i), d, e);
      return true;
    }
    int back = assignment.shardsOfPlace(e);
    if (back == 0) {
      return false;
    }
    int j = random.below(back);
    int other = assignment.table(e, j);
    if (other == table || !mayMove(other, d)) {
      return false;
    }
    move.shift(table, assignment.shapeOfPlace(d, i), d, e);
    move.shift(other, assignment.shapeOfPlace(e, j), e, d);
    return true;
  }

  /** Shards a table in another way, or moves a part of it to another device. */
  private boolean proposeOf(int table) {
    if (random.below(2) == 0) {
      return optionMoves.propose(move, table);
    }
    int i = random.below(assignment.shardsOfTable(table));
    int d = assignment.place(table, i);
    if (d >= assignment.devices()) {
      return false;
    }
    int e = devices.recipient(d);
    if (e == d || !mayMove(table, e)) {
      return false;
    }
    move.begin(d, e);
    move.shift(table, assignment.shapeOfTable(table, i), d, e);
    return true;
  }

  /** Returns whether a part of a table may move to a device. */
  private boolean mayMove(int table, int to) {
    if (assignment.shape(table, to) != ShapeCosts.NONE) {
      return false;
    }
    Places places = assignment.places();
    return !options.keepsPartsInNode(table)
        || assignment.shardsOfTable(table) == 1
        || places.nodeOf(assignment.place(table, 0)) == places.nodeOf(to);
  }

  /** Shards a table in another way: any one, or one of a highly loaded device. */
  private boolean proposeOtherWay() {
    int d = devices.donor(isRepair);
    int count = assignment.shardsOfPlace(d);
    int table =
        count == 0 || random.below(2) == 0
            ? random.below(assignment.tables())
            : assignment.table(d, random.below(count));
    return optionMoves.propose(move, table);
  }
}
