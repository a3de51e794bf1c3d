package io.shardtide.search.local;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.Slowdowns;
import io.shardtide.search.local.AllToAllCosts.CostRow;

/**
 * The cost of an assignment, updated move by move.
 *
 * <p>A step takes {@code max(compute + backward) + max(forward)}: every device waits for the last
 * one before the forward all-to-all. A local move changes the loads of two devices, which takes one
 * evaluation of the head each; the largest cost of the others is known. Only a move that changes
 * the largest all-to-all load of any device, or of any node, makes all all-to-alls be looked up
 * again. A move that is not local is made, evaluated on all devices that it changes, and taken
 * back.
 *
 * <p>Most moves leave the largest cost as it is; {@link #score} adds a {@link TieBreaker} to
 * follow.
 */
final class Objective {
  private final Assignment assignment;
  private final CostEvaluator evaluator;
  private final Slowdowns slowdowns;
  private final Communication communication;
  private final Prices prices;
  private final CostEvaluator checker;
  private final int devices;
  private final TieBreaker slope;

  private final double[] computeMs;
  private final double[] startMs;
  private final double[] forwardMs;
  private final double[] units;
  private final LargestThree latestStart;
  private final LargestThree longestForward;
  private final LargestThree largestUnits;
  private int minMaxUnits;
  private int maxUnits;
  private int nodeLevel;
  private CostRow backward;
  private CostRow forward;
  private double startSquares;
  private double unitSquares;
  private double costMs;
  private double score;

  // Of the move that was evaluated last.
  private final double[] sum;
  private double firstComputeMs;
  private double secondComputeMs;
  private double movedCostMs;
  private double movedScore;
  private double movedStartSquares;
  private double movedUnitSquares;

  /**
   * @param assignment the assignment; changed only through this
   * @param evaluator predicts
   * @param slowdowns how slow the devices are
   * @param communication costs of collectives
   * @param prices price of moving away from the running plan, and of synchronization
   * @param checker recomputes every cost after each move and compares; null for no such check
   */
  Objective(
      Assignment assignment,
      CostEvaluator evaluator,
      Slowdowns slowdowns,
      Communication communication,
      Prices prices,
      CostEvaluator checker) {
    this.checker = checker;
    this.assignment = assignment;
    this.evaluator = evaluator;
    this.slowdowns = slowdowns;
    this.communication = communication;
    this.prices = prices;
    devices = assignment.devices();
    sum = new double[evaluator.sumSize()];
    computeMs = new double[devices];
    startMs = new double[devices];
    forwardMs = new double[devices];
    units = new double[devices];
    latestStart = new LargestThree(startMs);
    longestForward = new LargestThree(forwardMs);
    largestUnits = new LargestThree(units);
    slope = new TieBreaker(devices, communication.msPerUnit());
    refresh();
  }

  /** Returns the predicted cost of a step plus the prices, in milliseconds a step. */
  double costMs() {
    return costMs;
  }

  /** Returns the price of moves, in milliseconds a step. */
  double moveMs() {
    return prices.moves().ms();
  }

  /** Returns what the search minimizes: the cost and its slope. */
  double score() {
    return score;
  }

  /** Returns {@link #costMs} after the move that was evaluated last. */
  double movedCostMs() {
    return movedCostMs;
  }

  double computeMs(int device) {
    return computeMs[device];
  }

  /**
   * Returns when a device is ready for the forward all-to-all: its computation plus its backward
   * all-to-all, in milliseconds.
   */
  double startMs(int device) {
    return startMs[device];
  }

  /** Returns the forward communication of a device in milliseconds, idle time not included. */
  double forwardMs(int device) {
    return forwardMs[device];
  }

  /** Returns the largest all-to-all load of any device, in units. */
  int maxUnits() {
    return maxUnits;
  }

  /**
   * Sets the least value of {@link #maxUnits}: with it, a search can go to a larger maximum without
   * paying for it before it gains.
   */
  void setMinMaxUnits(int least) {
    minMaxUnits = Math.min(least, assignment.totalUnits());
    refreshAllToAlls();
  }

  /** Returns {@link #costMs} without the least value of {@link #setMinMaxUnits}. */
  double costOfLoadsMs() {
    int least = minMaxUnits;
    if (maxUnits > least) {
      return costMs;
    }
    setMinMaxUnits(0);
    double ms = costMs;
    setMinMaxUnits(least);
    return ms;
  }

  /** Returns the device that is ready for the forward all-to-all last. */
  int lastDevice() {
    return latestStart.first();
  }

  /** Returns the device with the largest all-to-all load. */
  int largestSender() {
    return largestUnits.first();
  }

