package io.shardtide.allocation;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationChange;
import io.shardtide.pool.AllocationQuality;
import io.shardtide.pool.Claim;
import io.shardtide.pool.NodeTransfer;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.RingPrediction;
import io.shardtide.pool.WorkloadAllocation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Allocates a pool: a pure function of its request. First the least claims, in the order of
 * priority; then the number of nodes of each workload ({@link NodeCounts}); then which nodes
 * ({@link NodeChoice}).
 */
public final class Allocator {
  private static final double GAP_TOLERANCE = 1e-9;

  private final AllocationRequest request;
  private final Pool pool;

  private Allocator(AllocationRequest request) {
    this.request = request;
    pool = request.state().pool().orElseThrow();
  }

  /** Returns the allocation that a request leads to. */
  public static Allocation allocate(AllocationRequest request) {
    return new Allocator(request).allocate();
  }

  private Allocation allocate() {
    List<Demand> demands =
        request.state().claims().values().stream()
            .map(claim -> Demand.of(request, claim, before(claim)))
            .toList();
    int nodes = pool.nodes().size();
    Admission.Admitted admission = Admission.admit(demands, nodes, request.policy());
    List<Demand> admitted = admission.demands();
    List<Demand> refused = demands.stream().filter(d -> !admitted.contains(d)).toList();
    int stopped = (int) refused.stream().filter(Demand::runs).count();
    NodeCounts counts = NodeCounts.decide(admitted, nodes, request.policy(), stopped);
    List<List<String>> chosen =
        NodeChoice.choose(pool.nodes(), pool.links(), admitted, counts.chosen());

    List<WorkloadAllocation> workloads = new ArrayList<>();
    double throughput = 0;
    double value = 0;
    double loss = 0;
    for (int w = 0; w < admitted.size(); w++) {
      Demand demand = admitted.get(w);
      NodeCount count = counts.chosen().get(w);
      throughput += demand.weighted(count);
      value += demand.value(count, request.policy());
      loss += Math.abs(count.nodes() - counts.fair()[w]);
      List<String> ranks = ranks(demand.claim(), chosen.get(w));
      Optional<RingPrediction> ring = ring(ranks);
      workloads.add(
          new WorkloadAllocation(
              demand.claim().workloadId(),
              ranks,
              count.devices(),
              count.samplesPerSecond(),
              counts.fair()[w],
              AllocationReasons.change(demand.before(), demand.held(), chosen.get(w)),
              AllocationReasons.describe(demand, before(demand.claim()), count, counts.fair()[w])
                  + ring.map(AllocationReasons::ranks).orElse(""),
              ring));
    }
    for (Demand demand : refused) {
      workloads.add(
          new WorkloadAllocation(
              demand.claim().workloadId(),
              List.of(),
              0,
              0,
              0,
              demand.runs() ? AllocationChange.STOPPED : AllocationChange.WAITS,
              AllocationReasons.refused(demand, admitted, nodes),
              Optional.empty()));
    }
    int adjusted = (int) workloads.stream().filter(w -> w.change().isAdjustment()).count();
    return new Allocation(
            "",
            request.state().id(),
            request.state().generation(),
            request.before().map(Allocation::allocationId),
            request.policy(),
            curveIds(),
            workloads,
            transfers(workloads),
            new AllocationQuality(
                throughput,
                admission.bound().isPresent()
                    ? gap(value, admission.bound().getAsDouble())
                    : counts.gap(),
                nodes == 0 ? 0 : loss / (2 * nodes),
                adjusted))
        .identified();
  }

  /** Returns by how much the optimum may be better at most; rounding is no difference. */
  private static double gap(double value, double bound) {
    return bound <= value + GAP_TOLERANCE * Math.abs(value) || bound <= 0
        ? 0
        : (bound - value) / bound;
  }

  private SortedMap<String, String> curveIds() {
    SortedMap<String, String> ids = new TreeMap<>();
    request.curves().forEach((workloadId, curve) -> ids.put(workloadId, curve.id()));
    ids.keySet().retainAll(request.state().claims().keySet());
    return ids;
  }

  /**
   * Returns a workload's nodes in the order of ranks. One that keeps its nodes keeps its ranks: to
   * number them otherwise would be an adjustment.
   *
   * @param nodes names, ascending
   */
  private List<String> ranks(Claim claim, List<String> nodes) {
    List<String> had = before(claim).map(WorkloadAllocation::nodes).orElse(List.of());
    if (nodes.equals(had.stream().sorted().toList())) {
      return had;
    }
    return pool.links().map(links -> RankOrder.of(links, nodes(nodes))).orElse(nodes);
  }

  private Optional<RingPrediction> ring(List<String> ranks) {
    return pool.links().flatMap(links -> RankOrder.predict(links, nodes(ranks)));
  }

  private List<PoolNode> nodes(List<String> names) {
    return names.stream().map(name -> pool.nodes().get(name)).toList();
  }

  private Optional<WorkloadAllocation> before(Claim claim) {
    return request.before().flatMap(allocation -> allocation.of(claim.workloadId()));
  }

  /** Returns the nodes that workloads no longer have. */
  private List<NodeTransfer> transfers(List<WorkloadAllocation> workloads) {
    Map<String, WorkloadAllocation> now = new HashMap<>();
    Map<String, WorkloadAllocation> holders = new HashMap<>();
    for (WorkloadAllocation workload : workloads) {
      now.put(workload.workloadId(), workload);
      workload.nodes().forEach(node -> holders.put(node, workload));
    }
    List<NodeTransfer> transfers = new ArrayList<>();
    for (WorkloadAllocation giver : request.before().map(Allocation::workloads).orElse(List.of())) {
      for (String node : giver.nodes()) {
        Optional<WorkloadAllocation> taker = Optional.ofNullable(holders.get(node));
        if (taker.filter(t -> t.workloadId().equals(giver.workloadId())).isEmpty()) {
          transfers.add(
              new NodeTransfer(
                  node,
                  giver.workloadId(),
                  taker.map(WorkloadAllocation::workloadId),
                  reason(node, giver, Optional.ofNullable(now.get(giver.workloadId())), taker)));
        }
      }
    }
    return transfers;
  }

  private String reason(
      String node,
      WorkloadAllocation before,
      Optional<WorkloadAllocation> giver,
      Optional<WorkloadAllocation> taker) {
    if (!pool.nodes().containsKey(node)) {
      return "the pool no longer has the node";
    }
    if (giver.isEmpty()) {
      return "%s withdrew its claim".formatted(before.workloadId());
    }
    String given = giver.get().workloadId() + " " + giver.get().reason() + "; ";
    return given
        + taker
            .map(t -> t.workloadId() + " " + t.reason())
            .orElse("no workload gains enough by the node");
  }
}
