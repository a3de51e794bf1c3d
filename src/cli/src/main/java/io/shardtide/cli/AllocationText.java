package io.shardtide.cli;

import io.shardtide.client.PoolReader.AllocatedPool;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationChange;
import io.shardtide.pool.AllocationQuality;
import io.shardtide.pool.Claim;
import io.shardtide.pool.CurvePoint;
import io.shardtide.pool.NodeTransfer;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.ThroughputCurve;
import io.shardtide.pool.WorkloadAllocation;
import io.shardtide.replay.AllocationProvenance;
import io.shardtide.replay.AllocationProvenance.UsedCurve;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.CanonicalHash;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** A pool and its allocation as text: who has what, why, and how good that is. */
final class AllocationText {
  /** Nodes and workloads that one sentence or answer lists. */
  private static final int LISTED = 8;

  private final Optional<PoolState> state;
  private final Optional<Allocation> allocation;
  private final Predicate<String> isSimulated;

  private AllocationText(
      Optional<PoolState> state, Optional<Allocation> allocation, Predicate<String> isSimulated) {
    this.state = state;
    this.allocation = allocation;
    this.isSimulated = isSimulated;
  }

  /**
   * @param shown a pool that was set
   * @param isSimulated whether a curve, by its id, has simulated costs
   */
  AllocationText(AllocatedPool shown, Predicate<String> isSimulated) {
    this(Optional.of(shown.state()), shown.allocation(), isSimulated);
  }

  /** Returns who has each node of the pool, what each workload has and why, and how good it is. */
  String show() {
    Printed out = new Printed();
    PoolState current = state.orElseThrow();
    long later = current.generation() - allocation.map(Allocation::generation).orElse(0L);
    out.line(
        "pool %s, generation %d: %s",
        current.id(), current.generation(), pool(current.pool().get()));
    out.line("");
    nodes(out, current.pool().get());
    workloads(out, Optional.empty());
    allocation.ifPresent(a -> out.sentence(quality(a, OptionalDouble.empty())));
    if (later > 0) {
      out.sentence("%s not allocated yet.".formatted(count(later, "later event")));
    }
    return out.toString();
  }

  private static String pool(Pool pool) {
    return "%,d nodes of %,d devices, %s each, hardware %s"
        .formatted(
            pool.nodes().size(),
            pool.devicesPerNode(),
            ByteSizes.describe(pool.memoryBytesPerDevice()),
            pool.hardware());
  }

  private void nodes(Printed out, Pool pool) {
    SortedMap<String, String> holders = allocation.map(Allocation::holders).orElseGet(TreeMap::new);
    Set<String> names = new TreeSet<>(pool.nodes().keySet());
    names.addAll(holders.keySet());
    // The latest allocation does not know of the loss yet.
    out.table(
        new Table<>(names)
            .left("node", name -> name)
            .left("rack", name -> node(pool, name).map(PoolNode::rack).orElse(""))
            .left(
                "workload",
                name ->
                    holders.getOrDefault(name, "free")
                        + (node(pool, name).isPresent() ? "" : " (node lost)")));
    out.line("");
  }

  private static Optional<PoolNode> node(Pool pool, String name) {
    return Optional.ofNullable(pool.nodes().get(name));
  }

  private Optional<Claim> claim(String workload) {
    return state.map(PoolState::claims).map(claims -> claims.get(workload));
  }

  private Optional<WorkloadAllocation> now(String workload) {
    return allocation.flatMap(a -> a.of(workload));
  }

  /** Adds what each workload claims and has, and a sentence why. */
  private void workloads(Printed out, Optional<Allocation> previous) {
    Set<String> ids = new TreeSet<>(state.map(of -> of.claims().keySet()).orElse(Set.of()));
    allocation.ifPresent(a -> a.workloads().forEach(w -> ids.add(w.workloadId())));
    if (ids.isEmpty()) {
      return;
    }
    Table<String> table =
        new Table<>(ids)
            .left("workload", id -> id)
            .left("claim", id -> claim(id).map(AllocationText::devices))
            .right("weight", id -> claim(id).map(Claim::weight))
            .right("priority", id -> claim(id).map(Claim::priority));
    previous.ifPresent(
        before ->
            table
                .right(
                    "devices before", "%,d", id -> before.of(id).map(WorkloadAllocation::devices))
                .right(
                    "samples/s before", id -> before.of(id).map(AllocationText::samplesPerSecond)));
    table
        .right("devices", "%,d", id -> now(id).map(WorkloadAllocation::devices))
        .right("nodes", "%,d", id -> now(id).map(w -> w.nodes().size()))
        .right("fair", "%.1f", id -> now(id).map(WorkloadAllocation::fairNodes))
        .right("samples/s", id -> now(id).map(w -> samplesPerSecond(w) + simulated(w, "simulated")))
        .left("change", id -> now(id).map(w -> PlanText.lower(w.change())));
    out.table(table);
    out.line("");
    allocation.ifPresent(a -> a.workloads().forEach(w -> out.sentence(sentence(w))));
  }