  /** Recomputes everything from the assignment. */
  void refresh() {
    prices.refresh(assignment);
    for (int d = 0; d < devices; d++) {
      refreshCompute(d);
    }
    communication.refresh();
    refreshAllToAlls();
  }

  private void refreshCompute(int d) {
    computeMs[d] =
        assignment.partsOfDevice(d) == 0
            ? 0
            : slowdowns.computeMs(d, evaluator.computeMs(assignment.towerSum(d)));
  }

  private void refreshAllToAlls() {
    maxUnits = largestLoad();
    communication.refreshNodes();
    nodeLevel = communication.nodeLevel();
    backward = communication.backward(maxUnits, nodeLevel);
    forward = communication.forward(maxUnits, nodeLevel);
    for (int d = 0; d < devices; d++) {
      refreshAllToAll(d);
    }
    rank();
  }

  private int largestLoad() {
    int largest = minMaxUnits;
    for (int d = 0; d < devices; d++) {
      largest = Math.max(largest, assignment.allToAllUnits(d));
    }
    return largest;
  }

  private void refreshAllToAll(int d) {
    units[d] = assignment.allToAllUnits(d);
    startMs[d] = computeMs[d] + communication.backwardMs(backward, d, assignment.allToAllUnits(d));
    forwardMs[d] = communication.forwardMs(forward, d, assignment.allToAllUnits(d));
  }

  private void rank() {
    startSquares = 0;
    unitSquares = 0;
    for (int d = 0; d < devices; d++) {
      startSquares += TieBreaker.square(startMs[d]);
      unitSquares += TieBreaker.square(units[d]);
    }
    latestStart.rank();
    longestForward.rank();
    largestUnits.rank();
    costMs = latestStart.largestBut(-1, -1) + longestForward.largestBut(-1, -1) + prices.ms();
    score = costMs + slope.ms(startSquares, unitSquares);
  }

  /**
   * Evaluates a move, with at most two evaluations of the head.
   *
   * @param limit score above which the move is of no interest
   * @return what {@link #score} would be, or infinity once it is known to be above the limit
   */
  double evaluate(SearchMove move, double limit) {
    if (!move.isLocal()) {
      return evaluateAnywhere(move);
    }
    int d = move.first;
    int e = move.second;
    int unitsOfFirst = assignment.allToAllUnits(d) + move.allToAllUnits(d);
    int unitsOfSecond = assignment.allToAllUnits(e) + move.allToAllUnits(e);
    int max = Math.max(minMaxUnits, Math.max(unitsOfFirst, unitsOfSecond));
    max = Math.max(max, (int) largestUnits.largestBut(d, e));
    int level = communication.nodeLevelAfter(move);
    double lastStart = 0;
    boolean same = max == maxUnits && level == nodeLevel;
    CostRow backwardRow = same ? backward : communication.backward(max, level);
    CostRow forwardRow = same ? forward : communication.forward(max, level);
    double lastForward = communication.forwardMs(forwardRow, d, unitsOfFirst);
    lastForward = Math.max(lastForward, communication.forwardMs(forwardRow, e, unitsOfSecond));
    double squares;
    if (same) {
      lastStart = latestStart.largestBut(d, e);
      lastForward = Math.max(lastForward, longestForward.largestBut(d, e));
      squares = startSquares - TieBreaker.square(startMs[d]);
      if (e != d) {
        squares -= TieBreaker.square(startMs[e]);
      }
      squares = Math.max(0, squares);
    } else {
      squares = 0;
      for (int o = 0; o < devices; o++) {
        if (o != d && o != e) {
          int own = assignment.allToAllUnits(o);
          double start = computeMs[o] + communication.backwardMs(backwardRow, o, own);
          lastStart = Math.max(lastStart, start);
          lastForward = Math.max(lastForward, communication.forwardMs(forwardRow, o, own));
          squares += TieBreaker.square(start);
        }
      }
    }
    double squaresOfUnits = unitSquares;
    if (e != d) {
      squaresOfUnits +=
          TieBreaker.square(unitsOfFirst)
              - TieBreaker.square(assignment.allToAllUnits(d))
              + TieBreaker.square(unitsOfSecond)
              - TieBreaker.square(assignment.allToAllUnits(e));
    }
    double rest = lastForward + prices.ms() + prices.change(assignment, move);

    // The device that gains is evaluated first: it alone may exceed the limit.
    secondComputeMs = computeMs(move, e, unitsOfSecond);
    double start = secondComputeMs + communication.backwardMs(backwardRow, e, unitsOfSecond);
    lastStart = Math.max(lastStart, start);
    squares += TieBreaker.square(start);
    movedCostMs = lastStart + rest;
    movedScore = movedCostMs + slope.ms(squares, squaresOfUnits);
    movedStartSquares = squares;
    movedUnitSquares = squaresOfUnits;
    if (e == d) {
      firstComputeMs = secondComputeMs;
      return movedScore;
    }
    if (movedScore > limit) {
      return Double.POSITIVE_INFINITY;
    }
    firstComputeMs = computeMs(move, d, unitsOfFirst);
    start = firstComputeMs + communication.backwardMs(backwardRow, d, unitsOfFirst);
    lastStart = Math.max(lastStart, start);
    squares += TieBreaker.square(start);
    movedCostMs = lastStart + rest;
    movedScore = movedCostMs + slope.ms(squares, squaresOfUnits);
    movedStartSquares = squares;
    return movedScore;
  }

