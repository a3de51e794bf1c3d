package io.shardtide.plan;

import io.shardtide.workload.Limits;
import java.util.OptionalDouble;

/**
 * How much of a cached table's use its cache does not serve.
 *
 * @param table name of the table
 * @param lookupShare share of its lookups that go to rows which are in host memory only, 0 to 1,
 *     where the most used rows are in device memory
 * @param known from what the share is known
 * @param leastShare share of its rows that the cache needs at once, above 0 and at most 1, if it
 *     holds fewer: rows are evicted before they are used, so that it is worse than no cache
 */
public record CacheMisses(
    String table, double lookupShare, UseKnowledge known, OptionalDouble leastShare) {
  /** Checks the shares. */
  public CacheMisses {
    Limits.ARGUMENTS
        .within("share of lookups that a cache misses", lookupShare, 0, 1)
        .above("share of rows that a cache needs", leastShare.orElse(1), 0, 1);
  }

  /** Returns what the share is worth, for people; empty if it is known for any cache. */
  public String reservation() {
    return switch (known) {
      case ACCESS_CDF -> "";
      case REUSE_HISTOGRAM -> "estimated from its reuse histogram";
      case NONE -> "its use is unknown, all rows count alike";
    };
  }
}
