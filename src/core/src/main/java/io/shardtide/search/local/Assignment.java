package io.shardtide.search.local;

import io.shardtide.cost.DeviceLoad;
import io.shardtide.cost.ShapeLoad;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ShardScope;
import io.shardtide.search.ShapeCosts;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Which {@linkplain Places place} holds parts of which shapes, with the devices' loads. Two parts
 * of one shape at one place are interchangeable. Which columns a part holds costs nothing and is
 * decided at the end, by {@link ShardLayout}.
 *
 * <p>Sums are exact ({@link io.shardtide.cost.TowerSums}): a change followed by its reverse
 * restores every bit.
 */
final class Assignment {
  private final ShapeCosts costs;
  private final Places places;
  private final int sumSize;

  /** Parts by table: their places and shapes. */
  private final ShardBag[] ofTable;

  /** Parts by place: their tables and shapes. */
  private final ShardBag[] ofPlace;

  private final double[][] towerSums;
  private final int[] units;
  private final int[] nodeUnits;
  private double rowElements;
  private double copyElements;
  private final long[] bytes;
  private final long[] hostBytes;
  private final long memory;
  private final long hostMemory;
  private final int[] parts;
  private int totalUnits;

  /** Pairs of a place, or a table, and a shape, in no particular order. */
  private static final class ShardBag {
    private int[] places = new int[4];
    private int[] shapes = new int[4];
    private int count;

    void edit(int place, int before, int after) {
      if (before == ShapeCosts.NONE) {
        if (count == places.length) {
          places = Arrays.copyOf(places, 2 * count);
          shapes = Arrays.copyOf(shapes, 2 * count);
        }
        places[count] = place;
        shapes[count++] = after;
        return;
      }
      int i = 0;
      while (places[i] != place || shapes[i] != before) {
        i++;
      }
      if (after == ShapeCosts.NONE) {
        places[i] = places[--count];
        shapes[i] = shapes[count];
      } else {
        shapes[i] = after;
      }
    }
  }

  /** Creates an assignment without parts. */
  Assignment(ShapeCosts costs, int sumSize, int tables, Places places, ClusterSpec cluster) {
    this(
        costs,
        sumSize,
        tables,
        places,
        cluster.usableBytesPerDevice(),
        cluster.hostMemoryBytesPerDevice());
  }

  private Assignment(
      ShapeCosts costs, int sumSize, int tables, Places places, long memory, long hostMemory) {
    this.memory = memory;
    this.hostMemory = hostMemory;
    this.costs = costs;
    this.places = places;
    this.sumSize = sumSize;
    ofTable = new ShardBag[tables];
    Arrays.setAll(ofTable, t -> new ShardBag());
    ofPlace = new ShardBag[places.count()];
    Arrays.setAll(ofPlace, place -> new ShardBag());
    towerSums = new double[places.devices()][sumSize];
    units = new int[places.devices()];
    nodeUnits = new int[places.nodes()];
    bytes = new long[places.devices()];
    hostBytes = new long[places.devices()];
    parts = new int[places.devices()];
  }

  /** Returns an assignment of the same parts. */
  Assignment copy() {
    Assignment copy = new Assignment(costs, sumSize, ofTable.length, places, memory, hostMemory);
    for (int t = 0; t < ofTable.length; t++) {
      for (int i = 0; i < ofTable[t].count; i++) {
        copy.edit(t, ofTable[t].places[i], ShapeCosts.NONE, ofTable[t].shapes[i]);
      }
    }
    return copy;
  }

  int tables() {
    return ofTable.length;
  }

  int devices() {
    return units.length;
  }

  /** Returns the places. */
  Places places() {
    return places;
  }

  /** Returns the shapes and their costs. */
  ShapeCosts costs() {
    return costs;
  }

  /** Returns how many parts a table has. */
  int shardsOfTable(int table) {
    return ofTable[table].count;
  }

  /** Returns the place of a table's part {@code i}. */
  int place(int table, int i) {
    return ofTable[table].places[i];
  }

  /** Returns the shape of a table's part {@code i}. */
  int shapeOfTable(int table, int i) {
    return ofTable[table].shapes[i];
  }

  /** Returns the columns of a table's part {@code i}. */
  int columnsOfTable(int table, int i) {
    return costs.columns(ofTable[table].shapes[i]);
  }

  /** Returns how many parts are at a place; of a device, only those with all rows. */
  int shardsOfPlace(int place) {
    return ofPlace[place].count;
  }

  /** Returns how many parts a device works on, the split ones and the copies among them. */
  int partsOfDevice(int device) {
    return parts[device];
  }

  /** Returns the table of a place's part {@code i}. */
  int table(int place, int i) {
    return ofPlace[place].places[i];
  }

  /** Returns the shape of a place's part {@code i}. */
  int shapeOfPlace(int place, int i) {
    return ofPlace[place].shapes[i];
  }

  /** Returns how many columns of a table are at places. */
  int placedColumns(int table) {
    ShardBag shards = ofTable[table];
    int columns = 0;
    for (int i = 0; i < shards.count; i++) {
      columns += costs.columns(shards.shapes[i]);
    }
    return columns;
  }

  /** Returns how many columns of a table a place holds, in all its parts. */
  int columns(int table, int place) {
    ShardBag shards = ofTable[table];
    int columns = 0;
    for (int i = 0; i < shards.count; i++) {
      if (shards.places[i] == place) {
        columns += costs.columns(shards.shapes[i]);
      }
    }
    return columns;
  }

