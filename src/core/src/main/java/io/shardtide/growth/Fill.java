package io.shardtide.growth;

import io.shardtide.workload.Limits;

/**
 * How many ids a table has at a time.
 *
 * @param atMs milliseconds since 1970, by the clock of who reports it
 * @param ids distinct ids, 0 or more
 */
public record Fill(long atMs, double ids) {
  /**
   * @throws IllegalArgumentException if the ids are negative or no number
   */
  public Fill {
    Limits.ARGUMENTS.within("ids of a fill", ids, 0, Double.MAX_VALUE);
  }
}
