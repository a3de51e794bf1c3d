package io.shardtide.domain.pool;

import io.shardtide.domain.ClusterSpec;
import java.util.Optional;

/**
 * The answer to a {@link CurveRequest}. It replaces the workload's report before it.
 *
 * @param poolId the pool
 * @param workloadId the workload
 * @param predicted the curve; empty if the workload is deleted
 */
public record CurveReport(String poolId, String workloadId, Optional<PredictedCurve> predicted) {
  /**
   * A curve, and the workload's cluster.
   *
   * @param cluster the workload's cluster in the curve's generation
   * @param curve the curve
   */
  public record PredictedCurve(ClusterSpec cluster, ThroughputCurve curve) {
    /** Checks that both have one batch size. */
    public PredictedCurve {
      if (cluster.batchSize() != curve.batchSize()) {
        throw new IllegalArgumentException(
            "batchSize of a curve must be that of the cluster, %s, got %s"
                .formatted(cluster.batchSize(), curve.batchSize()));
      }
    }
  }

  /** Returns the curve, if the workload exists. */
  public Optional<ThroughputCurve> curve() {
    return predicted.map(PredictedCurve::curve);
  }
}