  /** Returns the shape of one of a place's parts of a table, or {@link ShapeCosts#NONE}. */
  int shape(int table, int place) {
    ShardBag shards = ofTable[table];
    for (int i = 0; i < shards.count; i++) {
      if (shards.places[i] == place) {
        return shards.shapes[i];
      }
    }
    return ShapeCosts.NONE;
  }

  /**
   * Returns the all-to-all load of a device, in units of {@link
   * ShapeCosts#elementsPerAllToAllUnit}.
   */
  int allToAllUnits(int device) {
    return units[device];
  }

  /** Returns the all-to-all load of all devices together, in the same units. */
  int totalUnits() {
    return totalUnits;
  }

  /** Returns the load of the parts that are split over a node, in units of its own. */
  int nodeUnits(int node) {
    return nodeUnits[node];
  }

  /** Returns the numbers that parts with rows on all devices contribute to their collectives. */
  double rowElements() {
    return rowElements;
  }

  /** Returns the numbers that copies contribute to their collective. */
  double copyElements() {
    return copyElements;
  }

  /** Returns the bytes of a device's parts in its memory. */
  long bytes(int device) {
    return bytes[device];
  }

  /** Returns whether a part of a shape fits on each device of a place, besides what is there. */
  boolean hasRoom(int place, int shape) {
    ShapeLoad load = costs.load(shape);
    for (int d = places.first(place); d < places.end(place); d++) {
      if (!hasRoom(d, load.bytes(), load.hostBytes())) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether a device has room for so many more bytes of its memory and of host memory. */
  boolean hasRoom(int device, long moreBytes, long moreHostBytes) {
    return (moreBytes <= 0 || bytes[device] + moreBytes <= memory)
        && (moreHostBytes <= 0 || hostBytes[device] + moreHostBytes <= hostMemory);
  }

  /** Returns whether a part of a shape fits on a device without others. */
  boolean fitsAlone(int shape) {
    ShapeLoad load = costs.load(shape);
    return load.bytes() <= memory && load.hostBytes() <= hostMemory;
  }

  /** Returns by how many bytes a device's parts exceed its memory. */
  long excess(int device) {
    return bytes[device] - memory;
  }

  /** Returns by how many bytes a device's cached parts exceed its host memory. */
  long hostExcess(int device) {
    return hostBytes[device] - hostMemory;
  }

  /** Returns the sum of a device's tower outputs; must not be changed. */
  double[] towerSum(int device) {
    return towerSums[device];
  }

  /** Returns the load of each device. */
  List<DeviceLoad> loads() {
    List<DeviceLoad> loads = new ArrayList<>();
    for (int d = 0; d < devices(); d++) {
      loads.add(new DeviceLoad(sumSize));
    }
    for (int place = 0; place < ofPlace.length; place++) {
      for (int i = 0; i < ofPlace[place].count; i++) {
        for (int d = places.first(place); d < places.end(place); d++) {
          loads.get(d).add(costs.load(ofPlace[place].shapes[i]));
        }
      }
    }
    return loads;
  }

  /**
   * Replaces one of a place's parts of a table.
   *
   * @param before its shape; {@link ShapeCosts#NONE} adds a part
   * @param after its new shape; {@link ShapeCosts#NONE} removes the part
   */
  void edit(int table, int place, int before, int after) {
    ofTable[table].edit(place, before, after);
    ofPlace[place].edit(table, before, after);
    ShardScope scope = places.scope(place);
    if (scope == ShardScope.NODE) {
      nodeUnits[places.node(place)] += costs.nodeUnits(after) - costs.nodeUnits(before);
    } else if (scope == ShardScope.CLUSTER) {
      rowElements += elements(scope, after) - elements(scope, before);
    } else if (scope == ShardScope.COPIES) {
      copyElements += elements(scope, after) - elements(scope, before);
    }
    int moreUnits = costs.allToAllUnits(after) - costs.allToAllUnits(before);
    totalUnits += moreUnits * places.size(place);
    long moreBytes = costs.load(after).bytes() - costs.load(before).bytes();
    long moreHostBytes = costs.load(after).hostBytes() - costs.load(before).hostBytes();
    int moreParts = (after == ShapeCosts.NONE ? 0 : 1) - (before == ShapeCosts.NONE ? 0 : 1);
    for (int d = places.first(place); d < places.end(place); d++) {
      shift(towerSums[d], before, after);
      units[d] += moreUnits;
      bytes[d] += moreBytes;
      hostBytes[d] += moreHostBytes;
      parts[d] += moreParts;
    }
  }

  private double elements(ShardScope scope, int shape) {
    ShapeLoad load = costs.load(shape);
    return load.scope() == scope ? load.elements() : 0;
  }

  /** Subtracts the tower output of one shape from a sum and adds that of another. */
  void shift(double[] sum, int before, int after) {
    double[] removed = costs.load(before).tower();
    double[] added = costs.load(after).tower();
    if (before != ShapeCosts.NONE) {
      for (int k = 0; k < sumSize; k++) {
        sum[k] -= removed[k];
      }
    }
    if (after != ShapeCosts.NONE) {
      for (int k = 0; k < sumSize; k++) {
        sum[k] += added[k];
      }
    }
  }
}
