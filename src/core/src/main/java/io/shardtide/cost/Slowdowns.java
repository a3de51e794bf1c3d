package io.shardtide.cost;

import io.shardtide.plan.CostPart;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.StepTimes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * How many times as long the devices of a replica group take as healthy ones. All arithmetic with
 * speeds is here; a factor of 1 changes no bit of a cost.
 */
public final class Slowdowns {
  private final double[] computation;
  private final double[] communication;
  private final boolean areNone;

  private Slowdowns(double[] computation, double[] communication, boolean areNone) {
    this.computation = computation;
    this.communication = communication;
    this.areNone = areNone;
  }

  /** Returns the slowdowns of devices that are all well. */
  public static Slowdowns none(int devices) {
    return of(List.of(), new PlanShards(List.of(), devices));
  }

  /**
   * Returns the slowdowns of a group's devices. All groups are alike, so that a device's slowdown
   * is the largest one of the ranks with its position.
   *
   * @param slow the slow devices by rank; ranks that there are not are left out
   * @param placed the plan whose positions they are of
   */
  public static Slowdowns of(List<DeviceSpeed> slow, PlanShards placed) {
    double[] computation = new double[placed.devices()];
    double[] communication = new double[placed.devices()];
    Arrays.fill(computation, 1);
    Arrays.fill(communication, 1);
    boolean areNone = true;
    for (DeviceSpeed speed : slow) {
      if (speed.device() < placed.ranks()) {
        double[] factors = speed.part() == CostPart.COMPUTATION ? computation : communication;
        int device = placed.position(speed.device());
        factors[device] = Math.max(factors[device], speed.slowdown());
        areNone = false;
      }
    }
    return new Slowdowns(computation, communication, areNone);
  }

  /** Returns by how much a device's part of the cost is multiplied. */
  public double factor(int device, CostPart part) {
    return part == CostPart.COMPUTATION ? computation[device] : communication[device];
  }

  /**
   * Returns the computation of a device in milliseconds.
   *
   * @param healthyMs the same of a healthy device
   */
  public double computeMs(int device, double healthyMs) {
    return computation[device] * healthyMs;
  }

  /** Returns the communication of a device in milliseconds; see {@link #computeMs}. */
  public double communicationMs(int device, double healthyMs) {
    return communication[device] * healthyMs;
  }

  /** Returns the communication of all devices. */
  public CommunicationCost communication(CommunicationCost healthy) {
    double[] forwardMs = healthy.forwardMs().clone();
    double[] backwardMs = healthy.backwardMs().clone();
    for (int d = 0; d < forwardMs.length; d++) {
      forwardMs[d] = communicationMs(d, forwardMs[d]);
      backwardMs[d] = communicationMs(d, backwardMs[d]);
    }
    return new CommunicationCost(forwardMs, backwardMs);
  }

  /**
   * Returns what devices would cost if all were well.
   *
   * @param costs predicted with these slowdowns, idle time included
   */
  public List<DeviceCost> healthy(List<DeviceCost> costs) {
    if (areNone) {
      return costs;
    }
    double lastStartMs = StepTimes.lastStartMs(costs);
    double[] computeMs = new double[costs.size()];
    double[] forwardMs = new double[costs.size()];
    double[] backwardMs = new double[costs.size()];
    for (int d = 0; d < computeMs.length; d++) {
      DeviceCost cost = costs.get(d);
      computeMs[d] = cost.computeMs() / computation[d];
      forwardMs[d] = cost.transferMs(lastStartMs) / communication[d];
      backwardMs[d] = cost.backwardCommMs() / communication[d];
    }
    StepCost healthy = StepCost.of(computeMs, new CommunicationCost(forwardMs, backwardMs));
    List<DeviceCost> all = new ArrayList<>();
    for (int d = 0; d < computeMs.length; d++) {
      all.add(costs.get(d).withMs(computeMs[d], healthy.forwardCommMs()[d], backwardMs[d]));
    }
    return all;
  }
}
