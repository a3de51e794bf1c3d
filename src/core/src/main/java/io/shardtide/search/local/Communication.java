package io.shardtide.search.local;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.StepCollective;
import io.shardtide.cost.StepCollectives;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.CollectiveCodec;
import io.shardtide.domain.Direction;
import io.shardtide.domain.ShardScope;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * The collectives of a step, each with the candidate that a plan has chosen. Costs are looked up by
 * load; what a cost does not depend on is not computed again.
 */
final class Communication {
  /** Numbers of collectives; the backward one follows. */
  private static final int OF_DEVICES =
      StepCollectives.number(ShardScope.DEVICE, Direction.FORWARD);

  private static final int OF_NODES = StepCollectives.number(ShardScope.NODE, Direction.FORWARD);
  private static final int OF_ALL = StepCollectives.number(ShardScope.CLUSTER, Direction.FORWARD);
  private static final int OF_COPIES = StepCollectives.number(ShardScope.COPIES, Direction.FORWARD);

  private static final int DIRECTIONS = 2;

  private final CostEvaluator evaluator;
  private final LoadUnits loadUnits;
  private final int nodes;

  /** The candidates of each collective, {@link StepCollectives#number}; the first has no codec. */
  private final CachedCollective[][] candidates = new CachedCollective[StepCollectives.COUNT][];

  /** What the cost of collectives depends on. */
  static final class Loads {
    /** The candidate of each collective. */
    final int[] chosen = new int[StepCollectives.COUNT];

    /** Largest all-to-all load of any device, and that of all together. */
    int maxUnits = -1;

    int totalUnits = -1;

    /** Level of the node with the largest load. */
    int level = -1;

    /** Loads of parts that are split over nodes. */
    final int[] nodeUnits;

    /** Numbers of parts that are split over all devices. */
    double rowElements;

    double copyElements;

    private Loads(int nodes) {
      nodeUnits = new int[nodes];
    }

    private void set(Loads other) {
      System.arraycopy(other.chosen, 0, chosen, 0, chosen.length);
      System.arraycopy(other.nodeUnits, 0, nodeUnits, 0, nodeUnits.length);
      maxUnits = other.maxUnits;
      totalUnits = other.totalUnits;
      level = other.level;
      rowElements = other.rowElements;
      copyElements = other.copyElements;
    }
  }

  /** What collectives cost. */
  static final class Terms {
    private final Loads loads;

    /** By direction: the all-to-all of devices, and all else of each node's devices. */
    final AllToAllCosts.CostRow[] ofDevices = new AllToAllCosts.CostRow[DIRECTIONS];

    final double[][] othersMs;
    private final double[][] ofNodesMs;
    private final double[] ofAllMs = new double[DIRECTIONS];

    private Terms(int nodes) {
      loads = new Loads(nodes);
      ofNodesMs = new double[DIRECTIONS][nodes];
      othersMs = new double[DIRECTIONS][nodes];
    }

    /** Returns the largest all-to-all load of any device. */
    int maxUnits() {
      return loads.maxUnits;
    }

    /** Returns whether the all-to-alls of devices have such loads. */
    boolean has(int maxUnits, int totalUnits, int level) {
      return loads.maxUnits == maxUnits && loads.totalUnits == totalUnits && loads.level == level;
    }

    int level() {
      return loads.level;
    }
  }

  /** A collective with its costs. */
  private final class CachedCollective {
    final StepCollective of;
    final AllToAllCosts allToAll;
    private final RememberedCosts buffers = new RememberedCosts();

    CachedCollective(StepCollective of, double elementsPerUnit, int choices) {
      this.of = of;
      allToAll = new AllToAllCosts(evaluator, of, elementsPerUnit, choices);
    }

    double bufferMs(int member, double elements) {
      DeviceGroup group = of.group(member);
      double ms = buffers.get(elements, group.devices());
      if (Double.isNaN(ms)) {
        ms = of.bufferMs(evaluator, group, elements);
        buffers.put(elements, group.devices(), ms);
      }
      return ms;
    }
  }

