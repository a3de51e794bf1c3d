package io.shardtide.trainer;

import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import io.shardtide.domain.MeasuredCollective;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.ShardScope;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;

/**
 * Costs of a training step, as if each device had its own core.
 *
 * @param devices costs by device number
 */
public record StepCosts(List<DeviceStepCosts> devices) {
  /** Copies mutable components. */
  public StepCosts {
    devices = List.copyOf(devices);
  }

  /**
   * Costs of one device, in milliseconds of its thread's processor time.
   *
   * @param computeMs pooling and update
   * @param poolMs pooling only
   * @param packMs sender's copies of the forward all-to-all
   * @param unpackMs receiver's copies of the forward all-to-all
   * @param packBackMs sender's copies of the backward all-to-all
   * @param unpackBackMs receiver's copies of the backward all-to-all
   */
  public record DeviceStepCosts(
      double computeMs,
      double poolMs,
      double packMs,
      double unpackMs,
      double packBackMs,
      double unpackBackMs) {

    /** Returns the forward part of the computation; none on a device without shards. */
    private OptionalDouble forwardComputeMs() {
      return poolMs > 0 && poolMs < computeMs ? OptionalDouble.of(poolMs) : OptionalDouble.empty();
    }
  }

  /**
   * Returns the lower quartile of each cost over several steps. On a shared machine (another
   * hyper-thread of the core, another guest of the host) the slower steps measure other processes:
   * on the machine of the shipped model, the same plan took 0.5 or 0.9 ms, in phases of a tenth of
   * a second to a second.
   */
  static StepCosts lowerQuartiles(List<StepCosts> steps) {
    List<DeviceStepCosts> devices = new ArrayList<>();
    for (int d = 0; d < steps.get(0).devices().size(); d++) {
      int device = d;
      devices.add(
          new DeviceStepCosts(
              quartile(steps, s -> s.devices().get(device).computeMs()),
              quartile(steps, s -> s.devices().get(device).poolMs()),
              quartile(steps, s -> s.devices().get(device).packMs()),
              quartile(steps, s -> s.devices().get(device).unpackMs()),
              quartile(steps, s -> s.devices().get(device).packBackMs()),
              quartile(steps, s -> s.devices().get(device).unpackBackMs())));
    }
    return new StepCosts(devices);
  }

  private static double quartile(List<StepCosts> steps, ToDoubleFunction<StepCosts> cost) {
    return steps.stream().mapToDouble(cost).sorted().toArray()[(steps.size() - 1) / 4];
  }

  /**
   * Returns the costs of the forward all-to-all in milliseconds, by device, if all begin together.
   * Devices receive only after the last one has sent: it takes the longest sending of all devices
   * plus a device's own receiving.
   */
  public double[] forwardAllToAllMs() {
    double pack = devices.stream().mapToDouble(DeviceStepCosts::packMs).max().orElse(0);
    return devices.stream().mapToDouble(d -> pack + d.unpackMs()).toArray();
  }

  /** Returns the costs of the backward all-to-all like {@link #forwardAllToAllMs}. */
  public double[] backwardAllToAllMs() {
    double pack = devices.stream().mapToDouble(DeviceStepCosts::packBackMs).max().orElse(0);
    return devices.stream().mapToDouble(d -> pack + d.unpackBackMs()).toArray();
  }

  /**
   * Returns the costs that a trainer reports. The forward all-to-all includes the time until the
   * last device starts it, after its computation and its backward all-to-all.
   */
  public List<MeasuredDevice> measured() {
    double[] forward = forwardAllToAllMs();
    double[] backward = backwardAllToAllMs();
    double last = 0;
    for (int d = 0; d < backward.length; d++) {
      last = Math.max(last, devices.get(d).computeMs() + backward[d]);
    }
    List<MeasuredDevice> measured = new ArrayList<>();
    for (int d = 0; d < backward.length; d++) {
      double compute = devices.get(d).computeMs();
      measured.add(
          backward.length == 1
              ? new MeasuredDevice(compute, 0, 0, devices.get(d).forwardComputeMs())
              : new MeasuredDevice(
                  compute,
                  last - (compute + backward[d]) + forward[d],
                  backward[d],
                  devices.get(d).forwardComputeMs()));
    }
    return measured;
  }

  /** Returns the all-to-alls that a trainer reports; none of one device. */
  public List<MeasuredCollective> collectives() {
    return devices.size() == 1
        ? List.of()
        : List.of(
            allToAll(Direction.FORWARD, forwardAllToAllMs()),
            allToAll(Direction.BACKWARD, backwardAllToAllMs()));
  }

  private static MeasuredCollective allToAll(Direction direction, double[] ms) {
    return new MeasuredCollective(
        ShardScope.DEVICE, Collective.ALL_TO_ALL, direction, Arrays.stream(ms).boxed().toList());
  }

  /**
   * Returns the cost of a step in milliseconds, as a plan computes it: computation and both
   * all-to-alls of the slowest device.
   */
  public double stepMs() {
    return measured().stream()
        .mapToDouble(d -> d.computeMs() + d.backwardCommMs() + d.forwardCommMs())
        .max()
        .orElse(0);
  }
}
