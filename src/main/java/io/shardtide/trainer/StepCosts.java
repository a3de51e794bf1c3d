package io.shardtide.trainer;

import io.shardtide.domain.MeasuredDevice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * What training steps cost, as of devices that each have a core of their own.
 *
 * @param devices one per device
 */
public record StepCosts(List<OfDevice> devices) {
  /** Copies what may change. */
  public StepCosts {
    devices = List.copyOf(devices);
  }

  /**
   * What a device did itself, in milliseconds of its thread.
   *
   * @param computeMs pooling and update
   * @param packMs what it gave to the forward exchange
   * @param unpackMs what it fetched from it
   * @param packBackMs what it gave to the backward exchange
   * @param unpackBackMs what it fetched from it
   */
  public record OfDevice(
      double computeMs, double packMs, double unpackMs, double packBackMs, double unpackBackMs) {}

  /**
   * Returns the lower quartile of each cost over several steps: what a step costs that nobody
   * disturbs. On a machine that is shared (another hyper-thread of the core, another guest of the
   * host) the slower half measures the neighbours: on the machine of the shipped model the same
   * plan took 0.5 or 0.9 ms, in phases of a tenth of a second to a second.
   */
  static StepCosts undisturbed(List<StepCosts> steps) {
    List<OfDevice> devices = new ArrayList<>();
    for (int d = 0; d < steps.get(0).devices().size(); d++) {
      int device = d;
      devices.add(
          new OfDevice(
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
   * Returns what trainers report. Nobody fetches before the last device has given: an exchange
   * takes a device the longest giving of any, and its own fetching; the forward exchange also what
   * the device waits for the last one to begin, which is after its computation and its backward
   * exchange.
   */
  public List<MeasuredDevice> measured() {
    double pack = devices.stream().mapToDouble(OfDevice::packMs).max().orElse(0);
    double packBack = devices.stream().mapToDouble(OfDevice::packBackMs).max().orElse(0);
    boolean alone = devices.size() == 1;
    double[] starts =
        devices.stream().mapToDouble(d -> d.computeMs() + packBack + d.unpackBackMs()).toArray();
    double last = Arrays.stream(starts).max().orElse(0);
    List<MeasuredDevice> measured = new ArrayList<>();
    for (int d = 0; d < starts.length; d++) {
      OfDevice device = devices.get(d);
      measured.add(
          alone
              ? new MeasuredDevice(device.computeMs(), 0, 0)
              : new MeasuredDevice(
                  device.computeMs(),
                  last - starts[d] + pack + device.unpackMs(),
                  packBack + device.unpackBackMs()));
    }
    return measured;
  }

  /**
   * Returns the cost of a step as a plan counts it, in milliseconds: the latest start of a forward
   * exchange, and the longest one after it.
   */
  public double stepMs() {
    return measured().stream()
        .mapToDouble(d -> d.computeMs() + d.backwardCommMs() + d.forwardCommMs())
        .max()
        .orElse(0);
  }
}