  Communication(CostEvaluator evaluator, ClusterSpec cluster, LoadUnits loadUnits) {
    this.evaluator = evaluator;
    this.loadUnits = loadUnits;
    nodes = cluster.nodes();
    List<List<StepCollective>> all = StepCollectives.candidates(cluster);
    for (int c = 0; c < candidates.length; c++) {
      List<StepCollective> of = all.get(c);
      double elementsPerUnit =
          c < OF_NODES ? loadUnits.elementsPerUnit() : loadUnits.elementsPerNodeUnit();
      candidates[c] =
          of.stream()
              .map(candidate -> new CachedCollective(candidate, elementsPerUnit, of.size()))
              .toArray(CachedCollective[]::new);
    }
  }

  /** Returns how many candidates a collective has. */
  int choices(int collective) {
    return candidates[collective].length;
  }

  /** Returns whether any collective may have a codec. */
  boolean hasChoices() {
    return Arrays.stream(candidates).anyMatch(of -> of.length > 1);
  }

  /** Returns the candidate of each collective. */
  int[] chosen(List<CollectiveCodec> codecs) {
    int[] chosen = new int[candidates.length];
    for (CollectiveCodec of : codecs) {
      int collective = StepCollectives.number(of.scope(), of.direction());
      while (!candidates[collective][chosen[collective]]
          .of
          .codec()
          .equals(Optional.of(of.codec()))) {
        chosen[collective]++;
      }
    }
    return chosen;
  }

  Loads newLoads() {
    return new Loads(nodes);
  }

  Terms newTerms() {
    return new Terms(nodes);
  }

  /**
   * Computes the terms of a step.
   *
   * @param terms receives them; those of loads that it has already are kept
   */
  void compute(Terms terms, Loads loads) {
    boolean sameDevices = terms.has(loads.maxUnits, loads.totalUnits, loads.level);
    boolean sameNodes = Arrays.equals(terms.loads.nodeUnits, loads.nodeUnits);
    boolean sameAll =
        terms.loads.rowElements == loads.rowElements
            && terms.loads.copyElements == loads.copyElements;
    for (int d = 0; d < DIRECTIONS; d++) {
      if (!sameDevices || !isSame(terms, loads, OF_DEVICES + d)) {
        terms.ofDevices[d] =
            chosen(loads, OF_DEVICES + d)
                .allToAll
                .row(loads.maxUnits, loads.totalUnits, loads.level);
      }
      boolean areOthersSame = true;
      if (!sameNodes || !isSame(terms, loads, OF_NODES + d)) {
        computeNodes(terms.ofNodesMs[d], loads, chosen(loads, OF_NODES + d));
        areOthersSame = false;
      }
      if (!sameAll || !isSame(terms, loads, OF_ALL + d)) {
        terms.ofAllMs[d] =
            chosen(loads, OF_ALL + d).bufferMs(0, loads.rowElements)
                + chosen(loads, OF_COPIES + d).bufferMs(0, loads.copyElements);
        areOthersSame = false;
      }
      for (int node = 0; node < nodes && !areOthersSame; node++) {
        terms.othersMs[d][node] = terms.ofNodesMs[d][node] + terms.ofAllMs[d];
      }
    }
    terms.loads.set(loads);
  }

  private static boolean isSame(Terms terms, Loads loads, int collective) {
    return terms.loads.chosen[collective] == loads.chosen[collective];
  }

  private CachedCollective chosen(Loads loads, int collective) {
    return candidates[collective][loads.chosen[collective]];
  }

  private void computeNodes(double[] ms, Loads loads, CachedCollective chosen) {
    int max = 0;
    int total = 0;
    for (int units : loads.nodeUnits) {
      max = Math.max(max, units);
      total += units;
    }
    int level = AllToAllLoad.level(max, (double) total / nodes);
    AllToAllCosts.CostRow between = chosen.allToAll.row(max, total, level);
    for (int node = 0; node < nodes; node++) {
      double elements = loads.nodeUnits[node] * loadUnits.elementsPerNodeUnit();
      ms[node] = chosen.bufferMs(node, elements) + between.ms(loads.nodeUnits[node]);
    }
  }

  /**
   * Returns the all-to-alls of a scope without codecs, forward and backward, in milliseconds.
   *
   * @param units load of each member
   * @param totalUnits load of all members together
   */
  double evenAllToAllsMs(ShardScope scope, int units, int totalUnits) {
    int forward = StepCollectives.number(scope, Direction.FORWARD);
    return candidates[forward][0].allToAll.evenMs(units, totalUnits)
        + candidates[forward + 1][0].allToAll.evenMs(units, totalUnits);
  }
}
