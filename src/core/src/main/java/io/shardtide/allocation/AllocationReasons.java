package io.shardtide.allocation;

import io.shardtide.pool.AllocationChange;
import io.shardtide.pool.RingPrediction;
import io.shardtide.pool.WorkloadAllocation;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Says in words why workloads have the nodes that they have. Part of an allocation's id. */
final class AllocationReasons {
  private AllocationReasons() {}

  /** Says why an admitted workload has its nodes. */
  static String describe(
      Demand demand, Optional<WorkloadAllocation> before, NodeCount now, double fair) {
    String share = String.format(Locale.ROOT, "its fair share is %.1f", fair);
    int had = demand.before();
    int lost = had - demand.held().size();
    String what;
    if (had == 0) {
      what = "starts on %s, %s devices".formatted(Demand.nodes(now.nodes()), now.devices());
    } else if (now.nodes() == had) {
      what = "keeps %s".formatted(Demand.nodes(had));
    } else {
      what =
          "%s from %s to %s: its throughput %s"
              .formatted(
                  now.nodes() > had ? "grows" : "shrinks",
                  Demand.nodes(had),
                  now.nodes(),
                  change(before.map(WorkloadAllocation::samplesPerSecond).orElse(0.0), now));
    }
    if (lost > 0) {
      what += "; the pool lost %s of it".formatted(Demand.nodes(lost));
    }
    return what + "; " + share;
  }

  /** Says what the order of ranks gains; empty if nothing. */
  static String ranks(RingPrediction ring) {
    return ring.gain() > 1
        ? String.format(
            Locale.ROOT,
            "; a ring of its nodes is %.1f times as fast in this order as by name, %.1f GB/s",
            ring.gain(),
            ring.gigabytesPerSecond())
        : "";
  }

  /** Says why a workload has no nodes although it could use some. */
  static String refused(Demand demand, List<Demand> admitted, int nodes) {
    if (!demand.refusal().isEmpty()) {
      return demand.refusal();
    }
    int priority = demand.claim().priority();
    int taken =
        admitted.stream()
            .filter(a -> a.claim().priority() >= priority)
            .mapToInt(Demand::leastNodes)
            .sum();
    return "needs at least %s; workloads of priority %s and above need %s of the pool's %s at least"
        .formatted(Demand.nodes(demand.leastNodes()), priority, taken, nodes);
  }

  /** Returns what changes for a workload. */
  static AllocationChange change(int before, List<String> held, List<String> now) {
    if (before == 0) {
      return now.isEmpty() ? AllocationChange.WAITS : AllocationChange.STARTED;
    }
    if (now.isEmpty()) {
      return AllocationChange.STOPPED;
    }
    if (now.size() != before) {
      return now.size() > before ? AllocationChange.GREW : AllocationChange.SHRANK;
    }
    return now.equals(held) ? AllocationChange.KEPT : AllocationChange.MOVED;
  }

  private static String change(double before, NodeCount now) {
    if (before == 0 || now.samplesPerSecond() == 0) {
      return "is not predicted";
    }
    double percent = 100 * (now.samplesPerSecond() / before - 1);
    return String.format(
        Locale.ROOT, "%s by %.1f%%", percent < 0 ? "falls" : "rises", Math.abs(percent));
  }
}
