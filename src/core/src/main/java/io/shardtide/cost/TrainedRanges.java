package io.shardtide.cost;

import io.shardtide.plan.OutOfRange;
import io.shardtide.plan.UseKnowledge;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.ObjDoubleConsumer;

/** The training ranges of a model, and what is outside of them. */
public final class TrainedRanges {
  /** Rows of a table. */
  public static final String ROWS = "rows";

  /** Columns of a shard. */
  public static final String COLUMNS = "columns";

  /** Lookups of a step in a shard. */
  public static final String LOOKUPS = "lookups_per_batch";

  /** Samples that a shard pools in a step. */
  public static final String SAMPLES = "samples_per_batch";

  static final String USES = "uses_per_touched_row";
  static final String WEIGHT_BYTES = "bytes_per_element";

  /** Devices of a cluster. */
  public static final String DEVICES = "devices";

  static final String DEVICES_PER_NODE = "devices_per_node";

  /** Bytes that a device sends to each other one in an all-to-all. */
  public static final String BYTES_PER_PEER = "all_to_all_bytes_per_peer";

  /** Bytes of the buffer of any other collective. */
  public static final String BUFFER_BYTES = "buffer_bytes";

  /** Shards on a device. */
  public static final String SHARDS_PER_DEVICE = "shards_per_device";

  /** Names of the quantities, with units, in the order of a bundle's ranges. */
  public static final List<String> QUANTITIES =
      List.of(
          ROWS,
          COLUMNS,
          LOOKUPS,
          SAMPLES,
          USES,
          WEIGHT_BYTES,
          DEVICES,
          DEVICES_PER_NODE,
          BYTES_PER_PEER,
          BUFFER_BYTES,
          SHARDS_PER_DEVICE);

  private final Map<String, TrainedRange> ranges = new HashMap<>();

  TrainedRanges(List<TrainedRange> ranges) {
    ranges.forEach(range -> this.ranges.put(range.quantity(), range));
  }

  /** Returns the ranges of samples, without those with a held-out table. */
  public static List<TrainedRange> of(SampleSet samples, Set<String> heldOutTables) {
    Map<String, double[]> seen = new HashMap<>();
    extend(seen, samples, heldOutTables);
    // The all-to-alls of one device take no time, which needs no samples.
    extend(seen, DEVICES, 1);
    // What was not measured at all is out of range whatever its value.
    seen.putIfAbsent(USES, new double[] {0, 0});
    seen.putIfAbsent(BUFFER_BYTES, new double[] {0, 0});
    return ranges(seen);
  }

  /** Returns ranges extended by those of further samples. */
  public static List<TrainedRange> with(List<TrainedRange> ranges, SampleSet samples) {
    Map<String, double[]> seen = new HashMap<>();
    for (TrainedRange range : ranges) {
      // A range from 0 to 0 of a quantity above 0 is empty.
      if (range.max() > 0) {
        seen.put(range.quantity(), new double[] {range.min(), range.max()});
      }
    }
    extend(seen, samples, Set.of());
    ranges.forEach(
        range -> seen.putIfAbsent(range.quantity(), new double[] {range.min(), range.max()}));
    return ranges(seen);
  }

  private static List<TrainedRange> ranges(Map<String, double[]> seen) {
    return QUANTITIES.stream()
        .map(quantity -> new TrainedRange(quantity, seen.get(quantity)[0], seen.get(quantity)[1]))
        .toList();
  }

  private static void extend(
      Map<String, double[]> seen, SampleSet samples, Set<String> heldOutTables) {
    Set<DeviceShard> shards = new HashSet<>();
    for (ComputeSample sample : samples.compute()) {
      if (sample.shards().stream().anyMatch(s -> heldOutTables.contains(s.table().name()))) {
        continue;
      }
      extend(seen, SHARDS_PER_DEVICE, sample.shards().size());
      shards.addAll(sample.shards());
    }
    shards.forEach(shard -> values(TableShapes.of(shard)).forEach((q, v) -> extend(seen, q, v)));
    samples.collectives().forEach(sample -> values(sample, (q, v) -> extend(seen, q, v)));
  }

