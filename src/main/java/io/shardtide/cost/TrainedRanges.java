package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.OutOfRange;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The training ranges of a model, and what is outside of them. */
public final class TrainedRanges {
  /** Rows of a table. */
  public static final String ROWS = "rows";

  /** Columns of a shard. */
  public static final String COLUMNS = "columns";

  /** Lookups that a batch makes in a table. */
  public static final String LOOKUPS = "lookups_per_batch";

  static final String USES = "uses_per_touched_row";
  static final String BATCH_SIZE = "samples_per_batch";

  /** Devices of a cluster. */
  public static final String DEVICES = "devices";

  /** Columns on a device. */
  public static final String COLUMNS_PER_DEVICE = "columns_per_device";

  /** Shards on a device. */
  public static final String SHARDS_PER_DEVICE = "shards_per_device";

  /** Names of the quantities, with units, in the order of a bundle's ranges. */
  public static final List<String> QUANTITIES =
      List.of(
          ROWS, COLUMNS, LOOKUPS, USES, BATCH_SIZE, DEVICES, COLUMNS_PER_DEVICE, SHARDS_PER_DEVICE);

  private final Map<String, TrainedRange> ranges = new HashMap<>();

  TrainedRanges(List<TrainedRange> ranges) {
    ranges.forEach(range -> this.ranges.put(range.quantity(), range));
  }

  /** Returns the ranges of samples, without those with a held-out table. */
  public static List<TrainedRange> of(SampleSet samples, Set<Integer> heldOutTables) {
    Map<String, double[]> seen = new HashMap<>();
    extend(seen, samples, heldOutTables);
    // The all-to-alls of one device take no time, which needs no samples.
    extend(seen, DEVICES, 1);
    // Without histograms in training, every known use of rows is out of range.
    seen.putIfAbsent(USES, new double[] {0, 0});
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
      Map<String, double[]> seen, SampleSet samples, Set<Integer> heldOutTables) {
    extend(seen, BATCH_SIZE, samples.batchSize());
    for (ComputeSample sample : samples.compute()) {
      if (sample.shards().stream().anyMatch(s -> heldOutTables.contains(s.table()))) {
        continue;
      }
      extend(seen, SHARDS_PER_DEVICE, sample.shards().size());
      for (ComputeSample.SampledShard shard : sample.shards()) {
        TableSpec table = samples.tables().get(shard.table());
        extend(seen, ROWS, (double) table.rows());
        extend(seen, COLUMNS, shard.width());
        extend(seen, LOOKUPS, table.poolingFactor() * samples.batchSize());
        if (table.reuseHistogram().isKnown()) {
          extend(seen, USES, ShardFeatures.meanUses(table.reuseHistogram()));
        }
      }
    }
    samples
        .communication()
        .forEach(
            (devices, list) -> {
              extend(seen, DEVICES, devices);
              for (CommunicationSample sample : list) {
                for (int columns : sample.columns()) {
                  extend(seen, COLUMNS_PER_DEVICE, columns);
                }
              }
            });
  }

  private static void extend(Map<String, double[]> seen, String quantity, double value) {
    double[] range = seen.computeIfAbsent(quantity, q -> new double[] {value, value});
    range[0] = Math.min(range[0], value);
    range[1] = Math.max(range[1], value);
  }

  /** Returns the values of a table that are out of range. */
  public List<OutOfRange> ofTable(TableSpec table, int batchSize) {
    List<OutOfRange> outside = new ArrayList<>();
    check(outside, table.name(), ROWS, (double) table.rows());
    check(outside, table.name(), COLUMNS, table.columns());
    check(outside, table.name(), LOOKUPS, table.poolingFactor() * batchSize);
    if (table.reuseHistogram().isKnown()) {
      check(outside, table.name(), USES, ShardFeatures.meanUses(table.reuseHistogram()));
    }
    return outside;
  }

  /** Returns the values of a cluster that are out of range. */
  public List<OutOfRange> ofCluster(ClusterSpec cluster) {
    List<OutOfRange> outside = new ArrayList<>();
    check(outside, "cluster", DEVICES, cluster.devices());
    check(outside, "cluster", BATCH_SIZE, cluster.batchSize());
    return outside;
  }

  /**
   * Returns the values of a device with so many columns in so many shards that are out of range.
   */
  public List<OutOfRange> ofDevice(int device, int columns, int shards) {
    List<OutOfRange> outside = new ArrayList<>();
    if (shards > 0) {
      check(outside, "device " + device, COLUMNS_PER_DEVICE, columns);
      check(outside, "device " + device, SHARDS_PER_DEVICE, shards);
    }
    return outside;
  }

  /** Returns the values of a measured computation that are out of range. */
  List<OutOfRange> ofComputation(SampleSet samples, ComputeSample sample) {
    List<OutOfRange> outside = new ArrayList<>();
    check(outside, "sample", BATCH_SIZE, samples.batchSize());
    check(outside, "sample", SHARDS_PER_DEVICE, sample.shards().size());
    for (ComputeSample.SampledShard shard : sample.shards()) {
      TableSpec table = samples.tables().get(shard.table()).withColumns(shard.width());
      outside.addAll(ofTable(table, samples.batchSize()));
    }
    return outside;
  }

  /** Returns the values of a measured all-to-all that are out of range. */
  List<OutOfRange> ofAllToAll(CommunicationSample sample, int batchSize) {
    List<OutOfRange> outside = new ArrayList<>();
    check(outside, "sample", BATCH_SIZE, batchSize);
    check(outside, "sample", DEVICES, sample.devices());
    for (int d = 0; d < sample.devices(); d++) {
      check(outside, "device " + d, COLUMNS_PER_DEVICE, sample.columns()[d]);
    }
    return outside;
  }

  private void check(List<OutOfRange> outside, String subject, String quantity, double value) {
    ranges.get(quantity).check(subject, value).ifPresent(outside::add);
  }
}
