package io.shardtide.cli;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationChange;
import io.shardtide.pool.AllocationQuality;
import io.shardtide.pool.Claim;
import io.shardtide.pool.CurvePoint;
import io.shardtide.pool.NodeTransfer;
import io.shardtide.pool.Pool;
import io.shardtide.pool.ThroughputCurve;
import io.shardtide.pool.WorkloadAllocation;
import io.shardtide.replay.AllocationProvenance;
import io.shardtide.workload.CanonicalHash;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Collectors;

/** Prints the provenance of an allocation. */
final class WhyAllocationView {
  private static final int SHOWN = 20;

  /** Returns the text. */
  String show(AllocationProvenance provenance) {
    TextLines out = new TextLines();
    Allocation allocation = provenance.allocation();
    out.add("allocation %s", allocation.allocationId());
    out.add(
        "  pool %s, generation %d%s; %s",
        allocation.poolId(),
        allocation.generation(),
        provenance.state().flatMap(state -> state.pool()).map(WhyAllocationView::pool).orElse(""),
        before(provenance));
    if (!provenance.others().isEmpty()) {
      out.add(
          "  one of %,d allocations of this generation: the first follows from events, the others from new curves; --generation %d shows all",
          provenance.others().size() + 1, allocation.generation());
    }
    quality(out, provenance);
    events(out, provenance);
    curves(out, provenance);
    workloads(out, provenance);
    transfers(out, allocation.transfers());
    waiting(out, provenance);
    return out.toString();
  }

