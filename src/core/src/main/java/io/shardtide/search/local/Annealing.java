package io.shardtide.search.local;

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

  private final State state;
  private final Objective objective;
  private final SearchWork work;
  private final SeededRandom random;
  private final Proposals proposals;
  private final Move move = new Move();

  /** Moves since the best plan found. */
  private final MoveLog log = new MoveLog();

  private double bestMs;
  private int mostUnits = Integer.MAX_VALUE;

  /** The tables that may move; null for all. */
  private int[] only;

  Annealing(
      State state, Objective objective, SearchWork work, Proposals proposals, SeededRandom random) {
    this.state = state;
    this.objective = objective;
    this.work = work;
    this.random = random;
    this.proposals = proposals;
    bestMs = objective.costMs();
  }

  State state() {
    return state;
  }

  Objective objective() {
    return objective;
  }

  /** Returns the cost of the best plan found, in milliseconds. */
  double bestMs() {
    return bestMs;
  }

  /** Returns the price of the moves from the running plan, in milliseconds a step. */
  double moveMs() {
    return objective.moveMs();
  }

  /** Cools down once from hot, and returns to the best plan found. */
  void begin(long evaluations) {
    mostUnits = objective.maxUnits();
    cool(HOT, MOVES * (state.tables() + state.devices), evaluations);
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
    int tables = only == null ? state.tables() : only.length;
    cool(MILD, MOVES * (tables + state.devices), evaluations);
    returnToBest();
  }

  /** Takes back moves since an earlier plan that do not pay; see {@link MoveReduction}. */
  void reduceMoves(State earlier) {
    new MoveReduction(state, objective, earlier).run();
    bestMs = objective.costMs();
  }

  /** Kicks the plan, cools it down, and returns to the best one found. */
  void cycle(long evaluations) {
    int now = objective.maxUnits();
    int which = random.below(3);
    if (which == 0) {
      mostUnits = Integer.MAX_VALUE;
    } else if (which == 1) {
      mostUnits = now;
    } else {
      int step = Math.max(1, now / 64);
      mostUnits = now + step * (1 + random.below(4));
      objective.setMinMaxUnits(mostUnits);
    }
    kick();
    cool(WARM, MOVES_AFTER_KICK * (state.tables() + state.devices), evaluations);
    returnToBest();
  }

  /**
   * Shards a table of a highly loaded device in another way, whatever it costs: no sequence of
   * improving moves leads there.
   */
  private void kick() {
    for (int kicks = 1 + random.below(2); kicks > 0; kicks--) {
      int d = random.below(8) < 4 ? objective.lastDevice() : proposals.donor();
      int count = state.countAt(d);
      if (count == 0) {
        continue;
      }
      int i = state.tableAt(d, random.below(count));
      int j = state.tableAt(d, random.below(count));
      int table = state.way(j).aloneMs > state.way(i).aloneMs ? j : i;
      if (proposals.proposeWay(move, table)
          && objective.evaluate(move) < Double.POSITIVE_INFINITY) {
        apply();
      }
    }
  }

  private void apply() {
    log.record(state, objective.codecs, move);
    objective.apply(move);
    if (objective.costMs() < bestMs) {
      // What it costs when the search ends here: then a larger budget ends with nothing worse.
      double ms = objective.costOfLoadsMs();
      if (ms < bestMs) {
        bestMs = ms;
        log.clear();
      }
    }
  }

  private void cool(double from, long count, long evaluations) {
    double scale = objective.costMs();
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
      double limit = objective.score() + temperature * random.exponential();
      work.moved();
      if (objective.evaluate(move, limit, mostUnits) <= limit) {
        apply();
      }
    }
  }

  private void returnToBest() {
    objective.setMinMaxUnits(0);
    log.undo(state, objective.codecs);
    objective.refresh();
  }
}
