package io.shardtide.plan;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
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
 * <p>Copies are made last: they free nothing, so that no other move waits for them.
 *
 * <p>Of cached tables, only what a cache holds counts: of a part that stays, the smaller one of
 * both plans, because caches shrink before the first step and grow after the last.
 *
 * <p>Each part is counted with the optimizer's state of its rows, although parts of one shard share
 * it: a device has at least the room that is counted.
 */
final class MoveOrder {
  private static final TreeSet<Integer> NONE = new TreeSet<>();

  private static final int HERE = 0;
  private static final int AT_HOST = 1;
  private static final int MADE = 2;

  private final List<Transfer> moves;
  private final DeviceBytes bytes;
  private final long[] room;
  private final int[] state;
  private final List<MoveStep> steps = new ArrayList<>();

  /** Moves that wait for memory, by their receiving device. */
  private final SortedMap<Integer, TreeSet<Integer>> waiting = new TreeMap<>();

  /** Devices that freed memory, in the order of their numbers. */
  private final TreeSet<Integer> freed = new TreeSet<>();

  private MoveOrder(List<Transfer> moves, DeviceBytes bytes, long[] room) {
    this.moves = moves;
    this.bytes = bytes;
    this.room = room;
    state = new int[moves.size()];
  }

  /**
   * Returns the steps.
   *
   * @param previous the first plan
   * @param next the second plan, with the same replica groups
   * @param tables the tables of the second plan by name
   * @param cluster the devices of the new plan; the memory of removed devices is not tracked
   */
  static List<MoveStep> of(
      PlanShards previous, PlanShards next, Map<String, TableSpec> tables, ClusterSpec cluster) {
    List<Overlap> overlaps = Overlap.between(previous, next);
    DeviceBytes bytes = new DeviceBytes(previous, next, tables);
    long[] room = new long[cluster.devices()];
    Arrays.setAll(room, cluster.usableMemory()::bytes);
    for (Overlap overlap : overlaps) {
      long held = overlap.changesDevice() ? bytes.before(overlap) : bytes.staying(overlap);
      if (overlap.fromDevice() == Shard.EVERY_DEVICE) {
        // A device that has yet to get its copy is in an overlap of its own.
        boolean isHeld = overlap.toDevice() == Shard.EVERY_DEVICE;
        for (int d = 0; d < room.length; d++) {
          room[d] -= isHeld ? held : d == overlap.toDevice() ? -held : 0;
        }
      } else if (overlap.fromDevice() < room.length) {
        room[overlap.fromDevice()] -= held;
      }
    }
    return new MoveOrder(Overlap.moves(overlaps, tables, next), bytes, room).order();
  }

  private List<MoveStep> order() {
    for (int m = 0; m < moves.size(); m++) {
      if (!moves.get(m).overlap().isCopied()) {
        waiting.computeIfAbsent(moves.get(m).toDevice(), d -> new TreeSet<>()).add(m);
      }
    }
    for (int device : waiting.keySet()) {
      freed.add(device);
      fillFreed();
    }
    for (int m = smallestBlocking(); m >= 0; m = smallestBlocking()) {
      add(m, MoveStep.Stage.TO_HOST);
      state[m] = AT_HOST;
      free(m);
      fillFreed();
    }
    // Everything that leaves has left; moves that still lack memory lack a rounding of bytes, or
    // the state of rows that parts share.
    for (int m = 0; m < moves.size(); m++) {
      if (state[m] != MADE && !moves.get(m).overlap().isCopied()) {
        make(m);
      }
    }
    for (int m = 0; m < moves.size(); m++) {
      if (moves.get(m).overlap().isCopied()) {
        add(m, MoveStep.Stage.DIRECT);
      }
    }
    return steps;
  }

  /** Makes the moves that fit, and those that fit then. */
  private void fillFreed() {
    while (!freed.isEmpty()) {
      int device = freed.pollFirst();
      for (int m : List.copyOf(waiting.getOrDefault(device, NONE))) {
        if (room[device] >= bytes.after(moves.get(m).overlap())) {
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
    room[moves.get(m).toDevice()] -= bytes.after(moves.get(m).overlap());
    if (!atHost) {
      free(m);
    }
  }

  private void free(int m) {
    int device = moves.get(m).fromDevice();
    if (device < room.length) {
      room[device] += bytes.before(moves.get(m).overlap());
      freed.add(device);
    }
  }

  private void add(int m, MoveStep.Stage stage) {
    steps.add(new MoveStep(m, stage));
  }

  /** Returns the smallest move that is still on a device another move waits for, or -1. */
  private int smallestBlocking() {
    int smallest = -1;
    for (int m = 0; m < moves.size(); m++) {
      Transfer move = moves.get(m);
      TreeSet<Integer> queue = waiting.get(move.fromDevice());
      if (state[m] == HERE
          && !move.overlap().isCopied()
          && queue != null
          && !queue.isEmpty()
          && (smallest < 0 || move.bytes() < moves.get(smallest).bytes())) {
        smallest = m;
      }
    }
    return smallest;
  }
}
