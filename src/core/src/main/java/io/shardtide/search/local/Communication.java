package io.shardtide.search.local;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.Slowdowns;
import io.shardtide.search.local.AllToAllCosts.CostRow;

/**
 * The communication of the devices of an assignment, in milliseconds: all-to-alls of parts on one
 * device, and what split and copied parts add.
 */
final class Communication {
  private final Assignment assignment;
  private final AllToAllCosts allToAll;
  private final SplitCosts split;
  private final Slowdowns slowdowns;
  private final NodeLoads nodes;

  /**
   * @param assignment the assignment
   * @param allToAll costs of all-to-alls
   * @param split costs of parts that are not on one device
   * @param slowdowns how slow the devices are
   */
  Communication(
      Assignment assignment, AllToAllCosts allToAll, SplitCosts split, Slowdowns slowdowns) {
    this.assignment = assignment;
    this.allToAll = allToAll;
    this.split = split;
    this.slowdowns = slowdowns;
    nodes = new NodeLoads(allToAll.group());
  }

  /** Returns a calculator of the same costs. */
  Communication copy() {
    return new Communication(assignment, allToAll, split.copy(), slowdowns);
  }

  /** Follows a change of any parts. */
  void refresh() {
    split.refresh(assignment);
    refreshNodes();
  }

  /** Follows a change of parts on single devices. */
  void refreshNodes() {
    nodes.refresh(assignment);
  }

  /** Returns the level of the node with the largest all-to-all load. */
  int nodeLevel() {
    return nodes.level();
  }

  /** Returns the same after a local move. */
  int nodeLevelAfter(SearchMove move) {
    return nodes.levelAfter(
        move.first, move.allToAllUnits(move.first), move.second, move.allToAllUnits(move.second));
  }

  /**
   * Returns the backward all-to-all by the load of a device.
   *
   * @param maxUnits largest load of any device
   * @param nodeLevel level of the node with the largest load
   */
  CostRow backward(int maxUnits, int nodeLevel) {
    return allToAll.backward(maxUnits, assignment.totalUnits(), nodeLevel);
  }

  /** Returns the forward all-to-all by the load of a device; see {@link #backward}. */
  CostRow forward(int maxUnits, int nodeLevel) {
    return allToAll.forward(maxUnits, assignment.totalUnits(), nodeLevel);
  }

  /**
   * Returns the backward communication of a device in milliseconds.
   *
   * @param row its all-to-all by load
   * @param units its load
   */
  double backwardMs(CostRow row, int device, int units) {
    return slowdowns.communicationMs(device, row.ms(units) + split.backwardMs(device));
  }

  /** Returns the forward communication of a device; see {@link #backwardMs}. */
  double forwardMs(CostRow row, int device, int units) {
    return slowdowns.communicationMs(device, row.ms(units) + split.forwardMs(device));
  }

  /** Returns how much a unit adds to both all-to-alls, if all tables are on single devices. */
  double msPerUnit() {
    int mean = Math.max(1, assignment.costs().totalUnits() / assignment.devices());
    return (evenMs(mean) - evenMs(1)) / mean;
  }

  private double evenMs(int units) {
    int total = assignment.costs().totalUnits();
    return allToAll.forwardMs(units, units, total, AllToAllLoad.LEVELS)
        + allToAll.backwardMs(units, units, total, AllToAllLoad.LEVELS);
  }
}
