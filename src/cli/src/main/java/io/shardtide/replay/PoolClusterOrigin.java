package io.shardtide.replay;

import static io.shardtide.wire.TopicType.ALLOCATIONS;
import static io.shardtide.wire.TopicType.THROUGHPUT_CURVES;

import io.shardtide.allocation.PoolStep;
import io.shardtide.pool.Allocation;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;

/**
 * The allocation that gave a workload its cluster.
 *
 * @param poolId the pool
 * @param allocationId the allocation; empty if it is not recorded
 * @param generation the pool's generation of that allocation; empty if it is not recorded
 * @param devices devices that the workload got
 * @param reason why it got them, for people; empty if the allocation is not recorded
 */
public record PoolClusterOrigin(
    String poolId,
    Optional<String> allocationId,
    Optional<Long> generation,
    int devices,
    Optional<String> reason) {

  /** Returns the cluster that a pool's event gives its workload; empty for other events. */
  static Optional<ClusterSpec> cluster(WorkloadChange event) {
    return event.source().startsWith(PoolStep.SOURCE_PREFIX)
            && event.changes().size() == 1
            && event.changes().get(0) instanceof Change.ClusterSet set
        ? Optional.of(set.cluster())
        : Optional.empty();
  }

  /**
   * Finds the allocation that an event came from: the event's id tells it.
   *
   * @param event an event with a {@link #cluster}
   * @throws IOException if the records cannot be read
   */
  static PoolClusterOrigin find(LogRecords records, WorkloadChange event) throws IOException {
    ClusterSpec cluster = cluster(event).orElseThrow();
    String poolId = event.source().substring(PoolStep.SOURCE_PREFIX.length());
    Set<Long> curves = new HashSet<>();
    records.read(
        THROUGHPUT_CURVES,
        report ->
            report
                .curve()
                .filter(curve -> report.poolId().equals(poolId))
                .filter(curve -> curve.workloadId().equals(event.workloadId()))
                .ifPresent(curve -> curves.add(curve.generation())));
    Optional<Allocation> allocation =
        records
            .all(ALLOCATIONS, of -> of.poolId().equals(poolId) && sent(of, event, cluster, curves))
            .stream()
            .reduce((before, last) -> last);
    return new PoolClusterOrigin(
        poolId,
        allocation.map(Allocation::allocationId),
        allocation.map(Allocation::generation),
        cluster.devices(),
        allocation.flatMap(a -> a.of(event.workloadId())).map(w -> w.reason()));
  }

  private static boolean sent(
      Allocation allocation, WorkloadChange event, ClusterSpec cluster, Set<Long> curves) {
    String workload = event.workloadId();
    return allocation.of(workload).filter(w -> w.devices() == cluster.devices()).isPresent()
        && curves.stream()
            .anyMatch(
                curve ->
                    PoolStep.clusterEventId(allocation.allocationId(), workload, curve, cluster)
                        .equals(event.eventId()));
  }
}
