package io.shardtide.growth;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Newest;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * What the growth step stores of a workload beside its tables.
 *
 * @param generation the latest generation that was predicted
 * @param cluster its cluster; empty before the first prediction, and once it is deleted
 * @param fixedBytes bytes of the tables that are not hashed
 * @param reports ids of the latest reports, the oldest first
 * @param runs the latest runs that reported, the oldest first; the last one is followed
 */
public record GrowthState(
    long generation,
    Optional<ClusterSpec> cluster,
    double fixedBytes,
    List<String> reports,
    List<String> runs) {

  /** A client's retries end within seconds, so that duplicates follow closely. */
  public static final int REMEMBERED_REPORTS = 32;

  /** A trainer, its successor, and some that came between. */
  public static final int REMEMBERED_RUNS = 8;

  /** Before the first prediction, and after a deletion. */
  public static final GrowthState NONE =
      new GrowthState(0, Optional.empty(), 0, List.of(), List.of());

  /** Copies the lists. */
  public GrowthState {
    Objects.requireNonNull(cluster, "cluster");
    reports = List.copyOf(reports);
    runs = List.copyOf(runs);
  }

  GrowthState with(long newGeneration, ClusterSpec newCluster, double bytes) {
    return new GrowthState(newGeneration, Optional.of(newCluster), bytes, reports, runs);
  }

  /** Returns this after a report. */
  GrowthState reported(String reportId, String run) {
    List<String> others = new ArrayList<>(runs);
    others.remove(run);
    return new GrowthState(
        generation,
        cluster,
        fixedBytes,
        Newest.with(reports, reportId, REMEMBERED_REPORTS),
        Newest.with(others, run, REMEMBERED_RUNS));
  }
}
