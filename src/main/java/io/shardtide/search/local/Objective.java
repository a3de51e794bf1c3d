package io.shardtide.search.local;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.domain.TableSpec;

/**
 * What an assignment costs, kept up to date change by change.
 *
 * <p>A step lasts {@code max(compute + backward) + max(forward)}: all devices wait for the last one
 * before the forward exchange. Of a change only the two devices are computed anew, with one
 * evaluation of the head each; the largest of the others is known. Where the largest number of
 * columns on any device changes, every exchange is looked up again.
 *
 * <p>The largest alone says nothing about most changes. So that a search has a slope to follow,
 * {@link #score} adds the root of the mean square of the devices' loads, and of their columns in
 * milliseconds.
 */
final class Objective {
  /** Weight of the loads' root mean square, for each device. */
  private static final double LOADS = 1.0 / 16;

  /** Weight of the columns' root mean square in milliseconds, for each device. */
  private static final double COLUMNS = 1.0 / 32;

  /** Sums of squares are kept up to date with roundings; all else is exact. */
  private static final double TOLERANCE = 1e-9;

  private final Assignment assignment;
  private final CostEvaluator evaluator;
  private final AllToAllCosts exchange;
  private final MovePrice price;
  private final CostEvaluator checker;
  private final int devices;
  private final int towerSize;
  private final double msPerColumn;

  private final double[] computeMs;
  private final double[] loadMs;
  private final double[] forwardMs;
  private final double[] columns;
  private final LargestThree dearestLoad;
  private final LargestThree dearestForward;
  private final LargestThree widest;
  private int floorColumns;
  private int maxColumns;
  private double sumOfSquares;
  private double columnSquares;
  private double costMs;
  private double score;

  // The change that is looked at.
  private final double[] sum;
  private double firstComputeMs;
  private double secondComputeMs;
  private double changedCostMs;
  private double changedScore;
  private double changedSquares;
  private double changedSquaresOfColumns;

  /**
   * @param assignment what costs; changed only through this
   * @param evaluator predicts
   * @param exchange what exchanges cost
   * @param price what moves cost
   * @param checker predicts from scratch after every change, which must give the same; null for no
   *     such check
   */
  Objective(
      Assignment assignment,
      CostEvaluator evaluator,
      AllToAllCosts exchange,
      MovePrice price,
      CostEvaluator checker) {
    this.checker = checker;
    this.assignment = assignment;
    this.evaluator = evaluator;
    this.exchange = exchange;
    this.price = price;
    devices = assignment.devices();
    towerSize = evaluator.towerSize();
    sum = new double[towerSize];
    computeMs = new double[devices];
    loadMs = new double[devices];
    forwardMs = new double[devices];
    columns = new double[devices];
    dearestLoad = new LargestThree(loadMs);
    dearestForward = new LargestThree(forwardMs);
    widest = new LargestThree(columns);
    int unit = TableSpec.COLUMN_UNIT;
    int mean = Math.max(unit, exchange.totalColumns() / devices / unit * unit);
    msPerColumn =
        (exchange.forwardMs(mean, mean)
                + exchange.backwardMs(mean, mean)
                - exchange.forwardMs(unit, unit)
                - exchange.backwardMs(unit, unit))
            / mean;
    refresh();
  }

  /** Returns the predicted cost of a step and the price of moves, in milliseconds a step. */
  double costMs() {
    return costMs;
  }

  /** Returns what a search brings down: the cost and its slope. */
  double score() {
    return score;
  }

  /** Returns {@link #costMs} after the change that was looked at last. */
  double changedCostMs() {
    return changedCostMs;
  }

  double computeMs(int device) {
    return computeMs[device];
  }

  /** Returns computation and backward exchange of a device, in milliseconds. */
  double loadMs(int device) {
    return loadMs[device];
  }

  /** Returns the largest number of columns on any device. */
  int maxColumns() {
    return maxColumns;
  }

