package io.shardtide.growth;

import io.shardtide.workload.Limits;
import java.util.Optional;

/**
 * A table whose capacity is chosen.
 *
 * @param name unique in its workload
 * @param capacity slots that it has, 1 or more
 * @param bytesPerSlot bytes of a slot: weights, optimizer state, key and score; above 0
 * @param forecast how many ids it will have
 * @param evicts whether it makes room by itself: then it is never too full, and more slots are more
 *     lookups that find their id
 * @param hits which share of lookups finds its id, by slots
 * @param lookups lookups of a step, which weigh hits of one table against those of others
 */
public record HashedTable(
    String name,
    long capacity,
    double bytesPerSlot,
    Forecast forecast,
    boolean evicts,
    HitCurve hits,
    double lookups) {

  /**
   * Share of the slots that ids may take. A search for a slot ends after some probes, so that some
   * ids find none before all slots are taken: with linear probing of 128 slots (as many as
   * TorchRec's MPZCH tries) 0.01% of random ids at 80%, 0.3% at 90% and 3% at 100%, as
   * examples/dlrm counts them. And a table that is full stops to grow, which looks as if it had
   * room for ever.
   */
  public static final double LOAD_FACTOR = 0.8;

  /**
   * @throws IllegalArgumentException if a number is outside its range
   */
  public HashedTable {
    Limits.ARGUMENTS
        .atLeast("capacity", capacity, 1)
        .check(bytesPerSlot > 0, "bytes of a slot", "above 0", bytesPerSlot)
        .check(lookups >= 0, "lookups", "at least 0", lookups);
  }

  /** Returns how many ids the table holds before it is full. */
  double room() {
    return LOAD_FACTOR * capacity;
  }

  /** Returns the bytes that the table needs in some days; one that evicts needs what it has. */
  Range bytesNeeded(double days) {
    Range ids = evicts ? new Range(0, 0, 0) : forecast.in(days);
    return ids.times(1 / LOAD_FACTOR).atLeast((double) capacity).times(bytesPerSlot);
  }

  /**
   * Returns in how many days the table is full with so many slots; empty if it is not, or evicts.
   */
  Optional<Range> daysUntilFull(long slots) {
    return evicts ? Optional.empty() : forecast.daysUntilAbove(LOAD_FACTOR * slots);
  }
}
