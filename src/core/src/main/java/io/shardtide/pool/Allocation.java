package io.shardtide.pool;

import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.Limits;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Which nodes of a pool each workload has, and why: a function of the pool's state, the curves, the
 * allocation before and the policy.
 *
 * @param allocationId SHA-256 of the other components in hexadecimal digits
 * @param poolId the pool
 * @param generation the pool's generation
 * @param previousId the allocation before, if there was one
 * @param policy the policy
 * @param curveIds ids of the curves that it was made from, by workload
 * @param workloads what each workload with a claim has, in the order of their ids
 * @param transfers nodes that a workload no longer has, in the order of their names
 * @param quality how good it is
 */
@RecordBuilder
public record Allocation(
    String allocationId,
    String poolId,
    long generation,
    Optional<String> previousId,
    AllocationPolicy policy,
    SortedMap<String, String> curveIds,
    List<WorkloadAllocation> workloads,
    List<NodeTransfer> transfers,
    AllocationQuality quality) {
  private static final String FORMAT = "allocation 1";

  /** Sorts the workloads and checks that no node is given twice. */
  public Allocation {
    curveIds = Collections.unmodifiableSortedMap(new TreeMap<>(curveIds));
    workloads =
        workloads.stream().sorted(Comparator.comparing(WorkloadAllocation::workloadId)).toList();
    transfers = transfers.stream().sorted(Comparator.comparing(NodeTransfer::node)).toList();
    Limits.ARGUMENTS.different(
        "nodes of workloads", workloads.stream().flatMap(w -> w.nodes().stream()));
  }

  /** Returns the allocation with its id. */
  public Allocation identified() {
    return AllocationBuilder.builder(this).allocationId(hash()).build();
  }

  /** Returns whether the id is that of the other components. */
  public boolean hasValidId() {
    return allocationId.equals(hash());
  }

  /** Returns what a workload has; empty if it has no claim. */
  public Optional<WorkloadAllocation> of(String workloadId) {
    return workloads.stream().filter(w -> w.workloadId().equals(workloadId)).findFirst();
  }

  /** Returns the workloads that have nodes, by the names of the nodes. */
  public SortedMap<String, String> holders() {
    SortedMap<String, String> holders = new TreeMap<>();
    workloads.forEach(w -> w.nodes().forEach(node -> holders.put(node, w.workloadId())));
    return holders;
  }

  private String hash() {
    CanonicalHash hash = new CanonicalHash(FORMAT);
    hash.put(poolId).put(generation).put(previousId).put(policy).put(curveIds);
    hash.putAll(
        workloads,
        w -> {
          hash.put(w.workloadId())
              .put(w.nodes())
              .put(w.devices())
              .put(w.samplesPerSecond())
              .put(w.fairNodes())
              .put(w.change())
              .put(w.reason());
          // Allocations of pools without links keep the ids that they had before there were any.
          w.ring().ifPresent(hash::put);
        });
    return hash.put(transfers).put(quality).hex();
  }
}
