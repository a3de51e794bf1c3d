package io.shardtide.replay;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.ThroughputCurve;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * The records that led to an allocation of a pool.
 *
 * @param allocation the allocation
 * @param previous the allocation before; empty for the first one, or if it is not recorded
 * @param state the pool and the claims that were allocated; empty if their events are not recorded
 * @param events events since the allocation before, in order
 * @param curves the curves that it was made from, by workload
 * @param equalShares weighted throughput with equal shares, in samples a second; empty if an input
 *     of the allocation is not recorded
 * @param others ids of the other allocations of this generation, in order
 * @param later events that came after this generation and that no allocation covers yet
 * @param unallocated claims of such events on which no allocation decided yet, with the reason
 */
public record AllocationProvenance(
    Allocation allocation,
    Optional<Allocation> previous,
    Optional<PoolState> state,
    List<PlanProvenance.ProvenanceEvent> events,
    List<UsedCurve> curves,
    OptionalDouble equalShares,
    List<String> others,
    List<PlanProvenance.ProvenanceEvent> later,
    List<UnallocatedClaim> unallocated) {

  /**
   * A curve that an allocation names.
   *
   * @param workloadId the workload
   * @param curveId the curve
   * @param curve the curve itself, if it is recorded
   * @param previous the curve that the allocation before was made from; empty if that named none,
   *     or it is not recorded
   * @param isNew whether the allocation before was made from another curve, or none
   * @param simulated whether its cost model was trained on simulated costs; empty without the model
   */
  public record UsedCurve(
      String workloadId,
      String curveId,
      Optional<ThroughputCurve> curve,
      Optional<ThroughputCurve> previous,
      boolean isNew,
      Optional<Boolean> simulated) {}

  /**
   * A claim that waits for its first allocation.
   *
   * @param workloadId the workload
   * @param reason why it waits, for people
   */
  public record UnallocatedClaim(String workloadId, String reason) {}

  /** Returns whether a throughput was predicted by a model that was trained on simulated costs. */
  public boolean isSimulated() {
    return curves.stream().anyMatch(curve -> curve.simulated().orElse(false));
  }
}
