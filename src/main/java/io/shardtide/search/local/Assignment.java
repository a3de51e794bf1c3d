package io.shardtide.search.local;

import io.shardtide.search.ShardCosts;
import java.util.Arrays;

/**
 * Which device holds how many columns of which table, in which shards, with the sums that costs are
 * made of. Shards of a table of the same width on the same device are alike. Which columns a shard
 * holds costs nothing and is decided at the end, by {@link ShardLayout}.
 *
 * <p>Sums are exact ({@link io.shardtide.cost.TowerSums}), so that a change and its reverse leave
 * every bit as it was.
 */
final class Assignment {
  private final ShardCosts costs;
  private final int towerSize;

  /** Shards by table. */
  private final Shards[] ofTable;

  /** Shards by device. */
  private final Shards[] ofDevice;

  private final double[][] sums;
  private final int[] columns;
  private final long[] bytes;

  /** Pairs of a device, or a table, and a width; a small bag. */
  private static final class Shards {
    private int[] places = new int[4];
    private int[] widths = new int[4];
    private int count;

    void edit(int place, int before, int after) {
      if (before == 0) {
        if (count == places.length) {
          places = Arrays.copyOf(places, 2 * count);
          widths = Arrays.copyOf(widths, 2 * count);
        }
        places[count] = place;
        widths[count++] = after;
        return;
      }
      int i = 0;
      while (places[i] != place || widths[i] != before) {
        i++;
      }
      if (after == 0) {
        places[i] = places[--count];
        widths[i] = widths[count];
      } else {
        widths[i] = after;
      }
    }
  }

  /** Begins with nothing on any device. */
  Assignment(ShardCosts costs, int towerSize, int tables, int devices) {
    this.costs = costs;
    this.towerSize = towerSize;
    ofTable = new Shards[tables];
    Arrays.setAll(ofTable, t -> new Shards());
    ofDevice = new Shards[devices];
    Arrays.setAll(ofDevice, d -> new Shards());
    sums = new double[devices][towerSize];
    columns = new int[devices];
    bytes = new long[devices];
  }

  int tables() {
    return ofTable.length;
  }

  int devices() {
    return ofDevice.length;
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
  int widthOfTable(int table, int i) {
    return ofTable[table].widths[i];
  }

  /** Returns how many shards a device has. */
  int shardsOfDevice(int device) {
    return ofDevice[device].count;
  }

  /** Returns the table of a device's shard {@code i}. */
  int table(int device, int i) {
    return ofDevice[device].places[i];
  }

  /** Returns the columns of a device's shard {@code i}. */
  int widthOfDevice(int device, int i) {
    return ofDevice[device].widths[i];
  }

  /** Returns how many columns of a table a device holds, in all its shards. */
  int width(int table, int device) {
    Shards shards = ofTable[table];
    int width = 0;
    for (int i = 0; i < shards.count; i++) {
      if (shards.places[i] == device) {
        width += shards.widths[i];
      }
    }
    return width;
  }

  /** Returns the columns of one of a device's shards of a table; 0 if it has none. */
  int shardWidth(int table, int device) {
    Shards shards = ofTable[table];
    for (int i = 0; i < shards.count; i++) {
      if (shards.places[i] == device) {
        return shards.widths[i];
      }
    }
    return 0;
  }

  int columns(int device) {
    return columns[device];
  }

  long bytes(int device) {
    return bytes[device];
  }

  /** Returns the sum of a device's towers; not to be written to. */
  double[] sum(int device) {
    return sums[device];
  }

  /** Returns what a shard would cost a device that holds nothing else, in milliseconds. */
  double aloneMs(int table, int width) {
    return costs.get(table, width).aloneMs();
  }

  /** Returns bytes of a shard. */
  long bytes(int table, int width) {
    return width == 0 ? 0 : costs.get(table, width).bytes();
  }

  /**
   * Changes the width of one of a device's shards of a table.
   *
   * @param before its width now; 0 for a shard that is not there yet
   * @param after its width from now on; 0 takes it away
   */
  void edit(int table, int device, int before, int after) {
    ofTable[table].edit(device, before, after);
    ofDevice[device].edit(table, before, after);
    shift(sums[device], table, before, after);
    columns[device] += after - before;
    bytes[device] += bytes(table, after) - bytes(table, before);
  }

  /** Takes a shard of one width from a sum and adds one of another. */
  void shift(double[] sum, int table, int before, int after) {
    if (before > 0) {
      double[] tower = costs.get(table, before).tower();
      for (int k = 0; k < towerSize; k++) {
        sum[k] -= tower[k];
      }
    }
    if (after > 0) {
      double[] tower = costs.get(table, after).tower();
      for (int k = 0; k < towerSize; k++) {
        sum[k] += tower[k];
      }
    }
  }
}
