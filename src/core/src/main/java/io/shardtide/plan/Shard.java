package io.shardtide.plan;

import io.shardtide.workload.Names;
import io.shardtide.workload.RowOrder;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A part of a table on a device, or a copy of it on each device.
 *
 * @param table name of the table
 * @param region the part
 * @param device number of the device, from 0; {@link #EVERY_DEVICE} of data-parallel rows, and of
 *     no others
 * @param kind how the table is sharded; of a table that is cut by use ({@link HotRows}), data
 *     parallel of its hot rows, and another kind of all others
 * @param cacheShare share of the shard's rows that device memory holds, the most used ones, 0 to 1,
 *     the same of all shards of a table: all rows are in host memory, of a share of 0 without a
 *     cache; empty if all are in device memory
 * @param deduplicated whether each rank sends it the distinct ids of its batch instead of all
 * @param rowOrder in which order rows are cut into blocks, and numbered; empty where rows are not
 *     cut, and of tables whose use of rows is not known by blocks: contiguous
 */
public record Shard(
    String table,
    Region region,
    int device,
    ShardKind kind,
    OptionalDouble cacheShare,
    boolean deduplicated,
    Optional<RowOrder> rowOrder) {

  /** In place of a device's number: each device holds a copy. */
  public static final int EVERY_DEVICE = -1;

  /** The order of shards in a plan: by table, column, row, device. */
  public static final Comparator<Shard> ORDER =
      Comparator.comparing(Shard::table)
          .thenComparing(Shard::region, Region.ORDER)
          .thenComparingInt(Shard::device);

  /**
   * @throws IllegalArgumentException if the device is below 0, or not {@link #EVERY_DEVICE} where
   *     each device holds a copy
   */
  public Shard {
    boolean isCopied = kind.scope() == ShardScope.COPIES;
    if (isCopied ? device != EVERY_DEVICE : device < 0) {
      throw new IllegalArgumentException(
          "device of a %s shard of table %s must be %s, got %s"
              .formatted(
                  kind.label(),
                  Names.quote(table),
                  isCopied ? "-1, each device" : "at least 0",
                  device));
    }
    if (cacheShare.isPresent()) {
      double share = cacheShare.getAsDouble();
      if (isCopied || !(share >= 0 && share <= 1)) {
        throw new IllegalArgumentException(
            "cache share of a %s shard of table %s must be %s, got %s"
                .formatted(kind.label(), Names.quote(table), isCopied ? "none" : "0 to 1", share));
      }
    }
  }

  /** A shard in device memory that gets all ids. */
  public Shard(String table, Region region, int device, ShardKind kind) {
    this(table, region, device, kind, OptionalDouble.empty());
  }

  /** A shard that gets all ids. */
  public Shard(String table, Region region, int device, ShardKind kind, OptionalDouble cacheShare) {
    this(table, region, device, kind, cacheShare, false, Optional.empty());
  }

  /** Returns the bytes of device memory of a part of this shard. */
  long bytes(Region part, TableSpec of) {
    return of.bytes(part.rows(), part.columns(), cacheShare, false);
  }

  /** Returns this shard as one of a table, its first row so many further down. */
  Shard at(String ofTable, long rowsDown) {
    Region moved =
        new Region(region.columnOffset(), region.columns(), rowOffset() + rowsDown, rows());
    return new Shard(ofTable, moved, device, kind, cacheShare, deduplicated, rowOrder);
  }

  /** Returns this shard of another region, on another device. */
  public Shard at(Region other, int onDevice) {
    return new Shard(table, other, onDevice, kind, cacheShare, deduplicated, rowOrder);
  }

  /** Returns shards by the name of their table, in their order. */
  public static Map<String, List<Shard>> byTable(List<Shard> shards) {
    return shards.stream().collect(Collectors.groupingBy(Shard::table));
  }

  /** Returns whether each device holds a copy. */
  public boolean isCopied() {
    return device == EVERY_DEVICE;
  }

  /**
   * Returns the devices that hold the shard.
   *
   * @param devices number of devices of the plan
   */
  public IntStream holders(int devices) {
    return isCopied() ? IntStream.range(0, devices) : IntStream.of(device);
  }

  /** Returns the first column, from 0. */
  public int columnOffset() {
    return region.columnOffset();
  }

  /** Returns the number of columns. */
  public int columns() {
    return region.columns();
  }

  /** Returns the first row, from 0. */
  public long rowOffset() {
    return region.rowOffset();
  }

  /** Returns the number of rows. */
  public long rows() {
    return region.rows();
  }
}
