package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.OutOfRange;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What a model was trained on, and what is outside of it. */
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

  /** Returns the ranges of a set of samples, without those that have a table which is held out. */
  public static List<TrainedRange> of(SampleSet samples, Set<Integer> heldOutTables) {
    Map<String, double[]> seen = new HashMap<>();
    see(seen, samples, heldOutTables);
    // One device exchanges nothing, which needs no samples.
    see(seen, DEVICES, 1);
    // Where no sample has a histogram, no known use of a row is like those in training.
    seen.putIfAbsent(USES, new double[] {0, 0});
    return ranges(seen);
  }

  /** Returns ranges that also hold what is in more samples. */
  public static List<TrainedRange> with(List<TrainedRange> ranges, SampleSet samples) {
    Map<String, double[]> seen = new HashMap<>();
    for (TrainedRange range : ranges) {
      // A range from 0 to 0 of what is above 0 is that of nothing.
      if (range.max() > 0) {
        seen.put(range.quantity(), new double[] {range.min(), range.max()});
      }
    }
    see(seen, samples, Set.of());
    ranges.forEach(
        range -> seen.putIfAbsent(range.quantity(), new double[] {range.min(), range.max()}));
    return ranges(seen);
  }

  private static List<TrainedRange> ranges(Map<String, double[]> seen) {
    return QUANTITIES.stream()
        .map(quantity -> new TrainedRange(quantity, seen.get(quantity)[0], seen.get(quantity)[1]))
        .toList();
  }

  private static void see(
      Map<String, double[]> seen, SampleSet samples, Set<Integer> heldOutTables) {
    see(seen, BATCH_SIZE, samples.batchSize());
    for (ComputeSample sample : samples.compute()) {
      if (sample.shards().stream().anyMatch(s -> heldOutTables.contains(s.table()))) {
        continue;
      }
      see(seen, SHARDS_PER_DEVICE, sample.shards().size());
      for (ComputeSample.SampledShard shard : sample.shards()) {
        TableSpec table = samples.tables().get(shard.table());
        see(seen, ROWS, (double) table.rows());
        see(seen, COLUMNS, shard.width());
        see(seen, LOOKUPS, table.poolingFactor() * samples.batchSize());
        if (table.reuseHistogram().isKnown()) {
          see(seen, USES, ShardFeatures.meanUses(table.reuseHistogram()));
        }
      }
    }
    samples
        .communication()
        .forEach(
            (devices, list) -> {
              see(seen, DEVICES, devices);
              for (CommunicationSample sample : list) {
                for (int columns : sample.columns()) {
                  see(seen, COLUMNS_PER_DEVICE, columns);
                }
              }
            });
  }

  private static void see(Map<String, double[]> seen, String quantity, double value) {
    double[] range = seen.computeIfAbsent(quantity, q -> new double[] {value, value});
    range[0] = Math.min(range[0], value);
    range[1] = Math.max(range[1], value);
  }

  /**
   * Returns what is outside of a table. The number of columns that counts is a shard's: no range
   * forbids a narrow one.
   */
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

  /** Returns what is outside of a cluster. */
  public List<OutOfRange> ofCluster(ClusterSpec cluster) {
    List<OutOfRange> outside = new ArrayList<>();
    check(outside, "cluster", DEVICES, cluster.devices());
    check(outside, "cluster", BATCH_SIZE, cluster.batchSize());
    return outside;
  }

  /** Returns what is outside of a device with so many columns in so many shards. */
  public List<OutOfRange> ofDevice(int device, int columns, int shards) {
    List<OutOfRange> outside = new ArrayList<>();
    if (shards > 0) {
      check(outside, "device " + device, COLUMNS_PER_DEVICE, columns);
      check(outside, "device " + device, SHARDS_PER_DEVICE, shards);
    }
    return outside;
  }

  /** Returns what is outside of a computation that was measured. */
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

  /** Returns what is outside of an exchange that was measured. */
  List<OutOfRange> ofExchange(CommunicationSample sample, int batchSize) {
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
