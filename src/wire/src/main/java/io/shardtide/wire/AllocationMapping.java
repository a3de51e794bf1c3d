package io.shardtide.wire;

import io.shardtide.avro.CurveReference;
import io.shardtide.domain.pool.Allocation;
import io.shardtide.domain.pool.AllocationChange;
import io.shardtide.domain.pool.AllocationPolicy;
import io.shardtide.domain.pool.AllocationQuality;
import io.shardtide.domain.pool.NodeTransfer;
import io.shardtide.domain.pool.RingPrediction;
import io.shardtide.domain.pool.WorkloadAllocation;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** Allocations of pools. */
final class AllocationMapping {
  private AllocationMapping() {}

  static io.shardtide.avro.Allocation toAvro(Allocation allocation) {
    AllocationPolicy policy = allocation.policy();
    AllocationQuality quality = allocation.quality();
    return new io.shardtide.avro.Allocation(
        allocation.allocationId(),
        allocation.poolId(),
        allocation.generation(),
        allocation.previousId().orElse(null),
        new io.shardtide.avro.AllocationPolicy(
            policy.adjustedAtOnce(),
            policy.fairnessLoss(),
            policy.adjustmentSeconds(),
            policy.paybackSeconds(),
            policy.solverIterations()),
        allocation.curveIds().entrySet().stream()
            .map(curve -> new CurveReference(curve.getKey(), curve.getValue()))
            .toList(),
        allocation.workloads().stream()
            .map(
                w ->
                    new io.shardtide.avro.WorkloadAllocation(
                        w.workloadId(),
                        w.nodes(),
                        w.devices(),
                        w.samplesPerSecond(),
                        w.fairNodes(),
                        io.shardtide.avro.AllocationChange.valueOf(w.change().name()),
                        w.reason(),
                        w.ring().map(AllocationMapping::toAvro).orElse(null)))
            .toList(),
        allocation.transfers().stream()
            .map(
                t ->
                    new io.shardtide.avro.NodeTransfer(
                        t.node(), t.from(), t.to().orElse(null), t.reason()))
            .toList(),
        new io.shardtide.avro.AllocationQuality(
            quality.weightedThroughput(),
            quality.gap(),
            quality.fairnessLoss(),
            quality.adjusted()));
  }

  static Allocation fromAvro(io.shardtide.avro.Allocation avro) {
    io.shardtide.avro.AllocationPolicy policy = avro.getPolicy();
    io.shardtide.avro.AllocationQuality quality = avro.getQuality();
    SortedMap<String, String> curveIds = new TreeMap<>();
    avro.getCurves().forEach(curve -> curveIds.put(curve.getWorkloadId(), curve.getCurveId()));
    return new Allocation(
        avro.getAllocationId(),
        avro.getPoolId(),
        avro.getGeneration(),
        Optional.ofNullable(avro.getPreviousId()),
        new AllocationPolicy(
            policy.getAdjustedAtOnce(),
            policy.getFairnessLoss(),
            policy.getAdjustmentSeconds(),
            policy.getPaybackSeconds(),
            policy.getSolverIterations()),
        curveIds,
        avro.getWorkloads().stream()
            .map(
                w ->
                    new WorkloadAllocation(
                        w.getWorkloadId(),
                        w.getNodes(),
                        w.getDevices(),
                        w.getSamplesPerSecond(),
                        w.getFairNodes(),
                        AllocationChange.valueOf(w.getChange().name()),
                        w.getReason(),
                        Optional.ofNullable(w.getRing()).map(AllocationMapping::fromAvro)))
            .toList(),
        avro.getTransfers().stream()
            .map(
                t ->
                    new NodeTransfer(
                        t.getNode(), t.getFrom(), Optional.ofNullable(t.getTo()), t.getReason()))
            .toList(),
        new AllocationQuality(
            quality.getWeightedThroughput(),
            quality.getGap(),
            quality.getFairnessLoss(),
            quality.getAdjusted()));
  }

  private static io.shardtide.avro.RingPrediction toAvro(RingPrediction ring) {
    return new io.shardtide.avro.RingPrediction(
        ring.gigabytesPerSecond(),
        ring.byNameGigabytesPerSecond(),
        ring.mostGigabytesPerSecond(),
        ring.slowestPairGigabytesPerSecond());
  }

  private static RingPrediction fromAvro(io.shardtide.avro.RingPrediction ring) {
    return new RingPrediction(
        ring.getGigabytesPerSecond(),
        ring.getByNameGigabytesPerSecond(),
        ring.getMostGigabytesPerSecond(),
        ring.getSlowestPairGigabytesPerSecond());
  }
}
