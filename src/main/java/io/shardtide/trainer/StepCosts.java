package io.shardtide.trainer;

import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import io.shardtide.domain.MeasuredCollective;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.ShardScope;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/**
 * Costs of a training step, as if each device had its own core.
 *
 * @param devices costs by device number
 * @param collectives costs of the step's collectives; none of one device
 */
public record StepCosts(List<DeviceStepCosts> devices, List<CollectiveStepCosts> collectives) {
  /** Copies mutable components. */
  public StepCosts {
    devices = List.copyOf(devices);
    collectives = List.copyOf(collectives);
  }

  /**
   * Costs of one device, in milliseconds of its thread's processor time.
   *
   * @param computeMs pooling, gradients of copies, and update
   * @param poolMs pooling only
   */
  public record DeviceStepCosts(double computeMs, double poolMs) {

    /** Returns the forward part of the computation; none on a device without shards. */
    private OptionalDouble forwardComputeMs() {
      return poolMs > 0 && poolMs < computeMs ? OptionalDouble.of(poolMs) : OptionalDouble.empty();
    }
  }

  /**
   * Costs of one collective, in milliseconds of processor time by device number.
   *
   * @param scope the shards that it is for
   * @param collective the operation
   * @param direction the half of the step
   * @param groupSize number of consecutive devices that run it together
   * @param sendMs a device's work that the other devices of its group wait for
   * @param receiveMs a device's work after that
   */
  public record CollectiveStepCosts(
      ShardScope scope,
      Collective collective,
      Direction direction,
      int groupSize,
      List<Double> sendMs,
      List<Double> receiveMs) {
    /** Copies mutable components. */
    public CollectiveStepCosts {
      sendMs = List.copyOf(sendMs);
      receiveMs = List.copyOf(receiveMs);
    }

    /**
     * Returns the durations in milliseconds, by device, if all devices begin together. Devices
     * receive only after the last one of their group has sent: it takes the longest sending of the
     * group plus a device's own receiving.
     */
    public List<Double> ms() {
      List<Double> ms = new ArrayList<>();
      for (int d = 0; d < sendMs.size(); d++) {
        int first = d / groupSize * groupSize;
        int end = Math.min(sendMs.size(), first + groupSize);
        ms.add(Collections.max(sendMs.subList(first, end)) + receiveMs.get(d));
      }
      return ms;
    }
  }

  /**
   * Returns the lower quartile of each cost over several steps. On a shared machine (another
   * hyper-thread of the core, another guest of the host) the slower steps measure other processes:
   * on the machine of the shipped model, the same plan took 0.5 or 0.9 ms, in phases of a tenth of
   * a second to a second.
   */
  static StepCosts lowerQuartiles(List<StepCosts> steps) {
    StepCosts any = steps.get(0);
    List<DeviceStepCosts> devices = new ArrayList<>();
    for (int d = 0; d < any.devices.size(); d++) {
      int device = d;
      devices.add(
          new DeviceStepCosts(
              quartile(steps, s -> s.devices.get(device).computeMs()),
              quartile(steps, s -> s.devices.get(device).poolMs())));
    }
    List<CollectiveStepCosts> collectives = new ArrayList<>();
    for (int i = 0; i < any.collectives.size(); i++) {
      int number = i;
      CollectiveStepCosts collective = any.collectives.get(i);
      List<Double> send = new ArrayList<>();
      List<Double> receive = new ArrayList<>();
      for (int d = 0; d < devices.size(); d++) {
        int device = d;
        send.add(quartile(steps, s -> s.collectives.get(number).sendMs().get(device)));
        receive.add(quartile(steps, s -> s.collectives.get(number).receiveMs().get(device)));
      }
      collectives.add(
          new CollectiveStepCosts(
              collective.scope(),
              collective.collective(),
              collective.direction(),
              collective.groupSize(),
              send,
              receive));
    }
    return new StepCosts(devices, collectives);
  }

  private static double quartile(List<StepCosts> steps, ToDoubleFunction<StepCosts> cost) {
    return steps.stream().mapToDouble(cost).sorted().toArray()[(steps.size() - 1) / 4];
  }

  /**
   * Returns the durations of the all-to-all of shards on one device in milliseconds, by device; 0
   * if there is none.
   */
  public double[] allToAllMs(Direction direction) {
    return sumMs(
        collectives.stream()
            .filter(c -> c.scope() == ShardScope.DEVICE && c.direction() == direction)
            .toList());
  }

  private double[] sumMs(Direction direction) {
    return sumMs(collectives.stream().filter(c -> c.direction() == direction).toList());
  }

  private double[] sumMs(List<CollectiveStepCosts> some) {
    List<List<Double>> ms = some.stream().map(CollectiveStepCosts::ms).toList();
    return IntStream.range(0, devices.size())
        .mapToDouble(d -> ms.stream().mapToDouble(of -> of.get(d)).sum())
        .toArray();
  }

  /**
   * Returns the costs that a trainer reports. The forward communication includes the time until the
   * last device starts it, after its computation and its backward communication.
   */
  public List<MeasuredDevice> measured() {
    double[] forward = sumMs(Direction.FORWARD);
    double[] backward = sumMs(Direction.BACKWARD);
    double last = 0;
    for (int d = 0; d < backward.length; d++) {
      last = Math.max(last, devices.get(d).computeMs() + backward[d]);
    }
    List<MeasuredDevice> measured = new ArrayList<>();
    for (int d = 0; d < backward.length; d++) {
      double compute = devices.get(d).computeMs();
      measured.add(
          new MeasuredDevice(
              compute,
              last - (compute + backward[d]) + forward[d],
              backward[d],
              devices.get(d).forwardComputeMs()));
    }
    return measured;
  }

  /** Returns the collectives that a trainer reports. */
  public List<MeasuredCollective> measuredCollectives() {
    return collectives.stream()
        .map(c -> new MeasuredCollective(c.scope(), c.collective(), c.direction(), c.ms()))
        .toList();
  }

  /**
   * Returns the cost of a step in milliseconds, as a plan computes it: computation and
   * communication of the slowest device.
   */
  public double stepMs() {
    return measured().stream()
        .mapToDouble(d -> d.computeMs() + d.backwardCommMs() + d.forwardCommMs())
        .max()
        .orElse(0);
  }
}
