package io.shardtide.replay;

import java.util.List;
import java.util.Optional;

/**
 * How recomputed allocations compare with the recorded ones.
 *
 * @param equal number of allocations that are equal
 * @param different number of allocations that differ
 * @param notReproduced number of allocations that miss an input
 * @param first the first one that is not equal, in the order of the log, of the pool whose id comes
 *     first
 * @param notes what else a person should know
 */
public record AllocationReplayResult(
    int equal, int different, int notReproduced, Optional<Difference> first, List<String> notes) {
  /** Copies the list. */
  public AllocationReplayResult {
    notes = List.copyOf(notes);
  }

  /** Returns the number of recorded allocations. */
  public int size() {
    return equal + different + notReproduced;
  }

  /** Returns whether every recorded allocation was reproduced. */
  public boolean isEqual() {
    return different == 0 && notReproduced == 0;
  }
}
