package io.shardtide.search;

import io.shardtide.cost.DeviceLoad;
import io.shardtide.cost.Tiers;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardScope;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A plan while it is searched: of each table a {@link Way} and the {@linkplain Places places} of
 * its parts, with the devices' loads, and of each collective its candidate. Which columns a part
 * holds costs nothing and is decided at the end, by {@link ShardLayout}.
 *
 * <p>Everything is a flat array. Sums are exact ({@link io.shardtide.cost.TowerSums}): a change
 * followed by its reverse restores every bit.
 */
final class State {
  final Places places;
  final int devices;
  final int sumSize;

  /** The way of each table; null if it has no part. */
  final Way[] way;

  /** The places of each table's parts, and how many there are: changed by methods of this alone. */
  final int[][] at;

  final int[] count;

  /** Where each part is in the list of its place. */
  private final int[][] slot;

  /** The parts at each place: their tables, and which part of the table each is. */
  final int[][] tableAt;

  final int[][] partAt;

  /** How many parts are at each place; of a device, only those with all rows. */
  final int[] countAt;

  /** Sums of towers, one device after another. */
  final double[] sums;

  final int[] units;
  final int[] unitsOfNode;

  /** Bytes by tier and device. */
  final long[][] bytes;

  final int[] parts;

  /** What collectives depend on, but for the largest loads. */
  final Communication.Loads collectives;

  /** Bytes of device memory that a step needs on each device without parts. */
  private final long stepBytes;

  /** Bytes that each device may hold, by tier and device. */
  final long[][] memory;

  /** Creates a state without parts, of devices that need so many bytes for a step without them. */
  State(int tables, int sumSize, Places places, long stepBytes, ClusterSpec cluster) {
    this(tables, sumSize, places, stepBytes, Tiers.limits(cluster));
  }

  private State(int tables, int sumSize, Places places, long stepBytes, long[][] memory) {
    this.places = places;
    this.sumSize = sumSize;
    this.stepBytes = stepBytes;
    this.memory = memory;
    devices = places.devices;
    way = new Way[tables];
    at = new int[tables][1];
    slot = new int[tables][1];
    count = new int[tables];
    tableAt = new int[places.count()][4];
    partAt = new int[places.count()][4];
    countAt = new int[places.count()];
    sums = new double[devices * sumSize];
    units = new int[devices];
    unitsOfNode = new int[places.nodes];
    collectives = new Communication.Loads(places.nodes);
    bytes = new long[Tiers.COUNT][devices];
    Arrays.fill(bytes[Tiers.DEVICE], stepBytes);
    parts = new int[devices];
  }

  /** Returns a state of the same parts and collectives. */
  State copy() {
    State copy = new State(way.length, sumSize, places, stepBytes, memory);
    for (int t = 0; t < way.length; t++) {
      for (int i = 0; i < count[t]; i++) {
        copy.add(t, way[t], at[t][i]);
      }
    }
    copy.choose(collectives.chosen);
    return copy;
  }

  int tables() {
    return way.length;
  }

  /** Returns whether all parts of a table are at places. */
  boolean isComplete(int table) {
    return way[table] != null && count[table] == way[table].parts;
  }

  /** Returns whether a part of a table is at a place. */
  boolean isAt(int table, int place) {
    int[] of = at[table];
    for (int i = 0; i < count[table]; i++) {
      if (of[i] == place) {
        return true;
      }
    }
    return false;
  }

  /** Returns how many bytes of a device's memory are free. */
  long room(int device) {
    return memory[Tiers.DEVICE][device] - bytes[Tiers.DEVICE][device];
  }

