package io.shardtide.pool;

import io.shardtide.workload.ClusterSpec;
import java.util.Optional;

/**
 * State of a workload whose throughput may be requested, besides its tables.
 *
 * @param generation the workload's generation
 * @param cluster its cluster; empty while it has none, and after its deletion
 * @param request the request of the pool that it has a claim on
 * @param report the curve that was published last, if one was since the request's pool came
 * @param inputId SHA-256 of what that curve depends on; empty before the first
 */
public record CurveState(
    long generation,
    Optional<ClusterSpec> cluster,
    Optional<CurveRequest> request,
    Optional<CurveReport> report,
    String inputId) {
  /** A workload that nothing is known of. */
  public static final CurveState NONE =
      new CurveState(0, Optional.empty(), Optional.empty(), Optional.empty(), "");

  /** Returns the state after a generation of the workload. */
  public CurveState with(long next, Optional<ClusterSpec> nextCluster) {
    return new CurveState(next, nextCluster, request, report, inputId);
  }

  /** Returns the state after a request; nothing is kept of a pool that withdrew it. */
  public CurveState with(CurveRequest next) {
    return next.isWithdrawn()
        ? new CurveState(generation, cluster, Optional.empty(), Optional.empty(), "")
        : new CurveState(generation, cluster, Optional.of(next), report, inputId);
  }

  /** Returns the state after a curve was published. */
  public CurveState with(CurveReport next, String nextInputId) {
    return new CurveState(generation, cluster, request, Optional.of(next), nextInputId);
  }
}