  private static String devices(Claim claim) {
    return "%,d to %,d".formatted(claim.leastDevices(), claim.mostDevices());
  }

  private static String samplesPerSecond(WorkloadAllocation workload) {
    return workload.samplesPerSecond() == 0 ? "-" : number(workload.samplesPerSecond());
  }

  private String simulated(WorkloadAllocation workload, String text) {
    String curve = allocation.orElseThrow().curveIds().get(workload.workloadId());
    return curve != null && isSimulated.test(curve) ? " " + text : "";
  }

  /** Says what a workload has and why. */
  private String sentence(WorkloadAllocation workload) {
    int others = workload.nodes().size() - LISTED;
    String nodes =
        workload.nodes().stream().limit(LISTED).collect(Collectors.joining(", "))
            + (others > 0 ? " and %,d more".formatted(others) : "");
    return "%s: %s; %s%s"
        .formatted(
            workload.workloadId(),
            workload.nodes().isEmpty()
                ? "no devices"
                : "%s on %s".formatted(count(workload.devices(), "device"), nodes),
            workload.reason(),
            simulated(workload, "(simulated costs)"));
  }

  private String quality(Allocation of, OptionalDouble equalShares) {
    AllocationQuality quality = of.quality();
    boolean simulated = of.curveIds().values().stream().anyMatch(isSimulated);
    return String.format(
        Locale.ROOT,
        "Weighted throughput: %s samples/s%s, %s%s; %.1f%% of the pool is in other hands than in"
            + " the fair allocation; %s changed nodes.",
        number(quality.weightedThroughput()),
        simulated ? PlanText.SIMULATED : "",
        quality.gap() == 0
            ? "proven optimal"
            : String.format(Locale.ROOT, "at most %.2f%% below the optimum", 100 * quality.gap()),
        equalShares.isPresent()
            ? equal(quality.weightedThroughput(), equalShares.getAsDouble())
            : "",
        100 * quality.fairnessLoss(),
        count(quality.adjusted(), "running workload"));
  }

  private static String equal(double throughput, double equalShares) {
    return "; equal shares would give %s samples/s%s"
        .formatted(
            number(equalShares),
            equalShares == 0
                ? ""
                : String.format(
                    Locale.ROOT, ", this is %.2f times as much", throughput / equalShares));
  }

  /**
   * Says what an accepted event led to: the nodes that changed hands, and what a claim cannot have.
   *
   * @param workloadId the workload whose claim the event set or withdrew; empty if none
   */
  String answer(Optional<String> workloadId) {
    Printed out = new Printed();
    PoolState current = state.orElseThrow();
    workloadId.ifPresent(
        id ->
            claim(id)
                .map(claim -> tooLarge(claim, current))
                .orElseGet(() -> Optional.of("%s has no claim any more.".formatted(id)))
                .ifPresent(out::sentence));
    List<String> sentences = new ArrayList<>();
    for (WorkloadAllocation workload : allocation.orElseThrow().workloads()) {
      if (workloadId.equals(Optional.of(workload.workloadId()))) {
        sentences.add(0, sentence(workload));
      } else if (workload.change() != AllocationChange.KEPT
          && workload.change() != AllocationChange.WAITS) {
        sentences.add(sentence(workload));
      }
    }
    sentences.stream().limit(LISTED).forEach(out::sentence);
    if (sentences.size() > LISTED) {
      out.line("... and %,d more workloads changed", sentences.size() - LISTED);
    } else if (sentences.isEmpty()) {
      out.line("No workload has other nodes than before.");
    }
    return out.toString();
  }

