package io.shardtide.plan;

import java.util.List;

/**
 * The moves of a plan in waves that yield to training: they take a share of each device's link, and
 * steps go on with the rest of it. A function of the plan and the settings alone; {@code
 * shardtide.waves} in Python returns the same.
 *
 * <p>All moves of a table are in one wave, so that a table is sharded in one way at any time. A
 * shard that moves exists twice until its wave is finished, and no device is above its memory at
 * any time. A device may receive if it has room for all that it will hold and has yet to send, or
 * if everything has left it that leaves before in {@link PlanMoves#moveOrder}. Where full devices
 * block one another, the tables that they wait for move in that order while training stops.
 *
 * <p>Waves are as few as memory and {@link WaveSettings#longestMs} allow, because each ends with a
 * stop. Tables with the largest explained gain per byte come first: their gain then begins first.
 * Before them come tables with parts on devices that are gone, without which no step can run.
 *
 * @param waves the waves in their order; none if nothing moves
 * @param stepMs predicted step of the plan, in milliseconds
 * @param slowedStepMs the same while shards move: collectives wait for the device whose link moves
 *     share most
 */
public record MoveWaves(List<MoveWave> waves, double stepMs, double slowedStepMs) {
  /** Copies what may change. */
  public MoveWaves {
    waves = List.copyOf(waves);
  }

  /** Returns the waves of a plan's moves from {@link PlanOrigin#previousPlanId}. */
  public static MoveWaves of(ShardingPlan plan, WaveSettings settings) {
    return new WavePartition(plan, settings).waves();
  }

  /** Returns how long all transfers take, one wave after another, in milliseconds. */
  public double durationMs() {
    return waves.stream().reduce(0.0, (sum, wave) -> sum + wave.durationMs(), Double::sum);
  }

  /** Returns how much longer training takes because of all waves, in milliseconds. */
  public double lostMs() {
    return waves.stream().reduce(0.0, (sum, wave) -> sum + wave.lostMs(), Double::sum);
  }
}
