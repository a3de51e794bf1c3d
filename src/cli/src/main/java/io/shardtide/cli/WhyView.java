package io.shardtide.cli;

import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.Effort;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.replay.PlanProvenance;
import io.shardtide.replay.PoolClusterOrigin;
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.ClusterSpec;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalDouble;

/** Prints the provenance of a plan. */
final class WhyView {
  private static final int SHOWN = 20;

  /** Returns the text. */
  String show(PlanProvenance provenance) {
    TextLines out = new TextLines();
    ShardingPlan plan = provenance.plan();
    out.add("plan %s", plan.planId());
    out.add(
        "  workload %s, %s, made %s: %s",
        plan.workloadId(),
        plan.origin().firstGeneration() == plan.generation()
            ? "generation " + plan.generation()
            : "generations %d to %d".formatted(plan.origin().firstGeneration(), plan.generation()),
        plan.run().createdAt(),
        plan.reason());
    provenance.pool().ifPresent(pool -> pool(out, pool));
    cost(out, provenance);
    events(out, provenance);
    tables(out, provenance);
    SearchText.add(out, plan, provenance.cluster().map(ClusterSpec::usableMemory));
    shared(out, provenance);
    statuses(out, provenance);
    return out.toString();
  }

  private static void pool(TextLines out, PoolClusterOrigin origin) {
    String devices = "%,d devices".formatted(origin.devices());
    if (origin.generation().isEmpty()) {
      out.add("  %s of pool %s, by an allocation that is not recorded", devices, origin.poolId());
      return;
    }
    out.add(
        "  %s of pool %s, by allocation %s of its generation %d: %s",
        devices,
        origin.poolId(),
        origin.allocationId().map(CanonicalHash::shown).orElse("?"),
        origin.generation().get(),
        origin.reason().orElse("?"));
  }

  private static void cost(TextLines out, PlanProvenance provenance) {
    ShardingPlan plan = provenance.plan();
    if (provenance.previous().isPresent()) {
      ShardingPlan before = provenance.previous().get();
      out.add(
          "  predicted step %.3f -> %.3f ms%s (%+.1f %%); plan %s of generation %d was running",
          before.predictedMs(),
          plan.predictedMs(),
          uncertainty(plan) + simulated(provenance),
          100 * (plan.predictedMs() / before.predictedMs() - 1),
          CanonicalHash.shown(before.planId()),
          before.generation());
    } else {
      out.add(
          "  predicted step %.3f ms%s; %s",
          plan.predictedMs(),
          uncertainty(plan) + simulated(provenance),
          plan.origin()
              .previousPlanId()
              .map(id -> "plan %s, which was running, is not recorded".formatted(id))
              .orElse("no plan was running"));
    }
    for (DeviceSpeed speed : plan.origin().slow()) {
      out.add(
          "  device %d %s %.2f times slower (standard error %.2f) since %s",
          speed.device(),
          speed.part().verb(),
          speed.slowdown(),
          speed.standardError(),
          speed.since());
    }
    if (plan.groups().areSeveral()) {
      out.add("  %s", ShardTexts.replication(plan));
    }
    if (!plan.codecs().isEmpty()) {
      out.add("  codecs: %s", CodecTexts.describe(plan));
    }
    if (!plan.kernels().isEmpty()) {
      out.add("  kernels: %s", KernelTexts.describe(plan));
    }
    plan.prediction().deviceCosts().stream()
        .max(Comparator.comparingDouble(DeviceCost::totalMs))
        .ifPresent(
            cost ->
                out.add(
                    "  slowest of %d devices: computation %.3f ms, forward communication %.3f ms"
                        + " including idle time, backward communication %.3f ms",
                    plan.prediction().deviceCosts().size(),
                    cost.computeMs(),
                    cost.forwardCommMs(),
                    cost.backwardCommMs()));
  }

  private static String simulated(PlanProvenance provenance) {
    return provenance.simulated().orElse(false) ? PlanView.SIMULATED : "";
  }

