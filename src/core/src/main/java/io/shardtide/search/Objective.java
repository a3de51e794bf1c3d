package io.shardtide.search;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.Slowdowns;
import io.shardtide.plan.CostPart;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * The cost of a state, updated move by move: the predicted step, with the prices of moves away from
 * the running plan and of synchronization.
 *
 * <p>A step takes {@code max(compute + backward) + max(forward)}: every device waits for the last
 * one before the forward all-to-all. Only devices whose parts change are evaluated with the head,
 * and of those only the launch groups that change; what is known without it is compared with the
 * limit before.
 *
 * <p>Most moves leave the largest cost as it is; {@link #score} adds a {@link TieBreaker} to
 * follow.
 */
final class Objective {
  /** Up to so many devices, the largest values of all others are known without a loop. */
  private static final int FEW = 2;

  final State state;
  private final CostEvaluator evaluator;
  private final Communication communication;
  final MovePrice movePrice;
  private final SynchronizationPrice synchronization;
  private final Consumer<Objective> afterMove;
  private final Places places;
  private final int devices;
  private final int sumSize;
  private final int launchGroups;
  private final TieBreaker tieBreaker;
  private final double[] computeFactor;
  private final double[] commFactor;

  private final double[] groupMs;
  final double[] computeMs;

  /**
   * When each device is ready for the forward all-to-all: its computation plus its backward
   * communication, in milliseconds.
   */
  final double[] startMs;

  /** The forward communication of each device in milliseconds, idle time not included. */
  final double[] forwardMs;

  private final double[] units;
  private final LargestThree latestStart;
  private final LargestThree longestForward;
  private final LargestThree largestUnits;
  private Communication.Terms terms;
  int minMaxUnits;
  private double startSquares;
  private double unitSquares;
  private double slopeOfUnits;

  /** The predicted cost of a step plus the prices, in milliseconds a step. */
  double costMs;

  /** What the search minimizes: the cost and its tie breaker. */
  double score;

  // Of the move that was evaluated last.
  private final MoveDelta delta;
  private final double[] sum;
  private final double[] movedGroupMs;
  private final double[] movedComputeMs;
  private final Communication.Loads loads;
  private Communication.Terms movedTerms;
  private boolean isSame;

  /** {@link #costMs} after the move. */
  double movedCostMs;

  double movedScore;

  /**
   * @param state the state; changed only through this
   * @param evaluator predicts
   * @param slowdowns how slow the devices are
   * @param communication costs of collectives
   * @param movePrice price of moving away from the running plan
   * @param synchronization price of keeping replica groups equal
   * @param msPerUnit milliseconds of both all-to-alls for each unit of load
   * @param afterMove called after each move that is applied
   */
  Objective(
      State state,
      CostEvaluator evaluator,
      Slowdowns slowdowns,
      Communication communication,
      MovePrice movePrice,
      SynchronizationPrice synchronization,
      double msPerUnit,
      Consumer<Objective> afterMove) {
    this.state = state;
    this.evaluator = evaluator;
    this.communication = communication;
    this.movePrice = movePrice;
    this.synchronization = synchronization;
    this.afterMove = afterMove;
    places = state.places;
    devices = state.devices;
    sumSize = state.sumSize;
    launchGroups = evaluator.launchGroups();
    tieBreaker = new TieBreaker(devices, msPerUnit);
    computeFactor = new double[devices];
    commFactor = new double[devices];
    Arrays.setAll(computeFactor, d -> slowdowns.factor(d, CostPart.COMPUTATION));
    Arrays.setAll(commFactor, d -> slowdowns.factor(d, CostPart.COMMUNICATION));
    groupMs = new double[devices * launchGroups];
    computeMs = new double[devices];
    startMs = new double[devices];
    forwardMs = new double[devices];
    units = new double[devices];
    latestStart = new LargestThree(startMs);
    longestForward = new LargestThree(forwardMs);
    largestUnits = new LargestThree(units);
    terms = communication.newTerms();
    movedTerms = communication.newTerms();
    delta = new MoveDelta(state);
    sum = new double[sumSize];
    movedGroupMs = new double[devices * launchGroups];
    movedComputeMs = new double[devices];
    loads = new Communication.Loads(places.nodes);
    refresh();
  }

  /** Returns the largest all-to-all load of any device, in units. */
  int maxUnits() {
    return terms.loads.maxUnits;
  }

  /**
   * Sets the least value of {@link #maxUnits}: with it, a search can go to a larger maximum without
   * paying for it before it gains.
   */
  void setMinMaxUnits(int least) {
    minMaxUnits = Math.min(least, state.collectives.totalUnits);
    refreshCommunication();
  }

  /** Removes the least value of {@link #setMinMaxUnits}; takes effect with {@link #refresh}. */
  void clearMinMaxUnits() {
    minMaxUnits = 0;
  }

  /** Returns {@link #costMs} without the least value of {@link #setMinMaxUnits}. */
  double costOfLoadsMs() {
    int least = minMaxUnits;
    if (least == 0 || terms.loads.maxUnits > least) {
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

  /** Recomputes everything from the state. */
  void refresh() {
    movePrice.refresh(state);
    synchronization.refresh(state);
    for (int d = 0; d < devices; d++) {
      double ms = 0;
      for (int g = 0; g < launchGroups; g++) {
        double ofGroup = state.parts[d] == 0 ? 0 : evaluator.groupMs(state.sums, d * sumSize, g);
        groupMs[d * launchGroups + g] = ofGroup;
        ms += ofGroup;
      }
      computeMs[d] = computeFactor[d] * ms;
    }
    refreshCommunication();
  }

  /** Recomputes what depends on the loads of collectives and on codecs. */
  void refreshCommunication() {
    int max = minMaxUnits;
    for (int d = 0; d < devices; d++) {
      max = Math.max(max, state.units[d]);
    }
    loads.set(state.collectives);
    loads.maxUnits = max;
    loads.level = level(loads.totalUnits, false);
    communication.compute(terms, loads);
    refreshDevices();
  }

  /** Returns the level of the node with the largest load, after the move or before it. */
  private int level(int totalUnits, boolean isAfterMove) {
    if (places.nodes == 1) {
      return AllToAllLoad.LEVELS;
    }
    double largest = 0;
    for (int node = 0; node < places.nodes; node++) {
      int ofNode = state.unitsOfNode[node] + (isAfterMove ? delta.unitsOfNode[node] : 0);
      largest = Math.max(largest, (double) ofNode / places.size(places.ofNode(node)));
    }
    return AllToAllLoad.level(largest, (double) totalUnits / devices);
  }

  private double startMs(Communication.Terms of, int d, int ofUnits, double compute) {
    return compute + commFactor[d] * of.backward.ms(places.nodeOf[d], ofUnits);
  }

  private double forwardMs(Communication.Terms of, int d, int ofUnits) {
    return commFactor[d] * of.forward.ms(places.nodeOf[d], ofUnits);
  }

  private void refreshDevice(int d) {
    int ofDevice = state.units[d];
    units[d] = ofDevice;
    startMs[d] = startMs(terms, d, ofDevice, computeMs[d]);
    forwardMs[d] = forwardMs(terms, d, ofDevice);
  }

  private void refreshDevices() {
    for (int d = 0; d < devices; d++) {
      refreshDevice(d);
    }
    rank();
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
    costMs =
        latestStart.largestBut(-1, -1)
            + longestForward.largestBut(-1, -1)
            + movePrice.ms
            + synchronization.ms;
    slopeOfUnits = tieBreaker.ofUnits(unitSquares);
    score = costMs + (tieBreaker.ofCosts(startSquares) + slopeOfUnits);
  }

  /**
   * Evaluates a move.
   *
   * @param limit score above which the move is of no interest
   * @param mostUnits all-to-all load above which no device may gain more
   * @return what {@link #score} would be, or infinity once it is known to be above the limit, or if
   *     a device lacks room
   */
  double evaluate(Move move, double limit, int mostUnits) {
    movedScore = Double.POSITIVE_INFINITY;
    return delta.collect(move, mostUnits) ? evaluateCollected(move, limit) : movedScore;
  }

  /** Evaluates a move without any limit; infinity if a device lacks room. */
  double evaluate(Move move) {
    return evaluate(move, Double.POSITIVE_INFINITY, Integer.MAX_VALUE);
  }

  /** Returns {@link #costMs} after a move, whether there is room for it or not. */
  double costAfter(Move move) {
    delta.collect(move);
    evaluateCollected(move, Double.POSITIVE_INFINITY);
    return movedCostMs;
  }

  /** Returns the largest all-to-all load after the move that was evaluated last. */
  int movedMaxUnits() {
    return (isSame ? terms : movedTerms).loads.maxUnits;
  }

  private double evaluateCollected(Move move, double limit) {
    double prices =
        movePrice.ms
            + movePrice.change(state, move)
            + synchronization.ms
            + synchronization.change(state, delta);
    computeTerms(move);
    Communication.Terms after = isSame ? terms : movedTerms;
    double lastStart = 0;
    double lastForward = 0;
    double squares = 0;
    double squaresOfUnits = unitSquares;
    if (isSame && delta.count <= FEW) {
      lastStart = latestStart.largestBut(delta.first(), delta.second());
      lastForward = longestForward.largestBut(delta.first(), delta.second());
      squares = startSquares;
      for (int i = 0; i < delta.count; i++) {
        squares -= TieBreaker.square(startMs[delta.device[i]]);
      }
      squares = Math.max(0, squares);
    } else if (isSame && delta.count < devices) {
      for (int d = 0; d < devices; d++) {
        if (!delta.touches(d)) {
          lastStart = larger(lastStart, startMs[d]);
          lastForward = larger(lastForward, forwardMs[d]);
          squares += TieBreaker.square(startMs[d]);
        }
      }
    } else if (!isSame) {
      // The device that is the last one now is the last one after most moves.
      int last = latestStart.first();
      if (!delta.touches(last)) {
        lastStart = startMs(after, last, state.units[last], computeMs[last]);
        lastForward = forwardMs(after, last, state.units[last]);
      }
    }
    for (int i = 0; i < delta.count; i++) {
      int d = delta.device[i];
      int ofDevice = state.units[d] + delta.units[i];
      lastForward = larger(lastForward, forwardMs(after, d, ofDevice));
      squaresOfUnits += TieBreaker.square(ofDevice) - TieBreaker.square(state.units[d]);
    }
    double slope =
        squaresOfUnits == unitSquares ? slopeOfUnits : tieBreaker.ofUnits(squaresOfUnits);
    // What is known already may exceed the limit: then the devices that are left do not matter.
    for (int i = delta.count - 1; i >= 0; i--) {
      double least = lastStart + lastForward + prices;
      if (least + slope > limit || least + (tieBreaker.ofCosts(squares) + slope) > limit) {
        return movedScore;
      }
      int d = delta.device[i];
      movedComputeMs[i] = movedComputeMs(i, d);
      double start = startMs(after, d, state.units[d] + delta.units[i], movedComputeMs[i]);
      lastStart = larger(lastStart, start);
      squares += TieBreaker.square(start);
    }
    if (!isSame && delta.count < devices) {
      // All in locals: a cost that is not known yet is a call that might write any field, so that
      // the loop would read each of them again.
      AllToAllCosts.CostRow backwardRow = after.backward.ofDevices;
      AllToAllCosts.CostRow forwardRow = after.forward.ofDevices;
      double[] backward = backwardRow.known;
      double[] forward = forwardRow.known;
      double[] otherBackward = after.backward.othersMs;
      double[] otherForward = after.forward.othersMs;
      double[] compute = computeMs;
      double[] factor = commFactor;
      int[] unitsOf = state.units;
      int[] nodeOf = places.nodeOf;
      int[] stampOf = delta.stampOf;
      int stamp = delta.stamp;
      for (int d = 0; d < stampOf.length; d++) {
        if (stampOf[d] != stamp) {
          int own = unitsOf[d];
          int node = nodeOf[d];
          double backwardMs = backward[own] < 0 ? backwardRow.ms(own) : backward[own];
          double forwardMs = forward[own] < 0 ? forwardRow.ms(own) : forward[own];
          double start = compute[d] + factor[d] * (backwardMs + otherBackward[node]);
          double ofForward = factor[d] * (forwardMs + otherForward[node]);
          squares += TieBreaker.square(start);
          if (start > lastStart || ofForward > lastForward) {
            lastStart = larger(lastStart, start);
            lastForward = larger(lastForward, ofForward);
            if (lastStart + lastForward + prices > limit) {
              return movedScore;
            }
          }
        }
      }
    }
    movedCostMs = lastStart + lastForward + prices;
    movedScore = movedCostMs + (tieBreaker.ofCosts(squares) + slope);
    return movedScore;
  }

  /** Returns the larger of two numbers, neither of them NaN: in less time than Math.max. */
  private static double larger(double a, double b) {
    return a > b ? a : b;
  }

  /** Computes the costs of collectives after a move, where they are others. */
  private void computeTerms(Move move) {
    int total = state.collectives.totalUnits + delta.collectives.totalUnits;
    int max = minMaxUnits;
    if (delta.count <= FEW) {
      max = Math.max(max, (int) largestUnits.largestBut(delta.first(), delta.second()));
    } else {
      for (int d = 0; d < devices; d++) {
        if (!delta.touches(d)) {
          max = Math.max(max, state.units[d]);
        }
      }
    }
    for (int i = 0; i < delta.count; i++) {
      max = Math.max(max, state.units[delta.device[i]] + delta.units[i]);
    }
    int level = delta.changesNodes ? level(total, true) : terms.loads.level;
    isSame =
        terms.loads.hasUnits(max, total, level)
            && !delta.changesSplit
            && move.collective == Move.NO_COLLECTIVE;
    if (isSame) {
      return;
    }
    loads.set(state.collectives);
    loads.add(delta.collectives);
    loads.maxUnits = max;
    loads.level = level;
    move.choose(loads.chosen);
    communication.compute(movedTerms, loads);
  }

  private double movedComputeMs(int i, int d) {
    int at = i * launchGroups;
    if (state.parts[d] + delta.parts[i] == 0) {
      Arrays.fill(movedGroupMs, at, at + launchGroups, 0);
      return 0;
    }
    int changed = delta.sum(d, sum);
    double ms = 0;
    for (int g = 0; g < launchGroups; g++) {
      double ofGroup =
          (changed >> g & 1) == 0 && state.parts[d] > 0
              ? groupMs[d * launchGroups + g]
              : evaluator.groupMs(sum, 0, g);
      movedGroupMs[at + g] = ofGroup;
      ms += ofGroup;
    }
    return computeFactor[d] * ms;
  }

  /** Applies the move that was evaluated last, and whose score was not above its limit. */
  void apply(Move move) {
    movePrice.apply(state, move);
    for (int i = 0; i < delta.count; i++) {
      int d = delta.device[i];
      computeMs[d] = movedComputeMs[i];
      System.arraycopy(movedGroupMs, i * launchGroups, groupMs, d * launchGroups, launchGroups);
    }
    move.apply(state);
    synchronization.refresh(state);
    if (isSame) {
      for (int i = 0; i < delta.count; i++) {
        refreshDevice(delta.device[i]);
      }
      rank();
    } else {
      Communication.Terms before = terms;
      terms = movedTerms;
      movedTerms = before;
      refreshDevices();
    }
    afterMove.accept(this);
  }
}