  /**
   * Counts the exchanges from now on as if some device had at least so many columns: what a search
   * that wants to go there would otherwise pay before it gains.
   */
  void setFloorColumns(int least) {
    floorColumns = Math.min(least, exchange.totalColumns());
    refreshExchanges();
  }

  /** Returns the device with the largest load. */
  int dearest() {
    return dearestLoad.first();
  }

  /** Returns the device with the most columns. */
  int widest() {
    return widest.first();
  }

  /** Computes everything from the assignment. */
  void refresh() {
    price.refresh(assignment);
    for (int d = 0; d < devices; d++) {
      computeMs[d] = assignment.columns(d) == 0 ? 0 : evaluator.computeMs(assignment.sum(d));
    }
    refreshExchanges();
  }

  private void refreshExchanges() {
    maxColumns = mostColumns();
    for (int d = 0; d < devices; d++) {
      refreshExchange(d);
    }
    rank();
  }

  private int mostColumns() {
    int most = floorColumns;
    for (int d = 0; d < devices; d++) {
      most = Math.max(most, assignment.columns(d));
    }
    return most;
  }

  private void refreshExchange(int d) {
    columns[d] = assignment.columns(d);
    loadMs[d] = computeMs[d] + exchange.backwardMs(assignment.columns(d), maxColumns);
    forwardMs[d] = exchange.forwardMs(assignment.columns(d), maxColumns);
  }

  private void rank() {
    sumOfSquares = 0;
    columnSquares = 0;
    for (int d = 0; d < devices; d++) {
      sumOfSquares += square(loadMs[d]);
      columnSquares += square(columns[d]);
    }
    dearestLoad.rank();
    dearestForward.rank();
    widest.rank();
    costMs = dearestLoad.largestBut(-1, -1) + dearestForward.largestBut(-1, -1) + price.ms();
    score = costMs + slope(sumOfSquares, columnSquares);
  }

  private double slope(double squares, double squaresOfColumns) {
    return devices * LOADS * Math.sqrt(squares / devices)
        + devices * COLUMNS * msPerColumn * Math.sqrt(squaresOfColumns / devices);
  }

  /**
   * Looks at a change between two devices, with two evaluations at most.
   *
   * @param limit what the score may come to
   * @return what {@link #score} would be, or infinity once that is known to be above the limit
   */
  double look(SearchMove change, double limit) {
    int d = change.first;
    int e = change.second;
    int columnsOfFirst = assignment.columns(d) + change.columns(d);
    int columnsOfSecond = assignment.columns(e) + change.columns(e);
    int max = Math.max(floorColumns, Math.max(columnsOfFirst, columnsOfSecond));
    max = Math.max(max, (int) widest.largestBut(d, e));
    double largestLoad = 0;
    double largestForward =
        Math.max(exchange.forwardMs(columnsOfFirst, max), exchange.forwardMs(columnsOfSecond, max));
    double squares;
    if (max == maxColumns) {
      largestLoad = dearestLoad.largestBut(d, e);
      largestForward = Math.max(largestForward, dearestForward.largestBut(d, e));
      squares = sumOfSquares - square(loadMs[d]);
      if (e != d) {
        squares -= square(loadMs[e]);
      }
      squares = Math.max(0, squares);
    } else {
      squares = 0;
      for (int o = 0; o < devices; o++) {
        if (o != d && o != e) {
          int own = assignment.columns(o);
          double load = computeMs[o] + exchange.backwardMs(own, max);
          largestLoad = Math.max(largestLoad, load);
          largestForward = Math.max(largestForward, exchange.forwardMs(own, max));
          squares += square(load);
        }
      }
    }
    double squaresOfColumns = columnSquares;
    if (e != d) {
      squaresOfColumns +=
          square(columnsOfFirst)
              - square(assignment.columns(d))
              + square(columnsOfSecond)
              - square(assignment.columns(e));
    }
    double rest = largestForward + price.ms() + price.change(assignment, change);

    // The device that gains comes first: it alone may be too much.
    secondComputeMs = computeMs(change, e, columnsOfSecond);
    double load = secondComputeMs + exchange.backwardMs(columnsOfSecond, max);
    largestLoad = Math.max(largestLoad, load);
    squares += square(load);
    changedCostMs = largestLoad + rest;
    changedScore = changedCostMs + slope(squares, squaresOfColumns);
    changedSquares = squares;
    changedSquaresOfColumns = squaresOfColumns;
    if (e == d) {
      firstComputeMs = secondComputeMs;
      return changedScore;
    }
    if (changedScore > limit) {
      return Double.POSITIVE_INFINITY;
    }
    firstComputeMs = computeMs(change, d, columnsOfFirst);
    load = firstComputeMs + exchange.backwardMs(columnsOfFirst, max);
    largestLoad = Math.max(largestLoad, load);
    squares += square(load);
    changedCostMs = largestLoad + rest;
    changedScore = changedCostMs + slope(squares, squaresOfColumns);
    changedSquares = squares;
    return changedScore;
  }

