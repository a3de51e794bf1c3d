package io.shardtide.growth;

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
    if (!(ids >= 0 && ids < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException("ids of a fill must be 0 or more, got " + ids);
    }
  }
}
