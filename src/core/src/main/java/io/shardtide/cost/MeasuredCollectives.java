package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import io.shardtide.domain.MeasuredCollective;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardScope;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The groups and the bytes of a measured step's collectives, as {@link StepCollectives} predicts
 * them. A collective of equal devices is predicted as one number, so that their mean is its
 * measured duration.
 */
public final class MeasuredCollectives {
  private final List<Shard> shards;
  private final StepComm wire;
  private final ClusterSpec cluster;

  /**
   * @param shards the shards of the plan that ran
   * @param wire the devices that it ran on, and what their collectives sent
   */
  public MeasuredCollectives(List<Shard> shards, StepComm wire) {
    this.shards = List.copyOf(shards);
    this.wire = wire;
    cluster = wire.cluster();
  }

  /** Returns the columns of shards with all rows on each device, by device number. */
  public List<Integer> columns() {
    int[] columns = new int[cluster.devices()];
    shards.stream()
        .filter(shard -> shard.kind().scope() == ShardScope.DEVICE)
        .forEach(shard -> columns[shard.device()] += shard.columns());
    return Arrays.stream(columns).boxed().toList();
  }

  /**
   * Returns what was measured for shards that are split over devices or copied; without collectives
   * that send nothing, and those that took no time on a device.
   *
   * @param measured collectives of a step, with a duration for each device of the cluster
   */
  public List<CostSample.GroupCollective> of(List<MeasuredCollective> measured) {
    List<CostSample.GroupCollective> samples = new ArrayList<>();
    for (MeasuredCollective collective : measured) {
      switch (collective.scope()) {
        case DEVICE -> {
          // The all-to-all of all devices is a sample with its idle time.
        }
        case NODE -> addNodes(collective, samples);
        case CLUSTER ->
            add(
                collective,
                DeviceGroup.of(cluster),
                columns(ShardScope.CLUSTER, 0)
                    * bytesPerColumn(ShardScope.CLUSTER, collective.direction()),
                IntStream.range(0, cluster.devices()),
                samples);
        case COPIES ->
            add(
                collective,
                DeviceGroup.of(cluster),
                BufferCollective.ofCopies(copyElements()).bytes(),
                IntStream.range(0, cluster.devices()),
                samples);
      }
    }
    return samples;
  }

  private void addNodes(MeasuredCollective measured, List<CostSample.GroupCollective> samples) {
    double bytesPerColumn = bytesPerColumn(ShardScope.NODE, measured.direction());
    double[] columns =
        IntStream.range(0, cluster.nodes())
            .mapToDouble(node -> columns(ShardScope.NODE, node))
            .toArray();
    if (measured.collective() != Collective.ALL_TO_ALL) {
      for (int node = 0; node < columns.length; node++) {
        List<Integer> devices = cluster.devicesOfNode(node);
        add(
            measured,
            new DeviceGroup(devices.size(), devices.size()),
            columns[node] * bytesPerColumn,
            devices.stream().mapToInt(d -> d),
            samples);
      }
    } else if (columns.length > 1) {
      List<Double> bytes =
          Arrays.stream(columns).mapToObj(c -> c * bytesPerColumn / cluster.devices()).toList();
      List<Double> ms =
          IntStream.range(0, columns.length)
              .mapToObj(node -> cluster.devicesOfNode(node).stream().mapToInt(d -> d))
              .map(devices -> meanMs(measured, devices))
              .toList();
      add(measured, new DeviceGroup(columns.length, 1), bytes, ms, samples);
    }
  }

  /** Returns the columns of the parts that are split over a node, or over all devices. */
  private double columns(ShardScope scope, int node) {
    return shards.stream()
        .filter(shard -> shard.kind().scope() == scope && shard.rowOffset() == 0)
        .filter(shard -> scope == ShardScope.CLUSTER || cluster.node(shard.device()) == node)
        .mapToInt(Shard::columns)
        .sum();
  }

  private double bytesPerColumn(ShardScope scope, Direction direction) {
    return cluster.batchSize() * wire.bytesPerElement(scope, direction);
  }

  private double copyElements() {
    return shards.stream()
        .filter(Shard::isCopied)
        .mapToDouble(shard -> (double) shard.rows() * shard.columns())
        .sum();
  }

  private static double meanMs(MeasuredCollective measured, IntStream devices) {
    return devices.mapToDouble(measured.ms()::get).average().orElseThrow();
  }

  private static void add(
      MeasuredCollective measured,
      DeviceGroup group,
      double bytes,
      IntStream devices,
      List<CostSample.GroupCollective> samples) {
    add(measured, group, List.of(bytes), List.of(meanMs(measured, devices)), samples);
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