  private static Map<String, Double> values(ShardShape shape) {
    Map<String, Double> values = new LinkedHashMap<>();
    values.put(ROWS, (double) shape.rows());
    values.put(COLUMNS, (double) shape.columns());
    values.put(LOOKUPS, shape.lookups());
    values.put(SAMPLES, shape.outputs());
    values.put(WEIGHT_BYTES, shape.weightBytes());
    if (shape.use().knowledge() != UseKnowledge.NONE && shape.distinctRows() > 0) {
      values.put(USES, shape.lookups() / shape.distinctRows());
    }
    return values;
  }

  private static void values(CollectiveSample sample, ObjDoubleConsumer<String> each) {
    each.accept(DEVICES, sample.devices());
    each.accept(DEVICES_PER_NODE, sample.devicesPerNode());
    String bytes = sample.collective() == Collective.ALL_TO_ALL ? BYTES_PER_PEER : BUFFER_BYTES;
    for (double value : sample.bytes()) {
      each.accept(bytes, value);
    }
  }

  private static void extend(Map<String, double[]> seen, String quantity, double value) {
    double[] range = seen.computeIfAbsent(quantity, q -> new double[] {value, value});
    range[0] = Math.min(range[0], value);
    range[1] = Math.max(range[1], value);
  }

  /** Returns the values of a shape that are out of range. */
  public List<OutOfRange> ofShape(String subject, ShardShape shape) {
    List<OutOfRange> outside = new ArrayList<>();
    values(shape).forEach((quantity, value) -> check(outside, subject, quantity, value));
    return outside;
  }

  /** Returns the values of a cluster that are out of range. */
  public List<OutOfRange> ofCluster(ClusterSpec cluster) {
    List<OutOfRange> outside = new ArrayList<>();
    check(outside, "cluster", SAMPLES, cluster.batchSize());
    check(outside, "cluster", DEVICES, cluster.devices());
    if (cluster.devices() > 1) {
      check(outside, "cluster", DEVICES_PER_NODE, DeviceGroup.of(cluster).devicesPerNode());
    }
    return outside;
  }

  /**
   * Returns the values of a device that are out of range.
   *
   * @param collectives the devices and their collectives
   * @param columns numbers that the device sends for each sample of the batch: the columns of its
   *     shards, as often as their tables have an output for a sample
   * @param shards number of its shards
   */
  public List<OutOfRange> ofDevice(
      StepCollectives collectives, int device, double columns, int shards) {
    List<OutOfRange> outside = new ArrayList<>();
    ClusterSpec cluster = collectives.cluster();
    if (shards > 0) {
      if (cluster.devices() > 1) {
        double elements = columns * cluster.batchSize() / cluster.devices();
        double bytes = collectives.get(ShardScope.DEVICE, Direction.FORWARD).bytesPerElement();
        check(outside, "device " + device, BYTES_PER_PEER, elements * bytes);
        double backwardBytes =
            collectives.get(ShardScope.DEVICE, Direction.BACKWARD).bytesPerElement();
        // Of plans without codecs, as earlier versions have them, only the forward one is checked.
        if (backwardBytes != bytes && !collectives.equals(StepCollectives.of(cluster))) {
          check(outside, "device " + device, BYTES_PER_PEER, elements * backwardBytes);
        }
      }
      check(outside, "device " + device, SHARDS_PER_DEVICE, shards);
    }
    return outside;
  }

  /** Returns the values of a measured computation that are out of range. */
  List<OutOfRange> ofComputation(ComputeSample sample, Map<DeviceShard, ShardShape> shapes) {
    List<OutOfRange> outside = new ArrayList<>();
    check(outside, "sample", SHARDS_PER_DEVICE, sample.shards().size());
    for (DeviceShard shard : sample.shards()) {
      outside.addAll(ofShape(shard.table().name(), shapes.get(shard)));
    }
    return outside;
  }

  /** Returns the values of a measured collective that are out of range. */
  List<OutOfRange> ofCollective(CollectiveSample sample) {
    List<OutOfRange> outside = new ArrayList<>();
    values(sample, (quantity, value) -> check(outside, "sample", quantity, value));
    return outside;
  }

  private void check(List<OutOfRange> outside, String subject, String quantity, double value) {
    ranges.get(quantity).check(subject, value).ifPresent(outside::add);
  }
}
