package io.shardtide.search.local;

import io.shardtide.cost.DeviceLoad;
import io.shardtide.search.ShapeCosts;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Which device holds shards of which shapes, with the devices' loads. Two shards of one shape on
 * one device are interchangeable. Which columns a shard holds costs nothing and is decided at the
 * end, by {@link ShardLayout}.
 *
 * <p>Sums are exact ({@link io.shardtide.cost.TowerSums}): a change followed by its reverse
 * restores every bit.
 */
final class Assignment {
  private final ShapeCosts costs;
  private final int towerSize;

  /** Shards by table: their devices and shapes. */
  private final ShardBag[] ofTable;

  /** Shards by device: their tables and shapes. */
  private final ShardBag[] ofDevice;

  private final double[][] towerSums;
  private final int[] units;
  private final long[] bytes;

  /** Pairs of a device, or a table, and a shape, in no particular order. */
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

  /** Creates an assignment without shards. */
  Assignment(ShapeCosts costs, int towerSize, int tables, int devices) {
    this.costs = costs;
    this.towerSize = towerSize;
    ofTable = new ShardBag[tables];
    Arrays.setAll(ofTable, t -> new ShardBag());
    ofDevice = new ShardBag[devices];
    Arrays.setAll(ofDevice, d -> new ShardBag());
    towerSums = new double[devices][towerSize];
    units = new int[devices];
    bytes = new long[devices];
  }

  int tables() {
    return ofTable.length;
  }

  int devices() {
    return ofDevice.length;
  }

  /** Returns the shapes and their costs. */
  ShapeCosts costs() {
    return costs;
  }

  /** Returns how many shards a table has. */
  int shardsOfTable(int table) {
    return ofTable[table].count;
  }

  /** Returns the device of a table's shard {@code i}. */
  int device(int table, int i) {
    return ofTable[table].places[i];
  }

  /** Returns the columns of a table's shard {@code i}. */
  int columnsOfTable(int table, int i) {
    return costs.columns(ofTable[table].shapes[i]);
  }

  /** Returns how many shards a device has. */
  int shardsOfDevice(int device) {
    return ofDevice[device].count;
  }

  /** Returns the table of a device's shard {@code i}. */
  int table(int device, int i) {
    return ofDevice[device].places[i];
  }

  /** Returns the shape of a device's shard {@code i}. */
  int shapeOfDevice(int device, int i) {
    return ofDevice[device].shapes[i];
  }

  /** Returns how many columns of a table a device holds, in all its shards. */
  int columns(int table, int device) {
    ShardBag shards = ofTable[table];
    int columns = 0;
    for (int i = 0; i < shards.count; i++) {
      if (shards.places[i] == device) {
        columns += costs.columns(shards.shapes[i]);
      }
    }
    return columns;
  }

  /** Returns the shape of one of a device's shards of a table, or {@link ShapeCosts#NONE}. */
  int shape(int table, int device) {
    ShardBag shards = ofTable[table];
    for (int i = 0; i < shards.count; i++) {
      if (shards.places[i] == device) {
        return shards.shapes[i];
      }
    }
    return ShapeCosts.NONE;
  }

  /** Returns the all-to-all load of a device, in units of {@link ShapeCosts#elementsPerUnit}. */
  int allToAllUnits(int device) {
    return units[device];
  }

  /** Returns the bytes of a device's shards. */
  long bytes(int device) {
    return bytes[device];
  }

  /** Returns the sum of a device's tower outputs; must not be changed. */
  double[] towerSum(int device) {
    return towerSums[device];
  }

  /** Returns the load of each device. */
  List<DeviceLoad> loads() {
    List<DeviceLoad> loads = new ArrayList<>();
    for (ShardBag shards : ofDevice) {
      DeviceLoad load = new DeviceLoad(towerSize);
      for (int i = 0; i < shards.count; i++) {
        load.add(costs.load(shards.shapes[i]));
      }
      loads.add(load);
    }
    return loads;
  }

  /**
   * Replaces one of a device's shards of a table.
   *
   * @param before its shape; {@link ShapeCosts#NONE} adds a shard
   * @param after its new shape; {@link ShapeCosts#NONE} removes the shard
   */
  void edit(int table, int device, int before, int after) {
    ofTable[table].edit(device, before, after);
    ofDevice[device].edit(table, before, after);
    shift(towerSums[device], before, after);
    units[device] += costs.allToAllUnits(after) - costs.allToAllUnits(before);
    bytes[device] += costs.load(after).bytes() - costs.load(before).bytes();
  }

  /** Subtracts the tower output of one shape from a sum and adds that of another. */
  void shift(double[] sum, int before, int after) {
    double[] removed = costs.load(before).tower();
    double[] added = costs.load(after).tower();
    if (before != ShapeCosts.NONE) {
      for (int k = 0; k < towerSize; k++) {
        sum[k] -= removed[k];
      }
    }
    if (after != ShapeCosts.NONE) {
      for (int k = 0; k < towerSize; k++) {
        sum[k] += added[k];
      }
    }
  }
}