  private static double square(double x) {
    return x * x;
  }

  private double computeMs(SearchMove change, int device, int columnsAfter) {
    if (columnsAfter == 0) {
      return 0;
    }
    System.arraycopy(assignment.sum(device), 0, sum, 0, towerSize);
    for (int i = 0; i < change.edits; i++) {
      if (change.device[i] == device) {
        assignment.shift(sum, change.table[i], change.before[i], change.after[i]);
      }
    }
    return evaluator.computeMs(sum);
  }

  /**
   * Makes the change that was looked at last.
   *
   * @throws IllegalStateException if there is a checker and the costs are not what they are from
   *     scratch
   */
  void make(SearchMove change) {
    makeUnchecked(change);
    if (checker != null) {
      check();
    }
  }

  private void check() {
    Objective fresh = new Objective(assignment, checker, exchange, price.anew(), null);
    fresh.setFloorColumns(floorColumns);
    check("cost", costMs, fresh.costMs);
    check("score", score, fresh.score);
    for (int d = 0; d < devices; d++) {
      check("load of device " + d, loadMs[d], fresh.loadMs[d]);
      check("forward exchange of device " + d, forwardMs[d], fresh.forwardMs[d]);
    }
  }

  private static void check(String what, double kept, double fresh) {
    if (!(Math.abs(kept - fresh) <= TOLERANCE * Math.abs(fresh))) {
      throw new IllegalStateException(
          "The %s is kept as %s ms and is %s ms from scratch".formatted(what, kept, fresh));
    }
  }

  private void makeUnchecked(SearchMove change) {
    int d = change.first;
    int e = change.second;
    boolean ranksStay = !isRanked(d) && !isRanked(e);
    price.make(assignment, change);
    change.make(assignment);
    computeMs[d] = firstComputeMs;
    computeMs[e] = secondComputeMs;
    int max = floorColumns;
    if (ranksStay) {
      max = Math.max(max, assignment.columns(widest.first()));
      max = Math.max(max, Math.max(assignment.columns(d), assignment.columns(e)));
    } else {
      max = mostColumns();
    }
    if (max != maxColumns) {
      refreshExchanges();
      return;
    }
    refreshExchange(d);
    refreshExchange(e);
    if (ranksStay && isBelowRanks(d) && isBelowRanks(e)) {
      sumOfSquares = changedSquares;
      columnSquares = changedSquaresOfColumns;
      costMs = changedCostMs;
      score = changedScore;
    } else {
      rank();
    }
  }

  private boolean isRanked(int d) {
    return dearestLoad.has(d) || dearestForward.has(d) || widest.has(d);
  }

  private boolean isBelowRanks(int d) {
    return dearestLoad.isAbove(d) && dearestForward.isAbove(d) && widest.isAbove(d);
  }
}
