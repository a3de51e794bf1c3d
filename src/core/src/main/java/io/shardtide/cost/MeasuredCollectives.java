package io.shardtide.cost;

import io.shardtide.plan.MeasuredCollective;
import io.shardtide.plan.Shard;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The groups and the bytes of a measured step's collectives, as {@link StepCollectives} predicts
 * them. A collective of equal devices is predicted as one number, so that their mean is its
 * measured duration.
 *
 * @param shards the shards of the plan that ran
 * @param collectives the collectives of its steps
 */
public record MeasuredCollectives(List<Shard> shards, StepCollectives collectives) {
  /** Copies what may change. */
  public MeasuredCollectives {
    shards = List.copyOf(shards);
  }

  /** Returns the columns of shards with all rows on each device, by device number. */
  public List<Integer> columns() {
    StepCollective ofDevices = collectives.get(ShardScope.DEVICE, Direction.FORWARD);
    return IntStream.range(0, ofDevices.members().devices())
        .mapToObj(d -> ofDevices.shards(shards, d).mapToInt(Shard::columns).sum())
        .toList();
  }

  /**
   * Returns what was measured for shards that are split over devices or copied; without collectives
   * that send nothing, and those that took no time on a device.
   *
   * @param measured collectives of a step, with a duration for each device of the cluster
   */
  public List<CostSample.GroupCollective> of(List<MeasuredCollective> measured) {
    List<CostSample.GroupCollective> samples = new ArrayList<>();
    for (MeasuredCollective of : measured) {
      StepCollective collective = collectives.get(of.scope(), of.direction());
      int members = collective.members().devices();
      double[] bytes = new double[members];
      double[] ms = new double[members];
      Arrays.setAll(bytes, member -> bytes(collective, member));
      Arrays.setAll(
          ms,
          member -> collective.devices(member).mapToDouble(of.ms()::get).average().orElseThrow());
      if (of.collective() != Collective.ALL_TO_ALL) {
        for (int member = 0; member < members; member++) {
          DeviceGroup group = collective.group(member);
          add(of, group, List.of(bytes[member]), List.of(ms[member]), samples);
        }
      } else if (of.scope() != ShardScope.DEVICE) {
        // The all-to-all of all devices is a sample with its idle time.
        double devices = collectives.cluster().devices();
        List<Double> toEach = Arrays.stream(bytes).mapToObj(b -> b / devices).toList();
        add(of, collective.members(), toEach, Arrays.stream(ms).boxed().toList(), samples);
      }
    }
    return samples;
  }

  /** Returns the bytes of all that a member sends or keeps. */
  private double bytes(StepCollective collective, int member) {
    boolean isOfCopies = collective.scope() == ShardScope.COPIES;
    double numbers =
        collective
            .shards(shards, member)
            .mapToDouble(s -> (isOfCopies ? (double) s.rows() : 1) * s.columns())
            .sum();
    double ofEach = isOfCopies ? 1 : collectives.cluster().batchSize();
    return numbers * (ofEach * collective.bytesPerElement());
  }

  private static void add(
      MeasuredCollective measured,
      DeviceGroup group,
      List<Double> bytes,
      List<Double> ms,
      List<CostSample.GroupCollective> samples) {
    if (group.devices() > 1
        && bytes.stream().anyMatch(b -> b > 0)
        && ms.stream().allMatch(t -> t > 0)) {
      samples.add(
          new CostSample.GroupCollective(
              measured.collective(),
              measured.direction(),
              group.devices(),
              group.devicesPerNode(),
              bytes,
              ms));
    }
  }
}
