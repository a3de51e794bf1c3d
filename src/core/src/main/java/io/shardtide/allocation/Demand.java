package io.shardtide.allocation;

import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.Claim;
import io.shardtide.pool.Pool;
import io.shardtide.pool.ThroughputCurve;
import io.shardtide.pool.WorkloadAllocation;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.IntStream;

/**
 * What a workload may have, and what it has.
 *
 * @param claim its claim
 * @param options numbers of nodes that it may have, ascending; none if it can have none of the pool
 * @param before nodes that it had
 * @param held names of those nodes that the pool still has, ascending
 * @param refusal why there are no options, for people; empty if there are some
 */
record Demand(Claim claim, List<NodeCount> options, int before, List<String> held, String refusal) {
  /** Copies what may change. */

  /**
   * Returns the demand of a claim.
   *
   * @param request the pool, the policy, and the workload's throughput; without one it keeps the
   *     nodes that it has
   * @param claim the claim
   * @param before what it had
   */
  static Demand of(AllocationRequest request, Claim claim, Optional<WorkloadAllocation> before) {
    Pool pool = request.state().pool().orElseThrow();
    Optional<ThroughputCurve> curve = Optional.ofNullable(request.curves().get(claim.workloadId()));
    List<String> had = before.map(WorkloadAllocation::nodes).orElse(List.of());
    List<String> held =
        had.stream().filter(node -> pool.nodes().containsKey(node)).sorted().toList();
    Optional<WorkloadAllocation> kept = before.filter(w -> w.nodes().size() == held.size());
    List<NodeCount> options = new ArrayList<>();
    for (int nodes : pool.counts(claim).toArray()) {
      int devices = pool.devices(claim, nodes);
      if (curve.isPresent()) {
        count(claim, curve.get(), nodes, devices, kept, request.policy()).ifPresent(options::add);
      } else if (nodes == held.size()) {
        options.add(new NodeCount(nodes, devices, 0));
      }
    }
    return new Demand(
        claim, options, had.size(), held, options.isEmpty() ? refusal(pool, claim, curve) : "");
  }

  /**
   * Returns a number of nodes with the fewest devices that are as fast as all of them. A workload
   * that keeps its nodes keeps its devices, unless others pay for an adjustment.
   */
  private static Optional<NodeCount> count(
      Claim claim,
      ThroughputCurve curve,
      int nodes,
      int devices,
      Optional<WorkloadAllocation> kept,
      AllocationPolicy policy) {
    int fewest = Math.max(curve.fewest(devices), claim.leastDevices());
    Optional<NodeCount> best = NodeCount.of(curve, nodes, fewest);
    double price = 1 + policy.adjustmentPrice();
    return kept.filter(w -> w.nodes().size() == nodes)
        .filter(w -> w.devices() >= claim.leastDevices() && w.devices() <= devices)
        .flatMap(w -> NodeCount.of(curve, nodes, w.devices()))
        .filter(
            now ->
                best.filter(b -> b.samplesPerSecond() > now.samplesPerSecond() * price).isEmpty())
        .or(() -> best);
  }

  private static String refusal(Pool pool, Claim claim, Optional<ThroughputCurve> curve) {
    OptionalInt most = pool.counts(claim).max();
    if (most.isEmpty()) {
      return "claims at least %s devices, %s; the pool has %s"
          .formatted(
              claim.leastDevices(),
              nodes(pool.nodesFor(claim.leastDevices())),
              nodes(pool.nodes().size()));
    }
    if (curve.isEmpty()) {
      return "has no predicted throughput yet";
    }
    return "does not fit on %s, %s devices, the most that it may have"
        .formatted(nodes(most.getAsInt()), pool.devices(claim, most.getAsInt()));
  }

  /** Returns a number of nodes in words. */
  static String nodes(int count) {
    return count == 1 ? "1 node" : count + " nodes";
  }

  /** Returns whether it has nodes now. */
  boolean runs() {
    return before > 0;
  }

  /** Returns whether its nodes change whatever is decided: it lost one, or may not keep as many. */
  boolean mustChange() {
    return runs() && (held.size() < before || option(held.size()) < 0);
  }

  /** Returns whether a number of nodes stops what runs, for a while. */
  boolean isAdjustment(NodeCount count) {
    return runs() && (mustChange() || held.size() != count.nodes());
  }

  /** Returns the weighted throughput with a number of nodes. */
  double weighted(NodeCount count) {
    return claim.weight() * count.samplesPerSecond();
  }

  /** Returns the weighted throughput with a number of nodes, less the price of an adjustment. */
  double value(NodeCount count, AllocationPolicy policy) {
    return weighted(count)
        - (isAdjustment(count) ? policy.adjustmentPrice() * weighted(atMost(held.size())) : 0);
  }

  /** Returns the position of the option with so many nodes, or a negative number. */
  int option(int nodes) {
    return IntStream.range(0, options.size())
        .filter(o -> options.get(o).nodes() == nodes)
        .findFirst()
        .orElse(-1);
  }

  /** Returns the least number of nodes. */
  int leastNodes() {
    return options.get(0).nodes();
  }

  /** Returns the greatest number of nodes. */
  int mostNodes() {
    return options.get(options.size() - 1).nodes();
  }

  /** Returns the option with at most so many nodes, or the first. */
  NodeCount atMost(double nodes) {
    return options.stream()
        .filter(option -> option.nodes() <= nodes)
        .reduce(options.get(0), (less, more) -> more);
  }
}
