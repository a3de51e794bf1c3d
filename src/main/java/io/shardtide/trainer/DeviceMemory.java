package io.shardtide.trainer;

import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The shards on a device. Their memory is accounted as in a plan, by {@link TableSpec#bytes(long,
 * int)}; parts of a table share the optimizer's state of its rows until they are joined to a shard.
 * A shard that does not fit is rejected. Not thread-safe.
 */
final class DeviceMemory {
  /** Tolerance for plans, which round the bytes of each shard up. */
  private static final long ROUNDING_BYTES = 4096;

  private final Map<String, List<ShardWeights>> shards = new TreeMap<>();
  private final String name;
  private long capacityBytes;
  private long peakBytes;

  /**
   * @param name the device's name in messages
   * @param capacityBytes maximum bytes of all shards
   */
  DeviceMemory(String name, long capacityBytes) {
    this.name = name;
    this.capacityBytes = capacityBytes;
  }

  private long usedBytes() {
    return shards.values().stream().mapToLong(DeviceMemory::bytes).sum();
  }

  private static long bytes(List<ShardWeights> ofTable) {
    long sum = 0;
    long rowBytes = 0;
    for (ShardWeights shard : ofTable) {
      sum += shard.bytes() - shard.rowBytes();
      rowBytes = Math.max(rowBytes, shard.rowBytes());
    }
    return sum + rowBytes;
  }

  /** Returns the maximum bytes of all shards since {@link #setCapacity}. */
  long peakBytes() {
    return peakBytes;
  }

  /** Sets the capacity. It may be below the used bytes; then shards must be freed first. */
  void setCapacity(long bytes) {
    capacityBytes = bytes;
    peakBytes = usedBytes();
  }

  /** Returns the sorted names of the tables with a shard on this device. */
  List<String> tables() {
    return List.copyOf(shards.keySet());
  }

  /** Returns the shards of a table on this device, possibly none. */
  List<ShardWeights> shardsOf(String table) {
    return List.copyOf(shards.getOrDefault(table, List.of()));
  }

  /** Returns the shard of a table with the given first column. */
  ShardWeights shard(String table, int columnOffset) {
    return shardsOf(table).stream()
        .filter(shard -> shard.columnOffset() == columnOffset)
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "%s has no shard of table %s that starts at column %d"
                        .formatted(name, table, columnOffset)));
  }

  /**
   * Adds a shard.
   *
   * @throws IllegalStateException if it does not fit
   */
  void put(ShardWeights shard) {
    add(shard);
    long used = usedBytes();
    if (used > capacityBytes + ROUNDING_BYTES) {
      remove(shard);
      throw new IllegalStateException(
          "Columns %d to %d of table %s need %,d bytes on %s, which has %,d of %,d bytes free"
              .formatted(
                  shard.columnOffset(),
                  shard.columnEnd() - 1,
                  shard.table(),
                  used - usedBytes(),
                  name,
                  capacityBytes - usedBytes(),
                  capacityBytes));
    }
    peakBytes = Math.max(peakBytes, used);
  }

  /** Removes a shard. */
  void remove(ShardWeights shard) {
    shards.get(shard.table()).remove(shard);
    if (shards.get(shard.table()).isEmpty()) {
      shards.remove(shard.table());
    }
  }

  private void add(ShardWeights shard) {
    shards.computeIfAbsent(shard.table(), t -> new ArrayList<>()).add(shard);
  }

  /** Removes all shards of a table. */
  void drop(String table) {
    shardsOf(table).forEach(this::remove);
  }

  /**
   * Cuts a table's shards to ranges of columns. Frees all other columns, and rows that the table no
   * longer has.
   *
   * @param bounds ranges as first, end, first, end ..., each within one shard
   */
  void cut(TableSpec table, List<Integer> bounds) {
    for (ShardWeights shard : shardsOf(table.name())) {
      remove(shard);
      shard.shrinkTo(table);
      List<Integer> within = new ArrayList<>();
      for (int b = 0; b < bounds.size(); b += 2) {
        if (shard.columnOffset() <= bounds.get(b) && bounds.get(b + 1) <= shard.columnEnd()) {
          within.addAll(bounds.subList(b, b + 2));
        }
      }
      boolean whole = within.equals(List.of(shard.columnOffset(), shard.columnEnd()));
      (whole ? List.of(shard) : ShardWeights.regroup(List.of(shard), array(within)))
          .forEach(this::add);
    }
  }

  /**
   * Joins the shards within a range of columns to one shard; initializes missing columns and rows.
   *
   * @throws IllegalStateException if the shard does not fit
   */
  void complete(TableSpec table, int columnOffset, int columns) {
    int end = columnOffset + columns;
    List<ShardWeights> pieces = new ArrayList<>();
    for (ShardWeights shard : shardsOf(table.name())) {
      if (shard.columnOffset() >= columnOffset && shard.columnEnd() <= end) {
        remove(shard);
        shard.resize(table.rows());
        pieces.add(shard);
      }
    }
    pieces.sort(java.util.Comparator.comparingInt(ShardWeights::columnOffset));
    int next = columnOffset;
    for (ShardWeights piece : List.copyOf(pieces)) {
      if (next < piece.columnOffset()) {
        pieces.add(ShardWeights.initial(table, next, piece.columnOffset() - next));
      }
      next = piece.columnEnd();
    }
    if (next < end) {
      pieces.add(ShardWeights.initial(table, next, end - next));
    }
    put(
        pieces.size() == 1
            ? pieces.get(0)
            : ShardWeights.regroup(pieces, columnOffset, end).get(0));
  }

  private static int[] array(List<Integer> bounds) {
    return bounds.stream().mapToInt(Integer::intValue).toArray();
  }
}