  private static Optional<String> tooLarge(Claim claim, PoolState state) {
    int devices = state.pool().orElseThrow().devices();
    return claim.mostDevices() <= devices
        ? Optional.empty()
        : Optional.of(
            "The claim is above the pool: %s at most, and pool %s has %,d. The rest counts once nodes are added."
                .formatted(count(claim.mostDevices(), "device"), state.id(), devices));
  }

  /** Returns an allocation and the records that led to it. */
  static String why(AllocationProvenance provenance) {
    Set<String> simulated =
        provenance.curves().stream()
            .filter(used -> used.simulated().orElse(false))
            .map(UsedCurve::curveId)
            .collect(Collectors.toSet());
    return new AllocationText(
            provenance.state(), Optional.of(provenance.allocation()), simulated::contains)
        .explain(provenance);
  }

  private String explain(AllocationProvenance provenance) {
    Printed out = new Printed();
    Allocation explained = provenance.allocation();
    out.line("allocation %s", explained.allocationId());
    out.line(
        "  pool %s, generation %d%s; %s",
        explained.poolId(),
        explained.generation(),
        state.flatMap(PoolState::pool).map(pool -> ": " + pool(pool)).orElse(""),
        before(provenance));
    if (!provenance.others().isEmpty()) {
      out.line(
          "  one of %,d allocations of this generation: the first follows from events, the others"
              + " from new curves; --generation %d shows all",
          provenance.others().size() + 1, explained.generation());
    }
    out.line("  events%s:", PlanText.since(provenance.previous().map(Allocation::generation)));
    if (provenance.events().isEmpty()) {
      out.line("    %s", state.isEmpty() ? "not recorded" : "none: curves of workloads changed");
    }
    PlanText.events(out, provenance.events());
    curves(out, provenance.curves());
    out.list("  ", explained.transfers().stream().map(AllocationText::transfer).toList());
    if (!provenance.later().isEmpty()) {
      out.line("  events that no allocation covers yet:");
      PlanText.events(out, provenance.later());
      out.list(
          "    ",
          provenance.unallocated().stream()
              .map(claim -> "%s waits: %s".formatted(claim.workloadId(), claim.reason()))
              .toList());
    }
    out.line("");
    workloads(out, provenance.previous());
    out.sentence(quality(explained, provenance.equalShares()));
    return out.toString();
  }

  private static String before(AllocationProvenance provenance) {
    return provenance
        .previous()
        .map(
            previous ->
                "before it was allocation %s of generation %d"
                    .formatted(CanonicalHash.shown(previous.allocationId()), previous.generation()))
        .or(
            () ->
                provenance
                    .allocation()
                    .previousId()
                    .map("allocation %s, the one before, is not recorded"::formatted))
        .orElse("the pool's first");
  }

  private static void curves(Printed out, List<UsedCurve> curves) {
    out.line("  curves, predicted samples/s by number of devices:");
    if (curves.isEmpty()) {
      out.line("    none: no workload has a prediction");
    }
    out.list("    ", curves.stream().flatMap(used -> curves(used).stream()).toList());
  }

  private static List<String> curves(UsedCurve used) {
    List<String> lines = new ArrayList<>();
    lines.add(
        used.workloadId()
            + used.curve().map(AllocationText::points).orElse(": not recorded")
            + (used.simulated().orElse(false) ? PlanText.SIMULATED : ""));
    used.previous()
        .filter(before -> used.isNew())
        .ifPresent(before -> lines.add("  before" + points(before)));
    return lines;
  }

  private static String points(ThroughputCurve curve) {
    return ", generation %d, model %s: %s"
        .formatted(
            curve.generation(),
            CanonicalHash.shown(curve.modelId()),
            curve.points().stream()
                .map(point -> "%d: %s".formatted(point.devices(), samples(curve, point)))
                .collect(Collectors.joining(", ")));
  }

  private static String samples(ThroughputCurve curve, CurvePoint point) {
    OptionalDouble samples = curve.samplesPerSecond(point.devices());
    return samples.isPresent() ? number(samples.getAsDouble()) : "does not fit";
  }

  private static String transfer(NodeTransfer transfer) {
    return "node %s from %s to %s: %s"
        .formatted(
            transfer.node(), transfer.from(), transfer.to().orElse("nobody"), transfer.reason());
  }

  private static String count(long number, String what) {
    return "%,d %s%s".formatted(number, what, number == 1 ? "" : "s");
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, value < 100 ? "%,.1f" : "%,.0f", value);
  }
}
