package io.shardtide.cost;

import io.shardtide.domain.TableSpec;
import io.shardtide.option.RowUse;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The shapes of sampled shards. What a batch does with a table's rows is computed once. */
public final class SampleShapes {
  private final List<TableSpec> tables;
  private final List<Integer> reuseBatchSizes;
  private final Map<Integer, RowUse> rowUses = new HashMap<>();
  private final Map<Integer, Map<Double, BatchUse>> batchUses = new HashMap<>();

  /** Shapes with everything that the samples say about the use of rows. */
  public SampleShapes(SampleSet samples) {
    this(samples, samples.tables());
  }

  private SampleShapes(SampleSet samples, List<TableSpec> tables) {
    this.tables = tables;
    reuseBatchSizes = samples.reuseBatchSizes();
  }

  /** Shapes as if no access CDF were known. */
  public static SampleShapes withoutCdf(SampleSet samples) {
    return new SampleShapes(samples, samples.tables().stream().map(TableSpec::withoutCdf).toList());
  }

  /** Shapes as if nothing were known about the use of rows. */
  public static SampleShapes withoutUse(SampleSet samples) {
    return new SampleShapes(samples, samples.tables().stream().map(TableSpec::withoutUse).toList());
  }

  /** Returns the shape of a shard of the samples. */
  public ShardShape of(SampledShard shard) {
    TableSpec table = tables.get(shard.table());
    BatchUse use =
        batchUses
            .computeIfAbsent(shard.table(), t -> new HashMap<>())
            .computeIfAbsent(
                shard.samples(),
                samples -> BatchUse.of(rowUse(shard.table()), table.lookups(samples, 1)));
    boolean pooled = shard.pooled() && table.pooled();
    return new ShardShape(
        ShardShape.rows(table.rows(), shard.rowShare()),
        shard.columns(),
        pooled
            ? table.outputs(shard.samples(), shard.rowShare())
            : table.lookups(shard.samples(), shard.rowShare()),
        use.ofRows(shard.rowShare()),
        shard.bytesPerElement(),
        shard.replicated(),
        shard.cacheShare(),
        shard.optimizer(),
        shard.stateInDeviceMemory(),
        pooled);
  }

  private RowUse rowUse(int table) {
    return rowUses.computeIfAbsent(table, t -> RowUse.of(tables.get(t), reuseBatchSizes.get(t)));
  }
}
