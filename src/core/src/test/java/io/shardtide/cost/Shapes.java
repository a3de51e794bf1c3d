package io.shardtide.cost;

import io.shardtide.option.TablePart;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.OptionalDouble;

/** Shapes of shards that need no plan, of which tests compare some. */
public final class Shapes {
  private final TableSpec table;
  private final int batchSize;
  private final TableShapes shapes;

  /** Shapes of a table in batches of a size. */
  public Shapes(TableSpec table, int batchSize) {
    this.table = table;
    this.batchSize = batchSize;
    shapes = new TableShapes(table, batchSize);
  }

  /** Of some columns with all rows, on one device. */
  public ShardShape ofColumns(int columns) {
    return ofRows(columns, 1);
  }

  /** Of some columns of a share of the rows, in the memory of one device. */
  public ShardShape ofRows(int columns, double rowShare) {
    return ofRows(columns, rowShare, OptionalDouble.empty());
  }

  /** Of some columns of a share of the rows, on one device. */
  public ShardShape ofRows(int columns, double rowShare, OptionalDouble cacheShare) {
    return shape(columns, batchSize, rowShare, false, cacheShare);
  }

  /** Of a copy on each of so many devices. */
  public ShardShape ofCopy(int columns, int devices) {
    return shape(columns, (double) batchSize / devices, 1, true, OptionalDouble.empty());
  }

  /** Of a shard of a plan. */
  public ShardShape of(TablePart part, int device, ClusterSpec cluster) {
    return shapes.of(part, device, cluster);
  }

  private ShardShape shape(
      int columns, double samples, double rowShare, boolean isCopy, OptionalDouble cacheShare) {
    TableSpec part = table.withColumns(columns);
    return shapes.shape(new DeviceShard(part, samples, rowShare, isCopy, cacheShare, batchSize));
  }
}