  /** Returns whether a device has room for so many more bytes of each tier. */
  boolean hasRoom(int device, long[] more) {
    for (int tier = 0; tier < Tiers.COUNT; tier++) {
      if (more[tier] > 0 && bytes[tier][device] + more[tier] > memory[tier][device]) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether a part of a table, or its first one, may be added at a place. */
  boolean mayAdd(int table, Way of, int place) {
    if (isAt(table, place)) {
      return false;
    }
    boolean isFirst = count[table] == 0 && of.onAll != null;
    for (int d = 0; isFirst && d < devices; d++) {
      if (!hasRoom(d, of.onAll.load.memory())) {
        return false;
      }
    }
    for (int d = places.first[place]; d < places.end[place]; d++) {
      if (!hasRoom(d, isFirst ? of.memory : of.load.memory())) {
        return false;
      }
    }
    return true;
  }

  /** Returns the load of each device. */
  List<DeviceLoad> loads() {
    List<DeviceLoad> loads = new ArrayList<>();
    for (int d = 0; d < devices; d++) {
      loads.add(new DeviceLoad(sumSize, stepBytes));
    }
    for (int t = 0; t < way.length; t++) {
      if (count[t] > 0 && way[t].onAll != null) {
        for (DeviceLoad load : loads) {
          load.add(way[t].onAll.load);
        }
      }
      for (int i = 0; i < count[t]; i++) {
        for (int d = places.first[at[t][i]]; d < places.end[at[t][i]]; d++) {
          loads.get(d).add(way[t].load);
        }
      }
    }
    return loads;
  }

  /** Adds a part of a table, whose other parts must have the same way. */
  void add(int table, Way of, int place) {
    if (count[table] == 0) {
      way[table] = of;
      if (of.onAll != null) {
        shift(of.onAll, places.firstOf(ShardScope.COPIES), 1);
      }
    }
    int i = count[table]++;
    if (i == at[table].length) {
      at[table] = Arrays.copyOf(at[table], 2 * i);
      slot[table] = Arrays.copyOf(slot[table], 2 * i);
    }
    at[table][i] = place;
    enlist(table, i, place);
    shift(of, place, 1);
  }

  private void enlist(int table, int part, int place) {
    int s = countAt[place]++;
    if (s == tableAt[place].length) {
      tableAt[place] = Arrays.copyOf(tableAt[place], 2 * s);
      partAt[place] = Arrays.copyOf(partAt[place], 2 * s);
    }
    tableAt[place][s] = table;
    partAt[place][s] = part;
    slot[table][part] = s;
  }

  private void delist(int table, int part) {
    int place = at[table][part];
    int s = slot[table][part];
    int last = --countAt[place];
    int movedTable = tableAt[place][last];
    int movedPart = partAt[place][last];
    tableAt[place][s] = movedTable;
    partAt[place][s] = movedPart;
    slot[movedTable][movedPart] = s;
  }

  /** Removes a part of a table; its last part takes its number. */
  void remove(int table, int part) {
    Way of = way[table];
    shift(of, at[table][part], -1);
    delist(table, part);
    int last = --count[table];
    if (part != last) {
      at[table][part] = at[table][last];
      slot[table][part] = slot[table][last];
      partAt[at[table][part]][slot[table][part]] = part;
    }
    if (last == 0) {
      way[table] = null;
      if (of.onAll != null) {
        shift(of.onAll, places.firstOf(ShardScope.COPIES), -1);
      }
    }
  }

  /** Removes all parts of a table. */
  void clear(int table) {
    while (count[table] > 0) {
      remove(table, count[table] - 1);
    }
  }

  /**
   * Gives a table a way and places.
   *
   * @param to places of its parts, the first of them {@code n}
   */
  void set(int table, Way of, int[] to, int n) {
    if (way[table] == of && count[table] == n) {
      for (int i = 0; i < n; i++) {
        if (at[table][i] != to[i]) {
          shift(of, at[table][i], -1);
          delist(table, i);
          at[table][i] = to[i];
          enlist(table, i, to[i]);
          shift(of, to[i], 1);
        }
      }
      return;
    }
    clear(table);
    for (int i = 0; i < n; i++) {
      add(table, of, to[i]);
    }
  }

  /** Sets the candidate of each collective. */
  void choose(int[] candidates) {
    System.arraycopy(candidates, 0, collectives.chosen, 0, candidates.length);
  }

  /** Adds a part's loads to the devices of its place, or takes them away. */
  private void shift(Way of, int place, int sign) {
    collectives.add(of, places, place, sign);
    for (int d = places.first[place]; d < places.end[place]; d++) {
      shift(sums, d * sumSize, of, sign);
      units[d] += sign * of.units;
      unitsOfNode[places.nodeOf[d]] += sign * of.units;
      Tiers.add(bytes, d, of.load.memory(), sign);
      parts[d] += sign;
    }
  }

  /** Adds the tower outputs of a part to a sum that begins at a position, or subtracts them. */
  static void shift(double[] sums, int at, Way of, int sign) {
    double[] tower = of.load.tower();
    if (sign > 0) {
      for (int k = of.from; k < of.to; k++) {
        sums[at + k] += tower[k];
      }
    } else {
      for (int k = of.from; k < of.to; k++) {
        sums[at + k] -= tower[k];
      }
    }
  }
}