  private static String uncertainty(ShardingPlan plan) {
    String text = PlanView.uncertainty(plan);
    return text.isEmpty() ? "" : text + " (one standard deviation)";
  }

  private static void events(TextLines out, PlanProvenance provenance) {
    ShardingPlan plan = provenance.plan();
    out.add(
        "events%s:",
        provenance.previous().map(p -> " since generation " + p.generation()).orElse(""));
    if (provenance.events().isEmpty()) {
      String model =
          provenance
              .previous()
              .filter(p -> !p.origin().modelId().equals(plan.origin().modelId()))
              .map(
                  p ->
                      "none: cost model %s replaced %s"
                          .formatted(
                              CanonicalHash.shown(plan.origin().modelId()),
                              CanonicalHash.shown(p.origin().modelId())))
              .orElse(
                  plan.origin().effort() == Effort.DEEP
                      ? "none: a background search improved the running plan"
                      : "none recorded");
      out.add("  %s", model);
    }
    events(out, provenance.events());
    for (InfeasibleWorkload infeasible : provenance.infeasible()) {
      out.add("  generation %d %s", infeasible.generation(), infeasible.shortfall().describe());
    }
  }

  /** Adds events, each with its changes. */
  static void events(TextLines out, List<PlanProvenance.ProvenanceEvent> events) {
    for (PlanProvenance.ProvenanceEvent event : events) {
      out.add(
          "  generation %d: event %s%s%s",
          event.generation(),
          event.eventId(),
          event.source().map(source -> " from " + source).orElse(" (not recorded)"),
          event.occurredAt().map(time -> ", " + time).orElse(""));
      out.addAll("    ", event.changes(), SHOWN);
    }
  }

  private static void tables(TextLines out, PlanProvenance provenance) {
    out.add(
        "predictions of model %s (compute time of a step with the table alone on a device):",
        CanonicalHash.shown(provenance.plan().origin().modelId()));
    if (provenance.tables().isEmpty()) {
      out.add("  no table was added or changed");
    }
    if (!provenance.tables().isEmpty()) {
      TextTable table = new TextTable("table", " ms", " previously");
      provenance.tables().stream()
          .limit(SHOWN)
          .forEach(
              t ->
                  table.add(
                      t.table().name(),
                      ms(t.aloneMs()),
                      t.beforeMs().isPresent() ? ms(t.beforeMs()) : ""));
      out.addIndented(table, provenance.tables().size() - SHOWN);
    }
    if (provenance.plan().prediction().outOfRangeCount() > 0) {
      out.add(
          "  extrapolating, outside the training range of the model: %s%s",
          provenance.plan().prediction().outOfRange().get(0).describe(),
          provenance.plan().prediction().outOfRangeCount() > 1
              ? " and %,d more".formatted(provenance.plan().prediction().outOfRangeCount() - 1)
              : "");
    }
  }

  private static void shared(TextLines out, PlanProvenance provenance) {
    if (!provenance.shared().isEmpty()) {
      out.add(
          "placed together by constraints, so that no split, kind or move of one is explained:");
      TextTable table = new TextTable("table", "on the devices of");
      provenance.shared().stream()
          .limit(SHOWN)
          .forEach(shared -> table.add(shared.table(), shared.other()));
      out.addIndented(table, provenance.shared().size() - SHOWN);
    }
  }

  private static String ms(OptionalDouble value) {
    return value.isPresent() ? "%.3f".formatted(value.getAsDouble()) : "?";
  }

  private static void statuses(TextLines out, PlanProvenance provenance) {
    if (!provenance.statuses().isEmpty()) {
      out.add("status reports:");
      for (PlanStatus status : provenance.statuses()) {
        out.add(
            "  step %,d: %s by %s%s",
            status.step(),
            status.describeKind(),
            status.source(),
            status.reason().map(reason -> ", " + reason).orElse(""));
      }
    }
  }
}