  /** Makes a move that is not local, evaluates it, and takes it back. */
  private double evaluateAnywhere(SearchMove move) {
    double morePrice = prices.change(assignment, move);
    double[] before = computeMs.clone();
    makeAnywhere(move);
    double cost = costMs + morePrice;
    double moved = score + morePrice;
    move.reverse().apply(assignment);
    System.arraycopy(before, 0, computeMs, 0, devices);
    communication.refresh();
    refreshAllToAlls();
    movedCostMs = cost;
    movedScore = moved;
    return moved;
  }

  private void makeAnywhere(SearchMove move) {
    move.apply(assignment);
    for (int d = 0; d < devices; d++) {
      if (move.changes(d, assignment.places())) {
        refreshCompute(d);
      }
    }
    communication.refresh();
    refreshAllToAlls();
  }

  private double computeMs(SearchMove move, int device, int unitsAfter) {
    if (unitsAfter == 0 && assignment.partsOfDevice(device) + move.shards(device) == 0) {
      return 0;
    }
    System.arraycopy(assignment.towerSum(device), 0, sum, 0, sum.length);
    for (int i = 0; i < move.edits; i++) {
      if (move.place[i] == device) {
        assignment.shift(sum, move.before[i], move.after[i]);
      }
    }
    return slowdowns.computeMs(device, evaluator.computeMs(sum));
  }

  /**
   * Applies the move that was evaluated last.
   *
   * @throws IllegalStateException if there is a checker and it finds other costs
   */
  void apply(SearchMove move) {
    applyUnchecked(move);
    if (checker != null) {
      check();
    }
  }

  private void check() {
    Objective fresh =
        new Objective(assignment, checker, slowdowns, communication.copy(), prices.copy(), null);
    // As it was set: a move may have left fewer units than that in total.
    fresh.minMaxUnits = minMaxUnits;
    fresh.refreshAllToAlls();
    CostCheck.same("cost", costMs, fresh.costMs);
    CostCheck.same("score", score, fresh.score);
    for (int d = 0; d < devices; d++) {
      CostCheck.same("start of device " + d, startMs[d], fresh.startMs[d]);
      CostCheck.same("forward all-to-all of device " + d, forwardMs[d], fresh.forwardMs[d]);
    }
  }

  private void applyUnchecked(SearchMove move) {
    if (!move.isLocal()) {
      prices.apply(assignment, move);
      makeAnywhere(move);
      return;
    }
    int d = move.first;
    int e = move.second;
    boolean ranksStay = !isRanked(d) && !isRanked(e);
    prices.apply(assignment, move);
    move.apply(assignment);
    computeMs[d] = firstComputeMs;
    computeMs[e] = secondComputeMs;
    int max = minMaxUnits;
    if (ranksStay) {
      max = Math.max(max, assignment.allToAllUnits(largestUnits.first()));
      max = Math.max(max, Math.max(assignment.allToAllUnits(d), assignment.allToAllUnits(e)));
    } else {
      max = largestLoad();
    }
    communication.refreshNodes();
    if (max != maxUnits || communication.nodeLevel() != nodeLevel) {
      refreshAllToAlls();
      return;
    }
    refreshAllToAll(d);
    refreshAllToAll(e);
    if (ranksStay && isBelowRanks(d) && isBelowRanks(e)) {
      startSquares = movedStartSquares;
      unitSquares = movedUnitSquares;
      costMs = movedCostMs;
      score = movedScore;
    } else {
      rank();
    }
  }

  private boolean isRanked(int d) {
    return latestStart.has(d) || longestForward.has(d) || largestUnits.has(d);
  }

  private boolean isBelowRanks(int d) {
    return latestStart.isAbove(d) && longestForward.isAbove(d) && largestUnits.isAbove(d);
  }
}
