package io.shardtide.allocation;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.ThroughputCurve;
import java.util.Map;
import java.util.Optional;

/**
 * Everything that shapes an allocation.
 *
 * @param state the pool and the claims; the pool must be set
 * @param curves the predicted throughput of the workloads by their ids, of those that have one;
 *     curves of workloads without a claim are ignored
 * @param before the allocation before, if there was one
 * @param policy the policy
 */
public record AllocationRequest(
    PoolState state,
    Map<String, ThroughputCurve> curves,
    Optional<Allocation> before,
    AllocationPolicy policy) {
  /** Copies what may change. */
  public AllocationRequest {
    curves = Map.copyOf(curves);
    if (state.pool().isEmpty()) {
      throw new IllegalArgumentException(
          "the pool must be set, got generation %s of pool %s without one"
              .formatted(state.generation(), state.id()));
    }
  }
}