  private static String pool(Pool pool) {
    return ": %,d nodes of %,d devices of %s"
        .formatted(pool.nodes().size(), pool.devicesPerNode(), pool.hardware());
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
                    .map(id -> "allocation %s, the one before, is not recorded".formatted(id)))
        .orElse("the pool's first");
  }

  private static String simulated(boolean isSimulated) {
    return isSimulated ? PlanView.SIMULATED : "";
  }

  private static void quality(TextLines out, AllocationProvenance provenance) {
    AllocationQuality quality = provenance.allocation().quality();
    out.add(
        "  predicted weighted throughput %s samples/s%s; %s",
        number(quality.weightedThroughput()),
        simulated(provenance.isSimulated()),
        quality.gap() == 0
            ? "proven optimal"
            : "the optimum is at most %s better".formatted(percent(quality.gap(), 2)));
    if (provenance.equalShares().isPresent()) {
      double equal = provenance.equalShares().getAsDouble();
      out.add(
          "  equal shares would give %s samples/s%s%s",
          number(equal),
          simulated(provenance.isSimulated()),
          equal == 0
              ? ""
              : String.format(
                  Locale.ROOT,
                  ": this is %.2f times as much",
                  quality.weightedThroughput() / equal));
    }
    out.add(
        "  %s of the pool is in other hands than in the fair allocation; %,d running workloads have other nodes",
        percent(quality.fairnessLoss(), 1), quality.adjusted());
  }

  private static void events(TextLines out, AllocationProvenance provenance) {
    out.add(
        "events%s:",
        provenance.previous().map(p -> " since generation " + p.generation()).orElse(""));
    if (provenance.events().isEmpty()) {
      out.add(
          "  %s",
          provenance.state().isEmpty() ? "not recorded" : "none: curves of workloads changed");
    }
    WhyView.events(out, provenance.events());
  }

  private static void curves(TextLines out, AllocationProvenance provenance) {
    out.add("curves, predicted samples/s by number of devices:");
    if (provenance.curves().isEmpty()) {
      out.add("  none: no workload has a prediction");
    }
    for (AllocationProvenance.UsedCurve used : provenance.curves().stream().limit(SHOWN).toList()) {
      out.add(
          "  %s%s: %s%s",
          used.workloadId(),
          used.curve()
              .map(c -> ", generation %d, model %s".formatted(c.generation(), model(c)))
              .orElse(""),
          used.curve().map(WhyAllocationView::points).orElse("not recorded"),
          used.simulated().map(WhyAllocationView::simulated).orElse(""));
      if (used.isNew() && used.previous().isPresent()) {
        out.add(
            "    before, generation %d, model %s: %s",
            used.previous().get().generation(),
            model(used.previous().get()),
            points(used.previous().get()));
      }
    }
    if (provenance.curves().size() > SHOWN) {
      out.add("  ... and %,d more", provenance.curves().size() - SHOWN);
    }
  }

  private static String model(ThroughputCurve curve) {
    return CanonicalHash.shown(curve.modelId());
  }

  private static String points(ThroughputCurve curve) {
    return curve.points().stream()
        .map(point -> "%d: %s".formatted(point.devices(), samples(curve, point)))
        .collect(Collectors.joining(", "));
  }

  private static String samples(ThroughputCurve curve, CurvePoint point) {
    OptionalDouble samples = curve.samplesPerSecond(point.devices());
    return samples.isPresent() ? number(samples.getAsDouble()) : "does not fit";
  }

  private static void workloads(TextLines out, AllocationProvenance provenance) {
    out.add("workloads%s:", simulated(provenance.isSimulated()));
    TextTable table =
        new TextTable(
            "workload",
            "claim",
            " devices before",
            " now",
            " samples/s before",
            " now",
            " nodes",
            " fair",
            "change");
    List<WorkloadAllocation> workloads = provenance.allocation().workloads();
    for (WorkloadAllocation now : workloads) {
      Optional<WorkloadAllocation> before =
          provenance.previous().flatMap(previous -> previous.of(now.workloadId()));
      table.add(
          now.workloadId(),
          provenance
              .state()
              .map(state -> state.claims().get(now.workloadId()))
              .map(WhyAllocationView::claim)
              .orElse(""),
          before.map(w -> Integer.toString(w.devices())).orElse("-"),
          Integer.toString(now.devices()),
          before.map(w -> number(w.samplesPerSecond())).orElse("-"),
          number(now.samplesPerSecond()),
          Integer.toString(now.nodes().size()),
          String.format(Locale.ROOT, "%.1f", now.fairNodes()),
          now.change().name().toLowerCase(Locale.ROOT));
    }
    out.addIndented(table, 0);
    for (WorkloadAllocation now : workloads) {
      out.add("  %s %s", now.workloadId(), now.reason());
      if (!now.nodes().isEmpty()) {
        out.add("    nodes %s", AllocationView.list(now.nodes()));
      }
    }
  }

  private static String claim(Claim claim) {
    return "%d to %d, weight %s, priority %d"
        .formatted(claim.leastDevices(), claim.mostDevices(), claim.weight(), claim.priority());
  }

  private static void transfers(TextLines out, List<NodeTransfer> transfers) {
    out.add("nodes transferred:");
    if (transfers.isEmpty()) {
      out.add("  none");
    }
    out.addAll(
        "  ",
        transfers.stream()
            .map(
                t ->
                    "node %s from %s to %s: %s"
                        .formatted(t.node(), t.from(), t.to().orElse("nobody"), t.reason()))
            .toList(),
        SHOWN);
  }

  private static void waiting(TextLines out, AllocationProvenance provenance) {
    List<String> waiting =
        provenance.allocation().workloads().stream()
            .filter(
                w -> w.change() == AllocationChange.WAITS || w.change() == AllocationChange.STOPPED)
            .map(w -> "%s %s".formatted(w.workloadId(), w.reason()))
            .toList();
    if (!waiting.isEmpty()) {
      out.add("claims that wait:");
      out.addAll("  ", waiting, SHOWN);
    }
    if (!provenance.later().isEmpty()) {
      out.add("events that no allocation covers yet:");
      WhyView.events(out, provenance.later());
      out.addAll(
          "  ",
          provenance.unallocated().stream()
              .map(claim -> "%s waits: %s".formatted(claim.workloadId(), claim.reason()))
              .toList(),
          SHOWN);
    }
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, value < 100 ? "%,.1f" : "%,.0f", value);
  }

  private static String percent(double share, int digits) {
    return String.format(Locale.ROOT, "%." + digits + "f%%", 100 * share);
  }
}
