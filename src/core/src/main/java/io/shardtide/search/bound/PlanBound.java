package io.shardtide.search.bound;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.ModelBundle;
import io.shardtide.search.bound.CommunicationFloor.AllToAll;
import io.shardtide.search.bound.CommunicationFloor.Line;
import io.shardtide.search.bound.WayList.Prices;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.TableGroup;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A lower bound of the predicted cost of every plan.
 *
 * <p>A step takes at least the mean over devices of computation and backward collectives, and of
 * forward collectives. RATIONALE.md has the argument:
 *
 * <ul>
 *   <li>Each part has a weight, and a device's computation is at least its weight times a ratio
 *       ({@link ComputeFloor}, proved for the head at hand by {@link HeadHull}).
 *   <li>Collectives are bounded by their loads ({@link CommunicationFloor}), once for each set of
 *       scopes that a plan may use: what a collective takes at any load is paid in full.
 *   <li>For given prices of loads, collectives and memory, each table takes its cheapest way
 *       (Lagrangian duality); {@link StepFloor} combines several prices.
 *   <li>Before all that, and instead of it if no more time is given, the head is taken at its least
 *       factors, whatever devices hold.
 *   <li>All of it is repeated for plans whose step is shorter than a hypothetical time. Ways that
 *       none of them can have are left out, because they cost too much or one of their parts takes
 *       too long alone. Then bounds of the head are closer, and what is left costs more. If the
 *       bound reaches the hypothetical time, no plan is shorter than that.
 * </ul>
 *
 * <p>Three things are taken for granted of collectives, and checked by CommunicationFloorTest with
 * the shipped models: they take longer with more to send, also from one grid point to the next;
 * all-to-alls of uneven loads take at least what {@link CommunicationFloor#allToAll} says; and with
 * any codec, one takes at least the shortest of {@link
 * io.shardtide.cost.StepCollective#candidates}. Of devices it assumes what all plans keep to: no
 * two parts of a table on one device, and equal parts. Slow devices are taken as healthy.
 */
public final class PlanBound {
  /** A bound is multiplied by this, for the single precision of predictions. */
  private static final double SAFETY = 1 - 2e-5;

  /** Rounds of hypothetical times. */
  private static final int ROUNDS = 6;

  /** The first hypothetical time, as a multiple of what an even plan might take. */
  private static final double FIRST_OF_GUESS = 1.1;

  /** Steps are shorter than this; a bound above it would be cut. */
  private static final double MOST_MS = 1e6;

  /** Collectives that take longer are left out when a first time is guessed. */
  private static final double FIRST_COLLECTIVE_MS = 20;

  /** A bound this close to a time that no plan may take is not raised any more. */
  private static final double CLOSE = 0.99;

  /** With more parts, intervals are coarse. */
  private static final int MOST_FINE = 5_000;

  /** How often a part is bounded in a round, about: with coarse intervals, and with fine ones. */
  private static final int COARSE_BOUNDS = 15;

  private static final int FINE_BOUNDS = 30;

  /** Parts that are bounded alone in a round, times all parts. */
  private static final int MOST_ALONE = 16_000;

  /** Ratio of an all-to-all load to the one before, for large loads, and for others. */
  private static final double GRID = 1.05;

  private static final double COARSE_GRID = 1.2;

  /** Each step of the grid is divided into so many, between whose ends lines are straight. */
  private static final int BETWEEN = 5;

  /** Loads are large above this share of the most. */
  private static final double LARGE = 0.125;

  /** Prices of all-to-all load, as multiples of what it takes. */
  private static final double[] LOAD_PRICES = {0, 0.5, 1, 2};

  /** The position of the plain price, in both lists. */
  private static final int PLAIN = 2;

  private static final double PRECISION = 5e-4;
  private static final double LEAST_MS_PER_BYTE = 1e-18;
  private static final double MOST_MS_PER_BYTE = 1e-4;
  private static final int PRICE_STEPS = 50;
  private static final AllToAll[] NO_ALL_TO_ALL = {AllToAll.NONE};

  private final ModelBundle bundle;
  private final ClusterSpec cluster;
  private final CostEvaluator evaluator;
  private final WayList list;
  private final List<double[]> towers;
  private final int[] owners;
  private final CommunicationFloor communication;

  /** Milliseconds of each part on a device without others; computed when they are needed. */
  private double[] aloneMs = {};

  private final double[] loads;

  /** The load after each, with which an all-to-all takes longer. */
  private final double[] loadEnds;

  private final AllToAll[] allToAlls;

  /** Milliseconds of both all-to-alls for each element of the mean load. */
  private final double meanSlope;

  /** The same for each element of the largest load. */
  private final double loadSlope;

  private ComputeFloor compute;
  private int bounds;

  /** The least milliseconds of a device with each part, closer where they are known so. */
  private double[] leastMs = {};

  private boolean[] isClose = {};
  private int closeLeft;

  private PlanBound(SearchProblem problem, CostEvaluator evaluator, WayList list) {
    this.evaluator = evaluator;
    bundle = problem.model().bundle();
    cluster = problem.cluster();
    this.list = list;
    towers = list.towers;
    owners = list.owners();
    communication = new CommunicationFloor(cluster, evaluator);
    double[] some = loads();
    loads = new double[some.length * BETWEEN];
    loadEnds = new double[loads.length];
    allToAlls = new AllToAll[loads.length];
    double most = list.most(ShardScope.DEVICE);
    meanSlope = most > 0 ? communication.meanSlope(most / 2) : 0;
    setAllToAlls(some);
    loadSlope = loadSlope();
  }

  /**
   * Returns a lower bound of the predicted cost of every plan of a problem, in milliseconds.
   *
   * @param work how often a part of a table may be bounded on devices of some kind, about half a
   *     microsecond each; the more, the closer. 0 is as fast as predicting the tables, and some
   *     thousands for each table suffice for all rounds
   */
  public static double of(SearchProblem problem, long work) {
    CostEvaluator evaluator = problem.model().evaluator();
    WayList list = new WayList(TableGroup.of(problem.tables()), problem.cluster(), evaluator);
    boolean isKnown = list.tables() > 0 && list.areAllActive();
    double ms = isKnown ? new PlanBound(problem, evaluator, list).ms(work) * SAFETY : 0;
    return ms + synchronizationMs(problem, evaluator);
  }

  /** Returns what synchronization adds to a step at least: no table has fewer bytes than uncut. */
  private static double synchronizationMs(SearchProblem problem, CostEvaluator evaluator) {
    double bytes = problem.tables().stream().mapToDouble(t -> t.table().bytes()).sum();
    return problem.synchronization().ms(evaluator, bytes / problem.cluster().devices())
        / problem.synchronization().steps();
  }

  /** Returns loads of an all-to-all, ascending, from the fewest elements to the most. */
  private double[] loads() {
    double most = list.most(ShardScope.DEVICE);
    double fewest = list.fewest(ShardScope.DEVICE);
    List<Double> ascending = new ArrayList<>();
    if (most > 0) {
      for (double e = most; e > fewest; e /= e > most * LARGE ? GRID : COARSE_GRID) {
        ascending.add(0, e);
      }
      ascending.add(0, fewest);
    }
    return ascending.stream().mapToDouble(e -> e).toArray();
  }

  /** Sets all-to-alls at these loads, and between them. */
  private void setAllToAlls(double[] some) {
    if (some.length == 0) {
      return;
    }
    AllToAll last = communication.allToAll(some[0], meanSlope);
    for (int i = 0; i < some.length; i++) {
      AllToAll next = i + 1 < some.length ? communication.allToAll(some[i + 1], meanSlope) : last;
      double to = some[Math.min(i + 1, some.length - 1)];
      for (int between = 0; between < BETWEEN; between++) {
        double share = (double) between / BETWEEN;
        loads[i * BETWEEN + between] = some[i] + share * (to - some[i]);
        allToAlls[i * BETWEEN + between] = last.towards(next, share);
      }
      last = next;
    }
    Arrays.setAll(loadEnds, i -> loads[Math.min(i + 1, loads.length - 1)]);
  }

  private double loadSlope() {
    int last = loads.length - 1;
    if (last < 1 || loads[last] <= loads[0]) {
      return 0;
    }
    int half = 0;
    while (half + 1 < last && loads[half] < loads[last] / 2) {
      half++;
    }
    return Math.max(
        0, (allToAlls[last].baseMs() - allToAlls[half].baseMs()) / (loads[last] - loads[half]));
  }

  private double ms(long work) {
    double least = leastOfAnyDevice();
    int ofRound = towers.size() * (towers.size() > MOST_FINE ? COARSE_BOUNDS : FINE_BOUNDS);
    if (!HeadNet.fits(bundle) || ofRound > work) {
      return least;
    }
    aloneMs = towers.stream().mapToDouble(evaluator::computeMs).toArray();
    double[] mean = mean(devices(IntStream.range(0, list.tables()).map(list::first)));
    double highest = FIRST_COLLECTIVE_MS;
    double hypothesis = highest;
    boolean[] ofHighest = list.isActive.clone();
    for (int round = 0; round < ROUNDS && bounds + ofRound <= work; round++) {
      compute = new ComputeFloor(bundle, towers, owners, list.parts(towers.size()));
      Line[] lines = lines(hypothesis);
      compute.weighByFactors(mean);
      double[] chosen = choose(lines);
      mean = mean(chosen);
      if (round == 0) {
        compute.weighByFactors(mean);
        chosen = choose(lines);
        mean = mean(chosen);
        highest = Math.min(MOST_MS, FIRST_OF_GUESS * guessMs(mean));
        hypothesis = highest;
        lines = lines(hypothesis);
      }
      compute.weighByFactors(mean);
      compute.weighByLeastCost(
          chosen,
          towers.size() > MOST_FINE
              ? ComputeCurve.Resolution.COARSE
              : ComputeCurve.Resolution.FINE);
      leastMs = compute.leastMs();
      isClose = new boolean[towers.size()];
      closeLeft = MOST_ALONE / towers.size();
      list.price(compute, lines, meanSlope, cluster.devices());
      boolean[] stays = new boolean[list.ways.length];
      double bound = run(hypothesis, lines, stays);
      list.isActive = stays;
      bounds += compute.bounds();
      boolean isPossible = bound < hypothesis && list.areAllActive();
      least = Math.max(least, isPossible ? bound : hypothesis);
      if (isPossible) {
        highest = hypothesis;
        ofHighest = list.isActive.clone();
      } else {
        list.isActive = ofHighest.clone();
      }
      if (least >= highest * CLOSE) {
        break;
      }
      hypothesis = Math.sqrt(least * highest);
    }
    return least;
  }

  /**
   * Returns a bound with the least that a part adds to any device, and no collective paid in full.
   */
  private double leastOfAnyDevice() {
    compute = ComputeFloor.ofAnyDevice(evaluator.leastFactors(), bundle, towers);
    list.price(compute, lines(MOST_MS), meanSlope, cluster.devices());
    // The largest load is at least the mean one.
    double constant = 0;
    for (int i = 0; i < loads.length; i++) {
      constant = Math.min(constant, allToAlls[i].baseMs() - loadSlope * loadEnds[i]);
    }
    double price = memoryPrice();
    double least = -price * cluster.usableBytes();
    Prices prices = new Prices(loadSlope, PLAIN, price);
    for (int w : list.cheapest(prices)) {
      least += list.price(w, prices);
    }
    return Math.max(0, constant + least);
  }

  /** Returns what a plan takes whose devices all have the same. */
  private double guessMs(double[] mean) {
    int last = loads.length - 1;
    return evaluator.computeMs(mean)
        + (last < 0 ? 0 : allToAlls[last].baseMs() + meanSlope * loads[last]);
  }

  private Line[] lines(double mostMs) {
    return Scopes.ALL.stream()
        .map(scope -> communication.line(scope, list.fewest(scope), list.most(scope), mostMs))
        .toArray(Line[]::new);
  }

  /** Returns the share of devices that has each part, with some ways. */
  private double[] devices(IntStream ways) {
    double[] devices = new double[towers.size()];
    ways.mapToObj(w -> list.ways[w])
        .forEach(
            way -> {
              for (int i = 0; i < way.parts().length; i++) {
                devices[way.parts()[i]] += way.devices()[i] / (double) cluster.devices();
              }
            });
    return devices;
  }

  /** Returns the share of devices that has each part, with the ways that are cheapest. */
  private double[] choose(Line[] lines) {
    list.price(compute, lines, meanSlope, cluster.devices());
    return devices(Arrays.stream(list.cheapest(new Prices(loadSlope, PLAIN, 0))));
  }

  private double[] mean(double[] devices) {
    double[] mean = new double[evaluator.sumSize()];
    for (int p = 0; p < devices.length; p++) {
      double[] tower = towers.get(p);
      for (int k = 0; k < mean.length; k++) {
        mean[k] += tower[k] * devices[p];
      }
    }
    return mean;
  }

  /** Returns the weight of a byte at which tables just fit; 0 if they fit anyway. */
  private double memoryPrice() {
    double memory = (double) cluster.usableBytes();
    if (bytesAt(0) <= memory) {
      return 0;
    }
    double low = LEAST_MS_PER_BYTE;
    double high = MOST_MS_PER_BYTE;
    for (int i = 0; i < PRICE_STEPS; i++) {
      double middle = Math.sqrt(low * high);
      if (bytesAt(middle) > memory) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return high;
  }

  private double bytesAt(double price) {
    double bytes = 0;
    for (int w : list.cheapest(new Prices(loadSlope, PLAIN, price))) {
      bytes += list.ways[w].bytes();
    }
    return bytes;
  }

  /**
   * Returns a bound of plans whose step is shorter than a hypothetical time, that time at most.
   *
   * @param stays receives which ways some of them may have
   */
  private double run(double hypothesis, Line[] lines, boolean[] stays) {
    double memoryPrice = memoryPrice();
    double[] memoryPrices = memoryPrice > 0 ? new double[] {0, memoryPrice} : new double[] {0};
    List<Prices> prices = new ArrayList<>();
    List<double[]> leastPrices = new ArrayList<>();
    for (double load : LOAD_PRICES) {
      for (int other = 0; other < StepFloor.OTHER_PRICES.length; other++) {
        for (double memory : memoryPrices) {
          Prices of = new Prices(load * loadSlope, other, memory);
          prices.add(of);
          leastPrices.add(list.leastPrices(of));
        }
      }
    }
    Line nodeBackward =
        communication.nodes(
            Direction.BACKWARD,
            list.fewest(ShardScope.NODE),
            list.most(ShardScope.NODE),
            hypothesis);
    int scopes = list.scopes();
    double least = hypothesis;
    for (int used = 0; used < Scopes.SETS; used++) {
      double[] sums = new double[prices.size()];
      if ((used & scopes) != used || !sum(sums, leastPrices, used)) {
        continue;
      }
      StepFloor floor = floor(used, lines, nodeBackward);
      for (int c = 0; c < sums.length; c++) {
        Prices of = prices.get(c);
        sums[c] +=
            StepFloor.OTHER_PRICES[of.other()] * floor.constantMs
                - of.memory() * cluster.usableBytes();
        floor.add(sums[c], of.load(), of.other());
      }
      if (floor.limit(hypothesis)) {
        keep(stays, used, hypothesis, floor, prices, sums, leastPrices);
        least = Math.min(least, floor.leastMs(least, PRECISION));
      }
    }
    return least;
  }

  /** Sets the sums of the least prices; returns whether all tables have a way with some scopes. */
  private boolean sum(double[] sums, List<double[]> leastPrices, int used) {
    for (int c = 0; c < sums.length; c++) {
      for (int t = 0; t < list.tables(); t++) {
        sums[c] += least(leastPrices.get(c), t, used);
      }
      if (sums[c] == Double.POSITIVE_INFINITY) {
        return false;
      }
    }
    return true;
  }

  private static double least(double[] leastPrices, int table, int used) {
    // Tables without lookups need no scope.
    double least = leastPrices[table * Scopes.SETS];
    for (int of = used; of > 0; of = (of - 1) & used) {
      least = Math.min(least, leastPrices[table * Scopes.SETS + of]);
    }
    return least;
  }

  private StepFloor floor(int used, Line[] lines, Line nodeBackward) {
    double constant = 0;
    for (ShardScope scope : Scopes.ALL) {
      constant += Scopes.has(used, scope) ? lines[Scopes.number(scope)].ms() : 0;
    }
    constant += Scopes.has(used, ShardScope.COPIES) ? compute.copyLaunchMs() : 0;
    boolean sends = Scopes.has(used, ShardScope.DEVICE);
    Line node = lines[Scopes.number(ShardScope.NODE)];
    boolean isSplit = Scopes.has(used, ShardScope.NODE) && node.msPerElement() > 0;
    return new StepFloor(
        compute,
        sends ? allToAlls : NO_ALL_TO_ALL,
        sends ? loadEnds : new double[1],
        constant,
        isSplit ? nodeBackward.msPerElement() / node.msPerElement() : 0,
        isSplit ? nodeBackward.ms() : 0);
  }

  /** Marks the ways that a plan of some scopes may have whose step is shorter than a time. */
  private void keep(
      boolean[] stays,
      int used,
      double ms,
      StepFloor floor,
      List<Prices> prices,
      double[] sums,
      List<double[]> leastPrices) {
    double mostMs = floor.mostComputeMs(ms);
    List<Integer> which = new ArrayList<>();
    double[] slacks = new double[sums.length];
    for (int c = 0; c < sums.length; c++) {
      Prices of = prices.get(c);
      boolean isHigh =
          of.load() >= loadSlope
              && of.other() > 0
              && (c + 1 == sums.length || prices.get(c + 1).memory() == 0);
      if (isHigh) {
        slacks[c] = floor.slack(ms, sums[c], of.load(), of.other());
        which.add(c);
      }
    }
    for (int t = 0; t < list.tables(); t++) {
      for (int w = list.first(t); w < list.ends[t]; w++) {
        TableWay way = list.ways[w];
        if (!list.isActive[w] || stays[w] || (way.scopes() & used) != way.scopes()) {
          continue;
        }
        boolean isIn = true;
        for (int i = 0; isIn && i < which.size(); i++) {
          int c = which.get(i);
          double above = list.price(w, prices.get(c)) - least(leastPrices.get(c), t, used);
          isIn = !(above > slacks[c]);
        }
        stays[w] = isIn && fits(way, mostMs);
      }
    }
  }

  /** Returns whether each part of a way may be on a device that computes at most so long. */
  private boolean fits(TableWay way, double mostMs) {
    for (int p : way.parts()) {
      if (closeLeft > 0 && leastMs[p] <= mostMs && aloneMs[p] > mostMs && !isClose[p]) {
        closeLeft--;
        isClose[p] = true;
        leastMs[p] = Math.max(leastMs[p], compute.leastMsWith(p));
      }
      if (leastMs[p] > mostMs) {
        return false;
      }
    }
    return true;
  }
}
