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
import io.shardtide.views.PoolNodeView.NodeState;
import io.shardtide.views.PoolNodeView.TransferView;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;

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
  private final Map<String, TransferView> transfers = new LinkedHashMap<>();
  private final Deque<PastAllocation> history = new ArrayDeque<>();

  /** Number of devices from a generation on. */
  private final TreeMap<Long, Integer> devicesFrom = new TreeMap<>();

  private final PoolHistory events;
  private Map<String, String> holders = Map.of();
  private Optional<DatedAllocation> latest = Optional.empty();
  private Optional<Instant> changedAt = Optional.empty();
  private int historyShares;

  private record LostNode(PoolNode node, Instant at) {}

  private record DatedAllocation(Allocation allocation, Instant at) {}

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
                putBounded(lost, name, new LostNode(node, at), LOST);
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
            curve -> putBounded(curves, report.workloadId(), curve, PoolState.MAX_CLAIMS),
            () -> curves.remove(report.workloadId()));
  }

  /** Takes a record of allocations, which has all of them in their order. */
  void apply(Allocation allocation, Instant at) {
    if (history.stream().noneMatch(past -> past.allocationId().equals(allocation.allocationId()))) {
      remember(allocation, at);
      for (NodeTransfer transfer : allocation.transfers()) {
        TransferView view =
            new TransferView(
                allocation.generation(), transfer.from(), transfer.to(), transfer.reason());
        putBounded(transfers, transfer.node(), view, TRANSFERS);
      }
    }
    takeLatest(allocation, at);
  }

  /** Takes a record of current-allocations, whose allocation may be older than the history. */
  void applyCurrent(Allocation allocation, Instant at) {
    if (history.stream().noneMatch(past -> past.allocationId().equals(allocation.allocationId()))) {
      takeLatest(allocation, at);
    }
  }

  private void takeLatest(Allocation allocation, Instant at) {
    if (latest.isPresent() && latest.get().allocation().generation() > allocation.generation()) {
      return;
    }
    latest = Optional.of(new DatedAllocation(allocation, at));
    changedAt = Optional.of(at);
    holders = allocation.holders();
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
            allocation.allocationId(),
            allocation.generation(),
            at,
            OptionalInt.empty(),
            devices,
            allocation.quality()));
    historyShares += devices.size();
    while (history.size() > HISTORY || historyShares > HISTORY_SHARES) {
      historyShares -= history.removeFirst().devices().size();
    }
  }

  private static <V> void putBounded(Map<String, V> kept, String key, V value, int most) {
    kept.remove(key);
    kept.put(key, value);
    if (kept.size() > most) {
      kept.remove(kept.keySet().iterator().next());
    }
  }

  private static SortedMap<String, PoolNode> nodes(PoolState state) {
    return state.pool().map(Pool::nodes).orElseGet(TreeMap::new);
  }

  private static int devices(PoolState state) {
    return state.pool().map(Pool::devices).orElse(0);
  }

  private Optional<AllocationQuality> quality() {
    return latest.map(l -> l.allocation().quality());
  }

  /**
   * Returns the row.
   *
   * @param simulated whether a model was trained on simulated costs
   */
  PoolRow row(Predicate<String> simulated) {
    PoolState state = events.state();
    SortedMap<String, PoolNode> nodes = nodes(state);
    Optional<AllocationQuality> quality = quality();
    Set<String> running = Set.copyOf(holders.values());
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
        latest.map(l -> l.allocation().allocationId()),
        latest.map(l -> l.allocation().generation()).orElse(0L),
        value(quality.map(AllocationQuality::weightedThroughput)),
        value(quality.map(AllocationQuality::fairnessLoss)),
        value(quality.map(AllocationQuality::gap)),
        curves.values().stream().anyMatch(curve -> simulated.test(curve.modelId())),
        changedAt);
  }

  private static OptionalDouble value(Optional<Double> value) {
    return value.isPresent() ? OptionalDouble.of(value.get()) : OptionalDouble.empty();
  }

  /**
   * Returns the view.
   *
   * @param simulated whether a model was trained on simulated costs
   */
  PoolView view(Predicate<String> simulated) {
    SortedSet<String> workloads = new TreeSet<>(events.state().claims().keySet());
    latest.ifPresent(l -> l.allocation().workloads().forEach(w -> workloads.add(w.workloadId())));
    return new PoolView(
        row(simulated),
        latest.map(l -> l.allocation().policy()),
        quality(),
        latest.map(DatedAllocation::at),
        nodes(),
        workloads.stream().flatMap(w -> share(w, simulated).stream()).toList(),
        history.stream().map(this::withDevices).toList());
  }

  /** The events of a generation may be read after its allocation. */
  private PastAllocation withDevices(PastAllocation past) {
    Map.Entry<Long, Integer> devices = devicesFrom.floorEntry(past.generation());
    return new PastAllocation(
        past.allocationId(),
        past.generation(),
        past.allocatedAt(),
        devices == null ? OptionalInt.empty() : OptionalInt.of(devices.getValue()),
        past.devices(),
        past.quality());
  }

  private List<PoolNodeView> nodes() {
    List<PoolNodeView> views = new ArrayList<>();
    for (PoolNode node : nodes(events.state()).values()) {
      Optional<String> holder = Optional.ofNullable(holders.get(node.name()));
      views.add(
          new PoolNodeView(
              node.name(),
              node.rack(),
              holder.isPresent() ? NodeState.TAKEN : NodeState.FREE,
              holder,
              Optional.empty(),
              Optional.ofNullable(transfers.get(node.name()))));
    }
    for (LostNode gone : lost.values()) {
      String name = gone.node().name();
      Optional<TransferView> transfer = Optional.ofNullable(transfers.get(name));
      views.add(
          new PoolNodeView(
              name,
              gone.node().rack(),
              NodeState.LOST,
              Optional.ofNullable(holders.get(name)).or(() -> transfer.map(TransferView::from)),
              Optional.of(gone.at()),
              transfer));
    }
    views.sort(Comparator.comparing(PoolNodeView::name));
    return views;
  }

  /** Returns what a workload asks and has; empty if that is nothing. */
  Optional<PoolShare> share(String workloadId, Predicate<String> simulated) {
    PoolState state = events.state();
    Optional<Claim> claim = Optional.ofNullable(state.claims().get(workloadId));
    Optional<WorkloadAllocation> has = latest.flatMap(l -> l.allocation().of(workloadId));
    if (claim.isEmpty() && has.filter(h -> h.devices() > 0).isEmpty()) {
      return Optional.empty();
    }
    int nodes = has.map(h -> h.nodes().size()).orElse(0);
    return Optional.of(
        new PoolShare(
            workloadId,
            state.id(),
            claim,
            has.map(WorkloadAllocation::nodes).orElse(List.of()),
            has.map(WorkloadAllocation::devices).orElse(0),
            (double) nodes / Math.max(Math.max(1, nodes), nodes(state).size()),
            value(has.map(WorkloadAllocation::fairNodes)),
            value(has.map(WorkloadAllocation::samplesPerSecond).filter(s -> s > 0)),
            has.map(WorkloadAllocation::change),
            has.map(WorkloadAllocation::reason),
            Optional.ofNullable(curves.get(workloadId))
                .map(curve -> PoolCurve.of(curve, simulated.test(curve.modelId())))));
  }
}
