package io.shardtide.trainer;

import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The shards that a device holds, counted as a plan counts them: rows times columns times the
 * table's bytes per element. Refuses what does not fit. Not thread-safe.
 */
final class DeviceMemory {
  /** A plan counts whole bytes of each shard. */
  private static final double ROUNDING_BYTES = 4096;

  private final Map<String, List<ShardWeights>> shards = new TreeMap<>();
  private final String name;
  private double capacityBytes;
  private double usedBytes;
  private double peakBytes;

  /**
   * @param name for messages
   * @param capacityBytes bytes that shards may fill
   */
  DeviceMemory(String name, double capacityBytes) {
    this.name = name;
    this.capacityBytes = capacityBytes;
  }

  double usedBytes() {
    return usedBytes;
  }

  /** Returns the most that was used since {@link #setCapacity}. */
  double peakBytes() {
    return peakBytes;
  }

  /** Changes what shards may fill; a device that is above it takes nothing before it is below. */
  void setCapacity(double bytes) {
    capacityBytes = bytes;
    peakBytes = usedBytes;
  }

  /** Returns the names of the tables of which this device holds something, sorted. */
  List<String> tables() {
    return List.copyOf(shards.keySet());
  }

  /** Returns the shards of a table, which may be none. */
  List<ShardWeights> of(String table) {
    return List.copyOf(shards.getOrDefault(table, List.of()));
  }

  /** Returns the shard with the given first column. */
  ShardWeights shard(String table, int columnOffset) {
    return of(table).stream()
        .filter(shard -> shard.columnOffset() == columnOffset)
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "%s holds no shard of table %s from column %d on"
                        .formatted(name, table, columnOffset)));
  }

  /**
   * Takes a shard.
   *
   * @throws IllegalStateException if it does not fit
   */
  void put(ShardWeights shard) {
    if (usedBytes + shard.bytes() > capacityBytes + ROUNDING_BYTES) {
      throw new IllegalStateException(
          "Columns %d to %d of table %s need %,.0f bytes on %s, which has %,.0f of %,.0f bytes left"
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

  /** Frees a shard. */
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

  /** Frees a table. */
  void drop(String table) {
    of(table).forEach(this::remove);
  }

  /**
   * Cuts a table's shards into those columns that are asked for, and frees all others, and the rows
   * that the table no longer has.
   *
   * @param bounds columns: first, end, first, end ..., each within one shard
   */
  void cut(TableSpec table, List<Integer> bounds) {
    for (ShardWeights shard : of(table.name())) {
      remove(shard);
      shard.adapt(table);
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
   * Makes one shard of what is here of some columns of a table, and fills in what is new.
   *
   * @throws IllegalStateException if what is new does not fit
   */
  void complete(TableSpec table, int columnOffset, int columns) {
    int end = columnOffset + columns;
    List<ShardWeights> pieces = new ArrayList<>();
    for (ShardWeights shard : of(table.name())) {
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
        pieces.add(ShardWeights.fresh(table, next, piece.columnOffset() - next));
      }
      next = piece.columnEnd();
    }
    if (next < end) {
      pieces.add(ShardWeights.fresh(table, next, end - next));
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
