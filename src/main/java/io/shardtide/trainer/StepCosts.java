package io.shardtide.trainer;

import io.shardtide.domain.MeasuredDevice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
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
   * @param packMs sender's copies of the forward all-to-all
   * @param unpackMs receiver's copies of the forward all-to-all
   * @param packBackMs sender's copies of the backward all-to-all
   * @param unpackBackMs receiver's copies of the backward all-to-all
   */
  public record DeviceStepCosts(
      double computeMs, double packMs, double unpackMs, double packBackMs, double unpackBackMs) {}

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
   * Returns the costs that a trainer reports. Devices receive only after the last one has sent: an
   * all-to-all takes the longest sending of all devices plus a device's own receiving. The forward
   * all-to-all also includes the time until the last device starts it, after its computation and
   * its backward all-to-all.
   */
  public List<MeasuredDevice> measured() {
    double pack = devices.stream().mapToDouble(DeviceStepCosts::packMs).max().orElse(0);
    double packBack = devices.stream().mapToDouble(DeviceStepCosts::packBackMs).max().orElse(0);
    boolean single = devices.size() == 1;
    double[] starts =
        devices.stream().mapToDouble(d -> d.computeMs() + packBack + d.unpackBackMs()).toArray();
    double last = Arrays.stream(starts).max().orElse(0);
    List<MeasuredDevice> measured = new ArrayList<>();
    for (int d = 0; d < starts.length; d++) {
      DeviceStepCosts device = devices.get(d);
      measured.add(
          single
              ? new MeasuredDevice(device.computeMs(), 0, 0)
              : new MeasuredDevice(
                  device.computeMs(),
                  last - starts[d] + pack + device.unpackMs(),
                  packBack + device.unpackBackMs()));
    }
    return measured;
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
