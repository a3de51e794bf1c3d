package io.shardtide.trainer;

import io.shardtide.domain.Region;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The shards on a device. Their memory is accounted as in a plan, by {@link TableSpec#bytes(long,
 * int)}; parts of a table share the optimizer's state of their common rows until they are joined to
 * a shard. A shard that does not fit is rejected. Not thread-safe.
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
    return ofTable.stream().mapToLong(ShardWeights::elementBytes).sum()
        + ofTable.get(0).rowBytes(rows(ofTable));
  }

  /** Returns the number of rows of which a shard has elements. */
  private static long rows(List<ShardWeights> ofTable) {
    List<Region> regions =
        ofTable.stream()
            .map(ShardWeights::region)
            .sorted(Comparator.comparingLong(Region::rowOffset))
            .toList();
    long rows = 0;
    long counted = 0;
    for (Region region : regions) {
      rows += Math.max(0, region.rowEnd() - Math.max(counted, region.rowOffset()));
      counted = Math.max(counted, region.rowEnd());
    }
    return rows;
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

  /** Returns the shard of a table with the given region. */
  ShardWeights shard(String table, Region region) {
    return shardsOf(table).stream()
        .filter(shard -> shard.region().equals(region))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "%s has no shard of table %s with %s".formatted(name, table, text(region))));
  }

  private static String text(Region region) {
    return "columns %d to %d of rows %,d to %,d"
        .formatted(
            region.columnOffset(), region.columnEnd() - 1, region.rowOffset(), region.rowEnd() - 1);
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
          "%s of table %s need %,d bytes on %s, which has %,d of %,d bytes free"
              .formatted(
                  text(shard.region()),
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
    shards.remove(table);
  }

  /**
   * Cuts a table's shards to regions, and frees all other elements.
   *
   * @param regions disjoint regions, each within one shard
   */
  void cut(TableSpec table, List<Region> regions) {
    for (ShardWeights shard : shardsOf(table.name())) {
      remove(shard);
      List<Region> within =
          regions.stream()
              .filter(region -> region.intersection(shard.region()).isPresent())
              .toList();
      ShardWeights.regroup(table, List.of(shard), within).forEach(this::add);
    }
  }

  /**
   * Joins the shards within a region to one shard; initializes missing elements.
   *
   * @throws IllegalStateException if the shard does not fit
   */
  void complete(TableSpec table, Region region) {
    List<ShardWeights> pieces = new ArrayList<>();
    for (ShardWeights shard : shardsOf(table.name())) {
      if (region.intersection(shard.region()).isPresent()) {
        remove(shard);
        pieces.add(shard);
      }
    }
    put(ShardWeights.regroup(table, pieces, List.of(region)).get(0));
  }
}
