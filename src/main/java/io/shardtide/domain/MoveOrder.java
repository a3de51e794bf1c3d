package io.shardtide.domain;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * Finds an order in which moves can be made one after another with no device above its memory.
 *
 * <p>A device begins with the columns and rows that both plans hold: everything that the new plan
 * does not hold is freed before the first step, and new rows are initialised after the last. A step
 * needs memory on the receiving device before the sending one frees its own. Where full devices
 * block one another, the smallest move that frees a blocked move's device goes through host memory.
 * A device above its memory, because that shrank, receives nothing until it is below.
 *
 * <p>Parts of a table with the same rows share the optimizer's state of these rows while they are
 * on one device, since they are cut from one shard or are joined to one.
 */
final class MoveOrder {
  private static final TreeSet<Integer> NONE = new TreeSet<>();

  private static final int HERE = 0;
  private static final int AT_HOST = 1;
  private static final int MADE = 2;

  private final List<Move> moves;
  private final Map<String, TableSpec> tables;
  private final long[] room;
  private final int[] state;
  private final List<MoveStep> steps = new ArrayList<>();

  /** Moves that wait for memory, by their receiving device. */
  private final Map<Integer, TreeSet<Integer>> waiting = new HashMap<>();

  /** Devices that freed memory, in the order of their numbers. */
  private final TreeSet<Integer> freed = new TreeSet<>();

  /** How many parts of the same rows a device holds. */
  private final Map<HeldRows, Integer> parts = new HashMap<>();

  /** Rows of a table of which a device holds columns. */
  private record HeldRows(int device, String table, long rowOffset, long rows) {}

  private MoveOrder(List<Overlap> overlaps, Map<String, TableSpec> tables, ClusterSpec cluster) {
    this.tables = tables;
    moves = Overlap.moves(overlaps, tables);
    state = new int[moves.size()];
    room = new long[cluster.devices()];
    Arrays.fill(room, cluster.usableBytesPerDevice());
    for (Overlap overlap : overlaps) {
      receive(overlap.fromDevice(), overlap);
    }
  }

  /**
   * Returns the steps.
   *
   * @param overlaps what both plans hold
   * @param tables the tables of the new plan by name
   * @param cluster the devices of the new plan; the memory of removed devices is not tracked
   */
  static List<MoveStep> of(
      List<Overlap> overlaps, Map<String, TableSpec> tables, ClusterSpec cluster) {
    return new MoveOrder(overlaps, tables, cluster).order();
  }

  private List<MoveStep> order() {
    for (int m = 0; m < moves.size(); m++) {
      waiting.computeIfAbsent(moves.get(m).toDevice(), d -> new TreeSet<>()).add(m);
    }
    List.copyOf(waiting.keySet()).stream().sorted().forEach(this::fill);
    for (int m = smallestBlocking(); m >= 0; m = smallestBlocking()) {
      add(m, MoveStep.Stage.TO_HOST);
      state[m] = AT_HOST;
      free(m);
      fillFreed();
    }
    // Everything that leaves has left; moves that still lack memory lack a rounding of bytes.
    for (int m = 0; m < moves.size(); m++) {
      if (state[m] != MADE) {
        make(m);
      }
    }
    return steps;
  }

  private void fill(int device) {
    freed.add(device);
    fillFreed();
  }

  /** Makes the moves that fit, and those that fit then. */
  private void fillFreed() {
    while (!freed.isEmpty()) {
      int device = freed.pollFirst();
      for (int m : List.copyOf(waiting.getOrDefault(device, NONE))) {
        if (room[device] >= bytes(device, moves.get(m).overlap())) {
          waiting.get(device).remove(m);
          make(m);
        }
      }
    }
  }

  private void make(int m) {
    boolean atHost = state[m] == AT_HOST;
    add(m, atHost ? MoveStep.Stage.FROM_HOST : MoveStep.Stage.DIRECT);
    state[m] = MADE;
    receive(moves.get(m).toDevice(), moves.get(m).overlap());
    if (!atHost) {
      free(m);
    }
  }

  private void free(int m) {
    int device = moves.get(m).fromDevice();
    if (device < room.length) {
      Overlap left = moves.get(m).overlap();
      parts.merge(rows(device, left), -1, Integer::sum);
      room[device] += bytes(device, left);
      freed.add(device);
    }
  }

  private void receive(int device, Overlap part) {
    if (device < room.length) {
      room[device] -= bytes(device, part);
      parts.merge(rows(device, part), 1, Integer::sum);
    }
  }

  /** Returns the bytes that a part needs on a device beside the parts that are there. */
  private long bytes(int device, Overlap part) {
    boolean sharesRows = parts.getOrDefault(rows(device, part), 0) > 0;
    return part.bytes(tables)
        - (sharesRows ? tables.get(part.table()).bytes(part.region().rows(), 0) : 0);
  }

  private static HeldRows rows(int device, Overlap part) {
    Region region = part.region();
    return new HeldRows(device, part.table(), region.rowOffset(), region.rows());
  }

  private void add(int m, MoveStep.Stage stage) {
    steps.add(new MoveStep(m, stage));
  }

  /** Returns the smallest move that is still on a device another move waits for, or -1. */
  private int smallestBlocking() {
    int smallest = -1;
    for (int m = 0; m < moves.size(); m++) {
      Move move = moves.get(m);
      TreeSet<Integer> queue = waiting.get(move.fromDevice());
      if (state[m] == HERE
          && queue != null
          && !queue.isEmpty()
          && (smallest < 0 || move.bytes() < moves.get(smallest).bytes())) {
        smallest = m;
      }
    }
    return smallest;
  }
}
