package io.shardtide.trainer;

import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The shards on a device. Their memory is accounted as in a plan: rows times columns times the
 * table's bytes per element; a shard that does not fit is rejected. Not thread-safe.
 */
final class DeviceMemory {
  /** Tolerance for plans, which round the bytes of each shard up. */
  private static final double ROUNDING_BYTES = 4096;

  private final Map<String, List<ShardWeights>> shards = new TreeMap<>();
  private final String name;
  private double capacityBytes;
  private double usedBytes;
  private double peakBytes;

  /**
   * @param name the device's name in messages
   * @param capacityBytes maximum bytes of all shards
   */
  DeviceMemory(String name, double capacityBytes) {
    this.name = name;
    this.capacityBytes = capacityBytes;
  }

  double usedBytes() {
    return usedBytes;
  }

  /** Returns the maximum of {@link #usedBytes} since {@link #setCapacity}. */
  double peakBytes() {
    return peakBytes;
  }

  /** Sets the capacity. It may be below the used bytes; then shards must be freed first. */
  void setCapacity(double bytes) {
    capacityBytes = bytes;
    peakBytes = usedBytes;
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
    if (usedBytes + shard.bytes() > capacityBytes + ROUNDING_BYTES) {
      throw new IllegalStateException(
          "Columns %d to %d of table %s need %,.0f bytes on %s, which has %,.0f of %,.0f bytes free"
              .formatted(
                  shard.columnOffset(),
                  shard.columnEnd() - 1,
                  shard.table(),
                  shard.bytes(),
                  name,
                  capacityBytes - usedBytes,
                  capacityBytes));
    }
    add(shard);
    peakBytes = Math.max(peakBytes, usedBytes);
  }

  /** Removes a shard. */
  void remove(ShardWeights shard) {
    shards.get(shard.table()).remove(shard);
    if (shards.get(shard.table()).isEmpty()) {
      shards.remove(shard.table());
    }
    usedBytes -= shard.bytes();
  }

  private void add(ShardWeights shard) {
    shards.computeIfAbsent(shard.table(), t -> new ArrayList<>()).add(shard);
    usedBytes += shard.bytes();
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
