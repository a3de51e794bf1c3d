package io.shardtide.plan;

import io.shardtide.workload.Names;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.time.Instant;
import java.util.List;

/**
 * The slow devices of a workload, estimated from measured costs. Replaces the speeds before it.
 *
 * @param workloadId the workload
 * @param planId the plan that ran in the measurement that changed the speeds
 * @param measuredAt when that measurement was made; informative
 * @param slow the slow devices, in {@link DeviceSpeed#ORDER}, each at most once a part; empty if
 *     all are well
 */
public record DeviceSpeeds(
    String workloadId, String planId, Instant measuredAt, List<DeviceSpeed> slow) {
  /**
   * Sorts the devices.
   *
   * @throws RejectedException if the workload id is invalid, or a device is there twice
   */
  public DeviceSpeeds {
    Names.check(workloadId, "workload id", RejectionReason.INVALID_WORKLOAD_ID);
    slow = slow.stream().sorted(DeviceSpeed.ORDER).toList();
    for (int i = 1; i < slow.size(); i++) {
      if (DeviceSpeed.ORDER.compare(slow.get(i - 1), slow.get(i)) == 0) {
        throw RejectionReason.INVALID_SPEEDS.failure(
            "device %s must have one speed of %s, got several"
                .formatted(slow.get(i).device(), slow.get(i).part()));
      }
    }
  }

  /**
   * Checks the speeds against the cluster of the workload.
   *
   * @param devices number of devices of the cluster
   * @throws RejectedException if a slow device is none of them
   */
  public void check(int devices) {
    for (DeviceSpeed speed : slow) {
      if (speed.device() >= devices) {
        throw RejectionReason.INVALID_SPEEDS.failure(
            "slow device of workload \"%s\" must be one of its %s devices, from 0, got %s"
                .formatted(workloadId, devices, speed.device()));
      }
    }
  }
}
