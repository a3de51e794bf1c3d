package io.shardtide.plan;

import java.util.List;

/**
 * Tables whose moves are made together. When the wave is finished, all its tables are sharded as in
 * the new plan, and those of later waves still as before.
 *
 * @param tables names of the tables, those first whose moves gain most
 * @param steps the moves: in any order and at once, or in this order if {@code stopsTraining}
 * @param bytes bytes that are sent, to all devices together; what goes through a host counts twice
 * @param stopsTraining whether no step may run while the shards move: they go through host memory,
 *     or come from a device that is gone
 * @param durationMs how long the transfers take, in milliseconds. If each move is sent evenly over
 *     this time, no device sends or receives faster than it may
 * @param lostMs how much longer training takes because of the wave, in milliseconds: steps are
 *     slower during the transfers, or stop, and stop while shards change places at the end
 */
public record MoveWave(
    List<String> tables,
    List<MoveStep> steps,
    long bytes,
    boolean stopsTraining,
    double durationMs,
    double lostMs) {
  /** Copies what may change. */
  public MoveWave {
    tables = List.copyOf(tables);
    steps = List.copyOf(steps);
  }
}
