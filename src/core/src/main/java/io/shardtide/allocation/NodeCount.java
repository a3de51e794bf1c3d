package io.shardtide.allocation;

import io.shardtide.pool.ThroughputCurve;
import java.util.Optional;

/**
 * A number of nodes that a workload may have.
 *
 * @param nodes number of nodes, 0 for none
 * @param devices devices on them that it uses; not all if fewer are as fast
 * @param samplesPerSecond predicted throughput; 0 if it is not predicted
 */
record NodeCount(int nodes, int devices, double samplesPerSecond) {
  /** What a workload has that is refused. */
  static final NodeCount NONE = new NodeCount(0, 0, 0);

  /** Returns that with the throughput of a curve; empty if it has none there. */
  static Optional<NodeCount> of(ThroughputCurve curve, int nodes, int devices) {
    return curve.samplesPerSecond(devices).stream()
        .mapToObj(samples -> new NodeCount(nodes, devices, samples))
        .findFirst();
  }
}
