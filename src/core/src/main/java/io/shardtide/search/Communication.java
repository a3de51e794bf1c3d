package io.shardtide.search;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.StepCollective;
import io.shardtide.cost.StepCollectives;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import java.util.Arrays;
import java.util.List;

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

  private final CostEvaluator evaluator;
  private final LoadUnits loadUnits;
  private final int nodes;

  /** The candidates of each collective, {@link StepCollectives#number}; the first has no codec. */
  private final Candidate[][] candidates = new Candidate[StepCollectives.COUNT][];

  /** What the cost of collectives depends on. */
  static final class Loads {
    /** The candidate of each collective. */
    final int[] chosen = new int[StepCollectives.COUNT];

    /** Largest all-to-all load of any device, and that of all together. */
    int maxUnits = -1;

    int totalUnits;

    /** Level of the node with the largest load. */
    int level = -1;

    /** Loads of parts that are split over nodes. */
    final int[] nodeUnits;

    /** Numbers of parts that are split over all devices. */
    double rowElements;

    double copyElements;

    Loads(int nodes) {
      nodeUnits = new int[nodes];
    }

    /** Returns whether devices have such all-to-all loads. */
    boolean hasUnits(int max, int total, int ofLevel) {
      return maxUnits == max && totalUnits == total && level == ofLevel;
    }

    /** Adds a part at a place, or takes it away; returns whether it is split or copied. */
    boolean add(Way way, Places places, int place, int sign) {
      totalUnits += sign * way.units * places.size(place);
      if (!way.isSplit) {
        return false;
      }
      if (way.nodeUnits != 0) {
        nodeUnits[places.node(place)] += sign * way.nodeUnits;
      }
      rowElements += sign * way.rowElements;
      copyElements += sign * way.copyElements;
      return true;
    }

    /** Takes all parts away. */
    void clear() {
      Arrays.fill(nodeUnits, 0);
      totalUnits = 0;
      rowElements = 0;
      copyElements = 0;
    }

    /** Adds the parts of others. */
    void add(Loads others) {
      for (int node = 0; node < nodeUnits.length; node++) {
        nodeUnits[node] += others.nodeUnits[node];
      }
      totalUnits += others.totalUnits;
      rowElements += others.rowElements;
      copyElements += others.copyElements;
    }

    void set(Loads other) {
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
    final Loads loads;

    final Half forward;
    final Half backward;

    private Terms(int nodes) {
      loads = new Loads(nodes);
      forward = new Half(nodes);
      backward = new Half(nodes);
    }
  }

  /** What the collectives of a direction cost. */
  static final class Half {
    AllToAllCosts.CostRow ofDevices;
    private final double[] ofNodesMs;
    private double ofAllMs;

    /** All but the all-to-all of devices, on each node's devices. */
    final double[] othersMs;

    private Half(int nodes) {
      ofNodesMs = new double[nodes];
      othersMs = new double[nodes];
    }

    /** Returns the collectives of a device with an all-to-all load, in milliseconds. */
    double ms(int node, int units) {
      return ofDevices.ms(units) + othersMs[node];
    }
  }

  /** A collective with its costs. */
  private final class Candidate {
    final StepCollective of;
    final AllToAllCosts allToAll;
    private final RememberedCosts buffers = new RememberedCosts();

    Candidate(StepCollective of, double elementsPerUnit, int choices) {
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
              .map(candidate -> new Candidate(candidate, elementsPerUnit, of.size()))
              .toArray(Candidate[]::new);
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
  int[] chosen(StepCollectives collectives) {
    List<StepCollective> all = collectives.all();
    int[] chosen = new int[candidates.length];
    for (int c = 0; c < chosen.length; c++) {
      while (!candidates[c][chosen[c]].of.sendsAs(all.get(c))) {
        chosen[c]++;
      }
    }
    return chosen;
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
    compute(terms.forward, terms.loads, loads, 0);
    compute(terms.backward, terms.loads, loads, 1);
    terms.loads.set(loads);
  }

  private void compute(Half half, Loads before, Loads loads, int direction) {
    int ofDevices = OF_DEVICES + direction;
    int ofNodes = OF_NODES + direction;
    int ofAll = OF_ALL + direction;
    if (!before.hasUnits(loads.maxUnits, loads.totalUnits, loads.level)
        || before.chosen[ofDevices] != loads.chosen[ofDevices]) {
      half.ofDevices =
          chosen(loads, ofDevices).allToAll.row(loads.maxUnits, loads.totalUnits, loads.level);
    }
    boolean sameNodes =
        before.chosen[ofNodes] == loads.chosen[ofNodes]
            && Arrays.equals(before.nodeUnits, loads.nodeUnits);
    if (!sameNodes) {
      computeNodes(half.ofNodesMs, loads, chosen(loads, ofNodes));
    }
    boolean sameAll =
        before.chosen[ofAll] == loads.chosen[ofAll]
            && before.rowElements == loads.rowElements
            && before.copyElements == loads.copyElements;
    if (!sameAll) {
      half.ofAllMs =
          chosen(loads, ofAll).bufferMs(0, loads.rowElements)
              + chosen(loads, OF_COPIES + direction).bufferMs(0, loads.copyElements);
    }
    if (!sameNodes || !sameAll) {
      for (int node = 0; node < nodes; node++) {
        half.othersMs[node] = half.ofNodesMs[node] + half.ofAllMs;
      }
    }
  }

  private Candidate chosen(Loads loads, int collective) {
    return candidates[collective][loads.chosen[collective]];
  }

  private void computeNodes(double[] ms, Loads loads, Candidate chosen) {
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
