package io.shardtide.search.local;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.BufferCollective;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.StepComm;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.CollectiveCodec;
import io.shardtide.domain.CommCodec;
import io.shardtide.domain.Direction;
import io.shardtide.domain.ShardScope;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The collectives of a step, with the codec of each that may have one: all-to-alls of parts on one
 * device, and what split and copied parts add. {@link io.shardtide.cost.StepCost} has the formulas.
 * Costs are looked up by load; what a cost does not depend on is not computed again.
 */
final class Communication {
  /** Codecs are numbered by scope and direction. */
  static final int SLOTS = 2 * StepComm.SCOPES.size();

  private static final List<Direction> DIRECTIONS = List.of(Direction.FORWARD, Direction.BACKWARD);
  private static final int FORWARD = 0;
  private static final int BACKWARD = 1;
  private static final int NODE = 1;
  private static final int CLUSTER = 2;

  private final CostEvaluator evaluator;
  private final ClusterSpec cluster;
  private final Places places;
  private final LoadUnits loadUnits;
  private final DeviceGroup all;
  private final DeviceGroup[] inNode;

  /** The candidates of each slot, without none, which is number 0. */
  private final List<List<CommCodec>> candidates = new ArrayList<>();

  /** What is sent with each number of each slot, and its costs. */
  private final StepComm[][] comm = new StepComm[SLOTS][];

  private final AllToAllCosts[][] allToAll = new AllToAllCosts[SLOTS][];
  private final RememberedCosts[][] rows = new RememberedCosts[SLOTS][];
  private final RememberedCosts copies = new RememberedCosts();

  /** What the collectives of a step cost, by what they depend on. */
  static final class Terms {
    final int[] codecs = new int[SLOTS];
    int maxUnits = -1;
    int totalUnits = -1;
    int level = -1;
    AllToAllCosts.CostRow forward;
    AllToAllCosts.CostRow backward;
    final int[] nodeUnits;
    final double[] nodeForwardMs;
    final double[] nodeBackwardMs;
    double rowElements;
    double copyElements;
    double commonForwardMs;
    double commonBackwardMs;

    Terms(int nodes) {
      nodeUnits = new int[nodes];
      nodeForwardMs = new double[nodes];
      nodeBackwardMs = new double[nodes];
    }
  }

  Communication(CostEvaluator evaluator, ClusterSpec cluster, Places places, LoadUnits loadUnits) {
    this.evaluator = evaluator;
    this.cluster = cluster;
    this.places = places;
    this.loadUnits = loadUnits;
    all = DeviceGroup.of(cluster);
    inNode = new DeviceGroup[places.nodes()];
    for (int node = 0; node < inNode.length; node++) {
      int devices = places.size(places.ofNode(node));
      inNode[node] = new DeviceGroup(devices, devices);
    }
    for (ShardScope scope : StepComm.SCOPES) {
      for (Direction direction : DIRECTIONS) {
        addSlot(scope, direction);
      }
    }
  }

  private void addSlot(ShardScope scope, Direction direction) {
    int slot = slot(scope, direction);
    List<CommCodec> of = StepComm.candidates(cluster, scope, direction);
    candidates.add(of);
    comm[slot] = new StepComm[of.size() + 1];
    allToAll[slot] = new AllToAllCosts[of.size() + 1];
    rows[slot] = new RememberedCosts[of.size() + 1];
    for (int number = 0; number <= of.size(); number++) {
      comm[slot][number] =
          number == 0
              ? StepComm.of(cluster)
              : new StepComm(
                  cluster, List.of(new CollectiveCodec(scope, direction, of.get(number - 1), 0)));
      rows[slot][number] = new RememberedCosts();
      if (scope != ShardScope.CLUSTER) {
        allToAll[slot][number] =
            new AllToAllCosts(
                evaluator,
                comm[slot][number],
                scope,
                direction,
                scope == ShardScope.DEVICE
                    ? loadUnits.elementsPerUnit()
                    : loadUnits.elementsPerNodeUnit(),
                of.size() + 1);
      }
    }
  }

  /** Returns the number of a collective that may have a codec. */
  static int slot(ShardScope scope, Direction direction) {
    return 2 * StepComm.SCOPES.indexOf(scope) + DIRECTIONS.indexOf(direction);
  }

  /** Returns how many codecs a slot may have, none among them. */
  int choices(int slot) {
    return candidates.get(slot).size() + 1;
  }

  /** Returns whether any collective may have a codec. */
  boolean hasChoices() {
    return candidates.stream().anyMatch(of -> !of.isEmpty());
  }

  /** Returns the number of each slot's codec. */
  int[] numbers(List<CollectiveCodec> codecs) {
    int[] numbers = new int[SLOTS];
    for (CollectiveCodec of : codecs) {
      int slot = slot(of.scope(), of.direction());
      numbers[slot] = 1 + candidates.get(slot).indexOf(of.codec());
    }
    return numbers;
  }

  Terms newTerms() {
    return new Terms(places.nodes());
  }

