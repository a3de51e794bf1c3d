package io.shardtide.search;

import io.shardtide.workload.ShardScope;
import java.util.stream.IntStream;

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
  // were tuned on the reference tasks and 612 and 1,022 tables on 128 devices.

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

  /** Of so many kicks, one changes the scope of several tables. */
  private static final int KINDS_EVERY = 2;

  /**
   * A cooled plan that costs more than the one before is kept with a probability that falls so.
   * Plans that are 1% worse gained nothing.
   */
  private static final double MOST_WORSE = 0.003;

  /** Tables whose scope a kick changes, at most; with 3 or 12, plans were 0.1 to 0.3% worse. */
  private static final int MOST_KINDS = 6;

  /** Random tables of which the one is taken whose work grows the least. */
  private static final int CANDIDATES = 4;

  /** Parts that a kick tries to take from each device with much to send. */
  private static final int UNLOAD_TRIES = 8;

  private static final ShardScope[] SCOPES = ShardScope.values();

  private final State state;
  final Objective objective;
  private final SearchWork work;
  private final SeededRandom random;
  private final Proposals proposals;
  private final Move move = new Move();

  /** Moves since the plan that the last cooling left, and where among them the best plan is. */
  private final MoveLog log = new MoveLog();

  private int bestAt;

  /** The cost of the plan that the last cooling left, in milliseconds. */
  private double homeMs;

  /** The best plan found, and its cost. */
  private Move best;

  private int[] bestChosen;

  /** The cost of the best plan found, in milliseconds. */
  double bestMs;

  private boolean isBestNew;
  private int mostUnits = Integer.MAX_VALUE;

  /** Whether the search begins at a running plan, which is left for better ones only. */
  private final boolean isRepair;

  /** The tables that may move; null for all. */
  private int[] only;

  Annealing(
      State state,
      Objective objective,
      SearchWork work,
      Proposals proposals,
      SeededRandom random,
      boolean isRepair) {
    this.isRepair = isRepair;
    this.state = state;
    this.objective = objective;
    this.work = work;
    this.random = random;
    this.proposals = proposals;
    restart();
  }

  /** Makes the plan of now the best one. */
  private void restart() {
    bestMs = objective.costMs;
    homeMs = bestMs;
    takeBest();
    log.clear();
  }

  private void takeBest() {
    best = Move.restoring(state, IntStream.range(0, state.tables()).toArray());
    bestChosen = state.collectives.chosen.clone();
    isBestNew = false;
  }

  /** Returns the best plan found. */
  State best() {
    if (homeMs > bestMs) {
      best.apply(state);
      state.choose(bestChosen);
      objective.refresh();
      homeMs = bestMs;
    }
    return state;
  }

  /** Cools down once from hot, and returns to the best plan found. */
  void begin(long evaluations) {
    mostUnits = objective.maxUnits();
    cool(HOT, MOVES * (state.tables() + state.devices), evaluations);
    end(0);
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
    int tables = only == null ? state.tables() : only.length;
    cool(MILD, MOVES * (tables + state.devices), evaluations);
    end(0);
  }

  /** Takes back moves since an earlier plan that do not pay; see {@link MoveReduction}. */
  void reduceMoves(State earlier) {
    new MoveReduction(state, objective, earlier).run();
    restart();
  }

  /**
   * Kicks the plan and cools it down. The result takes the plan's place if it costs less, or little
   * more.
   */
  void cycle(long evaluations) {
    int now = objective.maxUnits();
    int step = Math.max(1, now / 64);
    int which = random.below(4);
    mostUnits = which == 1 ? now : Integer.MAX_VALUE;
    if (which == 2) {
      mostUnits = now + step * (1 + random.below(4));
      objective.setMinMaxUnits(mostUnits);
    } else if (which == 3) {
      kickLoads(now - step * (1 + random.below(4)));
    }
    kick();
    if (which == 3) {
      mostUnits = objective.maxUnits();
    }
    cool(WARM, MOVES_AFTER_KICK * (state.tables() + state.devices), evaluations);
    end(isRepair ? 0 : MOST_WORSE);
  }

  /**
   * Changes the plan whatever it costs, as no sequence of improving moves would: shards tables of
   * highly loaded devices in another way, or several tables at once in ways of one scope.
   */
  private void kick() {
    if (random.below(KINDS_EVERY) == 0) {
      kickKind();
      return;
    }
    for (int kicks = 1 + random.below(2); kicks > 0; kicks--) {
      int d = random.below(8) < 4 ? objective.lastDevice() : proposals.donor();
      int count = state.countAt[d];
      if (count == 0) {
        continue;
      }
      int i = state.tableAt[d][random.below(count)];
      int j = state.tableAt[d][random.below(count)];
      int table = state.way[j].aloneMs > state.way[i].aloneMs ? j : i;
      if (proposals.proposeWay(move, table)) {
        applyAnyhow();
      }
    }
  }

  /**
   * Shards several tables in a way of the same scope. A collective that all of them need is paid
   * once, and an all-to-all gets shorter only when its largest load does, so that each table alone
   * would not gain.
   */
  private void kickKind() {
    ShardScope scope = SCOPES[random.below(SCOPES.length)];
    for (int kicks = 1 + random.below(MOST_KINDS); kicks > 0; kicks--) {
      int best = -1;
      double leastMs = Double.POSITIVE_INFINITY;
      for (int c = 0; c < CANDIDATES; c++) {
        int table = random.below(state.tables());
        Way way = proposals.cheapest(table, scope);
        if (way != null && state.way[table].scope != scope) {
          double moreMs = way.workMs - state.way[table].workMs;
          if (moreMs < leastMs) {
            best = table;
            leastMs = moreMs;
          }
        }
      }
      if (best >= 0 && proposals.proposeWay(move, best, proposals.cheapest(best, scope))) {
        applyAnyhow();
      }
    }
  }

  /**
   * Takes parts from the devices that send most: an all-to-all gets shorter only when all of them
   * send less, so that each part alone would not gain.
   *
   * @param units the most that a device may send afterwards, if that is found
   */
  private void kickLoads(int units) {
    for (int d = 0; d < state.devices; d++) {
      for (int tries = 0; tries < UNLOAD_TRIES && state.units[d] > units; tries++) {
        if (proposals.proposeUnload(move, d, units)) {
          applyAnyhow();
        }
      }
    }
  }

  private void applyAnyhow() {
    if (objective.evaluate(move) < Double.POSITIVE_INFINITY) {
      apply();
    }
  }

  private void apply() {
    log.record(state, move);
    objective.apply(move);
    if (objective.costMs < bestMs) {
      // What it costs when the search ends here: then a larger budget ends with nothing worse.
      double ms = objective.costOfLoadsMs();
      if (ms < bestMs) {
        bestMs = ms;
        bestAt = log.position();
        isBestNew = true;
      }
    }
  }

  private void cool(double from, long count, long evaluations) {
    double scale = objective.costMs;
    double factor = StrictMath.pow(COLD / from, 1.0 / STEPS);
    double temperature = from * scale;
    long step = Math.max(1, count / STEPS);
    for (long i = 0; i < count; i++) {
      if (work.isSpent(evaluations)) {
        return;
      }
      work.proposed();
      if (i % step == step - 1) {
        temperature *= factor;
      }
      boolean isMove =
          only == null
              ? proposals.propose(move)
              : proposals.proposeOf(move, only[random.below(only.length)]);
      if (!isMove) {
        continue;
      }
      double limit = objective.score + temperature * random.exponential();
      work.moves++;
      if (objective.evaluate(move, limit, mostUnits) <= limit) {
        apply();
      }
    }
  }

  /**
   * Ends a cooling: at the best plan, if it was found since the one before; else where it is, or
   * where it was.
   *
   * @param mostWorse share of the cost by which the plan may get worse
   */
  private void end(double mostWorse) {
    int to = 0;
    if (isBestNew) {
      to = bestAt;
    } else if (mostWorse > 0) {
      objective.setMinMaxUnits(0);
      double limit = homeMs * (1 + mostWorse * random.exponential());
      to = objective.costMs <= limit ? log.position() : 0;
    }
    log.undo(state, to);
    log.clear();
    objective.clearMinMaxUnits();
    objective.refresh();
    homeMs = objective.costMs;
    // Among larger loads a plan that is the best without them may have looked worse.
    if (isBestNew || homeMs < bestMs) {
      bestMs = Math.min(bestMs, homeMs);
      takeBest();
    }
  }
}
