package io.shardtide.pool;

import io.shardtide.workload.Limits;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A request for the throughput of a workload on devices of a pool, from now on. It replaces the
 * pool's request before it.
 *
 * @param poolId the pool
 * @param workloadId the workload
 * @param type the pool without its nodes: what its devices are
 * @param devices numbers of devices to predict, ascending; none if the claim is withdrawn
 */
public record CurveRequest(String poolId, String workloadId, Pool type, List<Integer> devices) {
  /** Copies the list. */
  public CurveRequest {
    Limits.ARGUMENTS.check(type.nodes().isEmpty(), "nodes of a type", "none", type.nodes().size());
    devices = List.copyOf(devices);
  }

  /** Returns a request for a claim that a workload has. */
  public static CurveRequest of(
      String poolId, String workloadId, Pool pool, List<Integer> devices) {
    return new CurveRequest(
        poolId, workloadId, pool.with(new TreeMap<>(), Optional.empty()), devices);
  }

  /** Returns the request after the claim is withdrawn. */
  public CurveRequest withdrawn() {
    return new CurveRequest(poolId, workloadId, type, List.of());
  }

  /** Returns whether the claim is withdrawn. */
  public boolean isWithdrawn() {
    return devices.isEmpty();
  }
}