  /**
   * Computes the terms of a step.
   *
   * @param terms receives them; those of a loads that it has already are kept
   * @param maxUnits largest all-to-all load of any device
   * @param totalUnits that of all devices together
   * @param level level of the node with the largest load
   * @param nodeUnits loads of parts that are split over nodes
   * @param rowElements numbers of parts that are split over all devices
   * @param copyElements numbers of copies
   * @param codecs the number of each slot's codec
   */
  void compute(
      Terms terms,
      int maxUnits,
      int totalUnits,
      int level,
      int[] nodeUnits,
      double rowElements,
      double copyElements,
      int[] codecs) {
    boolean sameLoad =
        terms.maxUnits == maxUnits && terms.totalUnits == totalUnits && terms.level == level;
    if (!sameLoad || terms.codecs[FORWARD] != codecs[FORWARD]) {
      terms.forward = allToAll[FORWARD][codecs[FORWARD]].row(maxUnits, totalUnits, level);
    }
    if (!sameLoad || terms.codecs[BACKWARD] != codecs[BACKWARD]) {
      terms.backward = allToAll[BACKWARD][codecs[BACKWARD]].row(maxUnits, totalUnits, level);
    }
    terms.maxUnits = maxUnits;
    terms.totalUnits = totalUnits;
    terms.level = level;
    boolean sameNodes =
        terms.codecs[2 * NODE + FORWARD] == codecs[2 * NODE + FORWARD]
            && terms.codecs[2 * NODE + BACKWARD] == codecs[2 * NODE + BACKWARD]
            && Arrays.equals(terms.nodeUnits, nodeUnits);
    if (!sameNodes) {
      computeNodes(terms, nodeUnits, codecs);
    }
    boolean sameCommon =
        terms.rowElements == rowElements
            && terms.copyElements == copyElements
            && terms.codecs[2 * CLUSTER + FORWARD] == codecs[2 * CLUSTER + FORWARD]
            && terms.codecs[2 * CLUSTER + BACKWARD] == codecs[2 * CLUSTER + BACKWARD];
    if (!sameCommon) {
      terms.rowElements = rowElements;
      terms.copyElements = copyElements;
      terms.commonForwardMs = rowsMs(CLUSTER, FORWARD, codecs, rowElements, all);
      terms.commonBackwardMs =
          rowsMs(CLUSTER, BACKWARD, codecs, rowElements, all) + copiesMs(copyElements);
    }
    System.arraycopy(codecs, 0, terms.codecs, 0, SLOTS);
  }

  private void computeNodes(Terms terms, int[] nodeUnits, int[] codecs) {
    int max = 0;
    int total = 0;
    for (int node = 0; node < nodeUnits.length; node++) {
      terms.nodeUnits[node] = nodeUnits[node];
      max = Math.max(max, nodeUnits[node]);
      total += nodeUnits[node];
    }
    int level = AllToAllLoad.level(max, (double) total / nodeUnits.length);
    AllToAllCosts.CostRow forward = between(FORWARD, codecs).row(max, total, level);
    AllToAllCosts.CostRow backward = between(BACKWARD, codecs).row(max, total, level);
    for (int node = 0; node < nodeUnits.length; node++) {
      double elements = nodeUnits[node] * loadUnits.elementsPerNodeUnit();
      DeviceGroup group = inNode[node];
      terms.nodeForwardMs[node] =
          rowsMs(NODE, FORWARD, codecs, elements, group) + forward.ms(nodeUnits[node]);
      terms.nodeBackwardMs[node] =
          rowsMs(NODE, BACKWARD, codecs, elements, group) + backward.ms(nodeUnits[node]);
    }
  }

  private AllToAllCosts between(int direction, int[] codecs) {
    return allToAll[2 * NODE + direction][codecs[2 * NODE + direction]];
  }

  private double rowsMs(
      int scope, int direction, int[] codecs, double elements, DeviceGroup group) {
    int slot = 2 * scope + direction;
    int number = codecs[slot];
    RememberedCosts known = rows[slot][number];
    double ms = known.get(elements, group.devices());
    if (Double.isNaN(ms)) {
      ms =
          comm[slot][number].rowsMs(
              evaluator, StepComm.SCOPES.get(scope), DIRECTIONS.get(direction), group, elements);
      known.put(elements, group.devices(), ms);
    }
    return ms;
  }

  private double copiesMs(double elements) {
    double ms = copies.get(elements, 0);
    if (Double.isNaN(ms)) {
      ms = evaluator.bufferMs(BufferCollective.ofCopies(elements), all);
      copies.put(elements, 0, ms);
    }
    return ms;
  }

  /** Returns the all-to-all over all devices in a direction without a codec. */
  AllToAllCosts allToAll(Direction direction) {
    return allToAll[DIRECTIONS.indexOf(direction)][0];
  }

  /** Returns the all-to-all between nodes in a direction without a codec. */
  AllToAllCosts betweenNodes(Direction direction) {
    return allToAll[2 * NODE + DIRECTIONS.indexOf(direction)][0];
  }
}
