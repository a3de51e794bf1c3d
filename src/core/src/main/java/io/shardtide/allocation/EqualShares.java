package io.shardtide.allocation;

import java.util.List;
import java.util.Optional;

/**
 * What a pool gives if each workload has the same number of nodes: what allocations are compared
 * with.
 */
public final class EqualShares {
  private EqualShares() {}

  /**
   * Returns the weighted throughput with equal shares in whole nodes, in the unit of {@link
   * io.shardtide.pool.AllocationQuality#weightedThroughput}. What is left by rounding down goes, a
   * node each, to the first workloads that can use it.
   *
   * @param request a request; the allocation before is ignored
   */
  public static double weightedThroughput(AllocationRequest request) {
    int nodes = request.state().pool().orElseThrow().nodes().size();
    List<Demand> demands =
        request.state().claims().values().stream()
            .map(claim -> Demand.of(request, claim, Optional.empty()))
            .toList();
    List<Demand> admitted = Admission.admit(demands, nodes, request.policy()).demands();
    double[] shares = FairShares.of(admitted, nodes);
    int free = nodes;
    NodeCount[] equal = new NodeCount[shares.length];
    for (int w = 0; w < equal.length; w++) {
      equal[w] = admitted.get(w).atMost(shares[w]);
      free -= equal[w].nodes();
    }
    double sum = 0;
    for (int w = 0; w < equal.length; w++) {
      int more = admitted.get(w).option(equal[w].nodes() + 1);
      if (more >= 0 && free > 0 && equal[w].nodes() < shares[w]) {
        equal[w] = admitted.get(w).options().get(more);
        free--;
      }
      sum += admitted.get(w).weighted(equal[w]);
    }
    return sum;
  }
}
