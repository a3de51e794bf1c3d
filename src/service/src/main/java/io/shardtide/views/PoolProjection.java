package io.shardtide.views;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationQuality;
import io.shardtide.pool.Claim;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.NodeTransfer;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolHistory;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.ThroughputCurve;
import io.shardtide.pool.WorkloadAllocation;
import io.shardtide.views.PoolView.LostNode;
import io.shardtide.views.PoolView.PastTransfer;
import io.shardtide.views.PoolView.PoolRow;
import io.shardtide.views.PoolView.PoolShare;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** One pool, bounded in size. Its events are applied as the planner applies them. */
final class PoolProjection {
  /** How many of the latest allocations are kept: a chart shows no more. */
  static final int HISTORY = 300;

  /**
   * How many workloads with devices all kept allocations have together: 100 bytes each. 300
   * allocations of 66 workloads, or 20 of 1,000, which is the most that a pool has.
   */
  static final int HISTORY_SHARES = 20_000;

  /** How many of the latest lost nodes are kept: names of new machines may always be new. */
  static final int LOST = 100;

  /** How many nodes are kept with the latest transfer from a workload. */
  static final int TRANSFERS = 2_000;

  private final Map<String, LostNode> lost = new LinkedHashMap<>();
  private final Map<String, ThroughputCurve> curves = new LinkedHashMap<>();
  private final Map<String, PastTransfer> transfers = new LinkedHashMap<>();
  private final Deque<PastAllocation> history = new ArrayDeque<>();

  /** Number of devices from a generation on. */
  private final TreeMap<Long, Integer> devicesFrom = new TreeMap<>();

  private final PoolHistory events;
  private Optional<Allocation> latest = Optional.empty();
  private Optional<Instant> allocatedAt = Optional.empty();
  private Optional<Instant> changedAt = Optional.empty();
  private int historyShares;

  PoolProjection(String id) {
    events = new PoolHistory(id);
  }

  /** Returns whether the pool is set, or allocated. */
  boolean exists() {
    return events.state().pool().isPresent() || latest.isPresent();
  }

  void apply(PoolChange event, Instant at) {
    PoolState before = events.state();
    if (events.apply(event).isEmpty()) {
      // The planner rejects it too, and says so on rejected-events.
      return;
    }
    PoolState state = events.state();
    changedAt = Optional.of(at);
    SortedMap<String, PoolNode> nodes = nodes(state);
    nodes(before)
        .forEach(
            (name, node) -> {
              if (!nodes.containsKey(name)) {
                Recent.put(lost, name, new LostNode(node, at), LOST);
              }
            });
    lost.keySet().removeAll(nodes.keySet());
    int devices = devices(state);
    if (devicesFrom.isEmpty() || devicesFrom.lastEntry().getValue() != devices) {
      devicesFrom.put(state.generation(), devices);
      if (devicesFrom.size() > HISTORY) {
        devicesFrom.pollFirstEntry();
      }
    }
  }

  void apply(CurveReport report) {
    report
        .curve()
        .ifPresentOrElse(
            curve -> Recent.put(curves, report.workloadId(), curve, PoolState.MAX_CLAIMS),
            () -> curves.remove(report.workloadId()));
  }

  /** Takes a record of allocations, which has all of them in their order. */
  void apply(Allocation allocation, Instant at) {
    if (!isKnown(allocation)) {
      remember(allocation, at);
      for (NodeTransfer transfer : allocation.transfers()) {
        PastTransfer past = new PastTransfer(allocation.generation(), transfer);
        Recent.put(transfers, transfer.node(), past, TRANSFERS);
      }
    }
    takeLatest(allocation, at);
  }

  /** Takes a record of current-allocations, whose allocation may be older than the history. */
  void applyCurrent(Allocation allocation, Instant at) {
    if (!isKnown(allocation)) {
      takeLatest(allocation, at);
    }
  }

  private boolean isKnown(Allocation allocation) {
    return history.stream().anyMatch(p -> p.allocationId().equals(allocation.allocationId()));
  }

  private void takeLatest(Allocation allocation, Instant at) {
    if (allocatedGeneration() <= allocation.generation()) {
      latest = Optional.of(allocation);
      allocatedAt = Optional.of(at);
      changedAt = Optional.of(at);
    }
  }

  private long allocatedGeneration() {
    return latest.map(Allocation::generation).orElse(0L);
  }

  private void remember(Allocation allocation, Instant at) {
    SortedMap<String, Integer> devices = new TreeMap<>();
    for (WorkloadAllocation workload : allocation.workloads()) {
      if (workload.devices() > 0) {
        devices.put(workload.workloadId(), workload.devices());
      }
    }
    history.addLast(
        new PastAllocation(
            allocation.allocationId(), allocation.generation(), at, devices, allocation.quality()));
    historyShares += devices.size();
    while (history.size() > HISTORY || historyShares > HISTORY_SHARES) {
      historyShares -= history.removeFirst().devices().size();
    }
  }

  private static SortedMap<String, PoolNode> nodes(PoolState state) {
    return state.pool().map(Pool::nodes).orElseGet(TreeMap::new);
  }

  private static int devices(PoolState state) {
    return state.pool().map(Pool::devices).orElse(0);
  }

  /**
   * Returns the row.
   *
   * @param simulated whether a model was trained on simulated costs
   */
  PoolRow row(Predicate<String> simulated) {
    PoolState state = events.state();
    SortedMap<String, PoolNode> nodes = nodes(state);
    SortedMap<String, String> holders = latest.map(Allocation::holders).orElseGet(TreeMap::new);
    Set<String> running = Set.copyOf(holders.values());
    Optional<AllocationQuality> quality = latest.map(Allocation::quality);
    return new PoolRow(
        state.id(),
        state.generation(),
        state.pool().map(Pool::hardware),
        state.pool().map(Pool::devicesPerNode).orElse(0),
        nodes.size(),
        (int) nodes.keySet().stream().filter(node -> !holders.containsKey(node)).count(),
        lost.size(),
        devices(state),
        state.claims().size(),
        (int) state.claims().keySet().stream().filter(w -> !running.contains(w)).count(),
        latest.map(Allocation::allocationId),
        allocatedGeneration(),
        quality.map(AllocationQuality::weightedThroughput),
        quality.map(AllocationQuality::fairnessLoss),
        quality.map(AllocationQuality::gap),
        !simulatedModels(simulated).isEmpty(),
        changedAt);
  }

  private SortedSet<String> simulatedModels(Predicate<String> simulated) {
    return curves.values().stream()
        .map(ThroughputCurve::modelId)
        .filter(simulated)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /**
   * Returns the view.
   *
   * @param simulated whether a model was trained on simulated costs
   */
  PoolView view(Predicate<String> simulated) {
    return new PoolView(
        row(simulated),
        events.state(),
        latest,
        allocatedAt,
        List.copyOf(lost.values()),
        new TreeMap<>(transfers),
        List.copyOf(curves.values()),
        simulatedModels(simulated),
        new TreeMap<>(devicesFrom),
        List.copyOf(history));
  }

  /** Returns what a workload asks and has; empty if that is nothing. */
  Optional<PoolShare> share(String workloadId) {
    Optional<Claim> claim = Optional.ofNullable(events.state().claims().get(workloadId));
    Optional<WorkloadAllocation> has = latest.flatMap(l -> l.of(workloadId));
    return claim.isEmpty() && has.filter(h -> h.devices() > 0).isEmpty()
        ? Optional.empty()
        : Optional.of(new PoolShare(events.state().id(), claim, has));
  }
}
