package io.shardtide.cli;

import io.shardtide.plan.Bottleneck;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.Effort;
import io.shardtide.plan.Explanation;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.Insight;
import io.shardtide.plan.MoveStep;
import io.shardtide.plan.OutOfRange;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Shortfall;
import io.shardtide.plan.Transfer;
import io.shardtide.replay.PlanProvenance;
import io.shardtide.replay.PlanProvenance.ProvenanceEvent;
import io.shardtide.replay.PlanProvenance.ProvenanceTable;
import io.shardtide.replay.PlanProvenance.SharedDevices;
import io.shardtide.replay.PoolClusterOrigin;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.UsableMemory;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import picocli.CommandLine.Help.Ansi;

/** Plans as text: a summary, or with all that led to them; and what came instead of a plan. */
final class PlanText {
  private static final int COST_BAR = 48;
  private static final int SHOWN_DEVICES = 16;

  /** Decisions and moves of a summary. */
  private static final int FEW = 4;

  /** What follows what a model that was trained on simulated costs predicts. */
  static final String SIMULATED = " (simulated costs)";

  private final Ansi ansi;
  private final Predicate<String> simulated;

  /**
   * @param simulated whether the cost model with an id was trained on simulated costs
   */
  PlanText(Ansi ansi, Predicate<String> simulated) {
    this.ansi = ansi;
    this.simulated = simulated;
  }

  /**
   * Returns a plan's cost, a bar for each device, and the first decisions and moves.
   *
   * @param plan the plan
   * @param previous the plan before it
   * @param memory memory of each device for shards, if known
   * @param title what changed
   * @param answerMillis time from the change to the plan in milliseconds, if measured
   */
  String summary(
      ShardingPlan plan,
      Optional<ShardingPlan> previous,
      Optional<UsableMemory> memory,
      String title,
      OptionalDouble answerMillis) {
    Printed out = new Printed(ansi);
    out.line("@|bold %s|@  %s", generations(plan), title);
    out.line("  plan %s  %s", CanonicalHash.shown(plan.planId()), plan.reason());
    String answered =
        answerMillis.isPresent()
            ? "answered in %.0f ms, ".formatted(answerMillis.getAsDouble())
            : "";
    cost(out, plan, previous, answered + search(plan));
    tables(out, plan, FEW, table -> true);
    devices(out, plan, memory);
    moves(out, plan, memory, FEW, table -> true);
    return out.toString();
  }

  /**
   * Returns a plan and the records that led to it.
   *
   * @param table the only table whose shards, decision and moves are shown; empty: all tables
   */
  String why(PlanProvenance provenance, Optional<String> table) {
    Predicate<String> isShown = name -> table.isEmpty() || table.get().equals(name);
    Printed out = new Printed(ansi);
    ShardingPlan plan = provenance.plan();
    Optional<UsableMemory> memory = provenance.cluster().map(ClusterSpec::usableMemory);
    out.line("@|bold plan %s|@", plan.planId());
    out.line(
        "  workload %s, %s, made %s: %s",
        plan.workloadId(), generations(plan), plan.run().createdAt(), plan.reason());
    provenance.pool().ifPresent(origin -> out.line("  %s", pool(origin)));
    cost(out, plan, provenance.previous(), running(provenance));
    for (DeviceSpeed speed : plan.origin().slow()) {
      out.line(
          "  device %d %s %.2f times slower (standard error %.2f) since %s",
          speed.device(),
          speed.part().verb(),
          speed.slowdown(),
          speed.standardError(),
          speed.since());
    }
    devices(out, plan, memory);
    events(out, provenance);
    predictions(out, provenance);
    settings(out, plan);
    tables(out, plan, Printed.SHOWN, isShown);
    out.table(new ShardTexts(plan).layout(isShown), Printed.SHOWN);
    moves(out, plan, memory, Printed.SHOWN, isShown);
    if (!provenance.shared().isEmpty()) {
      out.line(
          "  placed together by constraints, so that no split, kind or move of one is explained:");
      out.table(
          new Table<>(provenance.shared())
              .left("table", SharedDevices::table)
              .left("on the devices of", SharedDevices::other),
          Printed.SHOWN);
    }
    if (!provenance.statuses().isEmpty()) {
      out.line("  status reports:");
      out.table(
          new Table<>(provenance.statuses())
              .right("step", "%,d", PlanStatus::step)
              .left("status", PlanStatus::describeKind)
              .left("source", PlanStatus::source)
              .left("reason", status -> status.reason().orElse("")),
          Integer.MAX_VALUE);
    }
    return out.toString();
  }

  private static String generations(ShardingPlan plan) {
    return plan.origin().firstGeneration() == plan.generation()
        ? "generation " + plan.generation()
        : "generations %d to %d".formatted(plan.origin().firstGeneration(), plan.generation());
  }

  private static String search(ShardingPlan plan) {
    return String.format(
        Locale.ROOT,
        "%s search of %.0f ms, %,d evaluations",
        lower(plan.origin().effort()),
        plan.run().searchMillis(),
        plan.run().evaluations());
  }

  /** Returns the name of a constant as people write it: {@code device lost}, say. */
  static String lower(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }

  /** Adds the predicted step, and what it depends on. */
  private void cost(Printed out, ShardingPlan plan, Optional<ShardingPlan> previous, String more) {
    Insight insight = plan.prediction().insight();
    out.line(
        "  predicted step %s@|bold %.3f|@ ms%s%s; %s",
        previous.map(p -> ms(p.predictedMs()) + " -> ").orElse(""),
        plan.predictedMs(),
        insight.uncertaintyMs() > 0
            ? " +- %.2f ms (one standard deviation)".formatted(insight.uncertaintyMs())
            : "",
        simulated.test(plan.origin().modelId()) ? SIMULATED : "",
        more);
    out.line(
        "  lower bound %.3f ms, the step is %.1f %% above it; bottleneck: %s",
        insight.lowerBoundMs(),
        100 * aboveBound(plan.predictedMs(), insight),
        bottleneck(insight.bottleneck()));
    ShardTexts.replication(plan).ifPresent(text -> out.line("  %s", text));
    ShardTexts.codecs(plan).ifPresent(text -> out.line("  codecs: %s", text));
    ShardTexts.kernels(plan).ifPresent(text -> out.line("  kernels: %s", text));
    ShardTexts.deduplications(plan).ifPresent(text -> out.line("  distinct ids: %s", text));
    ShardTexts.hotOwners(plan).ifPresent(text -> out.line("  hot rows: %s", text));
    List<OutOfRange> outside = plan.prediction().outOfRange();
    if (!outside.isEmpty()) {
      out.line(
          "  @|yellow extrapolating|@: outside the training range: %s%s",
          outside.get(0).describe(),
          plan.prediction().outOfRangeCount() > 1
              ? " and %,d more".formatted(plan.prediction().outOfRangeCount() - 1)
              : "");
    }
  }

  private static String ms(double value) {
    return String.format(Locale.ROOT, "%.3f", value);
  }

  /** Returns how far a step is above a lower bound, as a share of the bound; 0 of no bound. */
  static double aboveBound(double predictedMs, Insight insight) {
    double boundMs = insight.lowerBoundMs();
    return boundMs > 0 ? Math.max(0, predictedMs / boundMs - 1) : 0;
  }

  static String bottleneck(Bottleneck bottleneck) {
    String device = "device %d, %s".formatted(bottleneck.device(), lower(bottleneck.cause()));
    if (bottleneck.table().isEmpty()) {
      return device;
    }
    return "%s, mostly table %s%s"
        .formatted(
            device,
            bottleneck.table(),
            bottleneck.gainMs() > 0
                ? " (%.2f ms less without it)".formatted(bottleneck.gainMs())
                : "");
  }

  /** Adds how tables are sharded, what was decided, and what that saves. */
  private static void tables(Printed out, ShardingPlan plan, int most, Predicate<String> isShown) {
    ShardTexts texts = new ShardTexts(plan);
    out.line("  tables: %s", texts.kinds());
    List<Explanation> explanations =
        plan.prediction().insight().explanations().stream()
            .filter(of -> isShown.test(of.table()))
            .toList();
    if (!explanations.isEmpty()) {
      out.table(
          new Table<>(explanations)
              .left("table", Explanation::table)
              .left("decision", texts::action)
              .left("for", e -> lower(e.cause()))
              .left("saves", PlanText::saving),
          most);
    }
  }

  private static String saving(Explanation explanation) {
    if (explanation.gainMs() > 0) {
      return ms(explanation.gainMs()) + " ms";
    }
    return switch (explanation.cause()) {
      case MEMORY, DEVICE_LOST -> "";
      case COMPUTATION, COMMUNICATION -> "only together with others";
    };
  }

  private static void devices(Printed out, ShardingPlan plan, Optional<UsableMemory> memory) {
    List<DeviceCost> costs = plan.prediction().deviceCosts();
    double lastStart =
        costs.stream().mapToDouble(c -> c.computeMs() + c.backwardCommMs()).max().orElse(0);
    Table<Integer> table =
        new Table<>(IntStream.range(0, costs.size()).boxed().toList())
            .right("device", d -> d)
            .left(
                "@|blue █|@ computation @|magenta ▓|@ backward @|cyan ▒|@ forward @|faint ·|@ idle",
                d -> costBar(costs.get(d), lastStart, plan.predictedMs()))
            .right("ms", "%.3f", d -> costs.get(d).totalMs());
    table.right("memory", d -> ByteSizes.describe(costs.get(d).memoryBytes()));
    memory.ifPresent(m -> table.right("of", d -> ByteSizes.describe(m.bytes(d))));
    out.table(table, SHOWN_DEVICES);
  }

  private static Bar costBar(DeviceCost cost, double lastStart, double stepMs) {
    double idle = lastStart - cost.computeMs() - cost.backwardCommMs();
    return new Bar(
        COST_BAR,
        stepMs,
        List.of(
            new Bar.Part("blue", "█", cost.computeMs()),
            new Bar.Part("magenta", "▓", cost.backwardCommMs()),
            new Bar.Part("faint", "·", idle),
            new Bar.Part("cyan", "▒", cost.forwardCommMs() - idle)));
  }

  /** Adds what moves from the running plan, in the order in which it can. */
  private static void moves(
      Printed out,
      ShardingPlan plan,
      Optional<UsableMemory> memory,
      int most,
      Predicate<String> isShown) {
    if (plan.origin().previousPlanId().isEmpty()) {
      return;
    }
    List<MoveStep> order = plan.transition().moveOrder();
    long held = plan.prediction().deviceCosts().stream().mapToLong(DeviceCost::memoryBytes).sum();
    long throughHost = order.stream().filter(s -> s.stage() == MoveStep.Stage.TO_HOST).count();
    out.line(
        "  moves: %s, %s of %s (%.1f %%)%s",
        ShardTexts.moved(plan),
        ByteSizes.describe(plan.movedBytes()),
        ByteSizes.describe(held),
        held == 0 ? 0.0 : 100.0 * plan.movedBytes() / held,
        throughHost == 0 ? "" : ", %,d of them through host memory".formatted(throughHost));
    if (!order.isEmpty()) {
      ShardTexts texts = new ShardTexts(plan);
      List<Transfer> moves = plan.transition().moves();
      out.line("  %s", ShardTexts.waves(plan, memory));
      out.table(
          new Table<>(
                  order.stream()
                      .filter(step -> isShown.test(moves.get(step.move()).table()))
                      .toList())
              .left("table", step -> moves.get(step.move()).table())
              .left("part", step -> texts.part(moves.get(step.move())))
              .left("route", step -> ShardTexts.route(moves.get(step.move()), step.stage()))
              .right("bytes", step -> ByteSizes.describe(moves.get(step.move()).bytes())),
          most);
    }
  }

  /** Returns a workload that does not fit. */
  String infeasible(InfeasibleWorkload infeasible, String title) {
    Printed out = new Printed(ansi);
    Shortfall shortfall = infeasible.shortfall();
    out.line("@|bold generation %d|@  %s", infeasible.generation(), title);
    out.line("  @|bold,yellow %s|@", shortfall.describe());
    out.line("  %sthe last feasible plan stays", shortfall.proven() ? "" : "not proven; ");
    out.table(
        new Table<>(shortfall.tablesToBlame())
            .left("table", Shortfall.TableBytes::table)
            .right("bytes", table -> ByteSizes.describe(table.bytes())),
        Printed.SHOWN);
    return out.toString();
  }

  /** Returns a rejected event. */
  String rejected(RejectedEvent rejected, String title) {
    Printed out = new Printed(ansi);
    out.line("@|bold rejected|@  %s", title);
    out.line(
        "  @|bold,red %s|@ at %s; the workload is unchanged",
        rejected.reason(), rejected.source().toString());
    out.line("  %s", rejected.message());
    return out.toString();
  }

  private static String pool(PoolClusterOrigin origin) {
    String devices = "%,d devices of pool %s".formatted(origin.devices(), origin.poolId());
    return origin
        .generation()
        .map(
            generation ->
                "%s, by allocation %s of its generation %d: %s"
                    .formatted(
                        devices,
                        origin.allocationId().map(CanonicalHash::shown).orElse("?"),
                        generation,
                        origin.reason().orElse("?")))
        .orElse(devices + ", by an allocation that is not recorded");
  }

  private static String running(PlanProvenance provenance) {
    ShardingPlan plan = provenance.plan();
    return provenance
        .previous()
        .map(
            before ->
                String.format(
                    Locale.ROOT,
                    "%+.1f %%; plan %s of generation %d was running",
                    100 * (plan.predictedMs() / before.predictedMs() - 1),
                    CanonicalHash.shown(before.planId()),
                    before.generation()))
        .or(
            () ->
                plan.origin()
                    .previousPlanId()
                    .map("plan %s, which was running, is not recorded"::formatted))
        .orElse("no plan was running");
  }

  private static void events(Printed out, PlanProvenance provenance) {
    out.line("  events%s:", since(provenance.previous().map(ShardingPlan::generation)));
    if (provenance.events().isEmpty()) {
      out.line("    %s", withoutEvents(provenance));
    }
    events(out, provenance.events());
    for (InfeasibleWorkload infeasible : provenance.infeasible()) {
      out.line("    generation %d %s", infeasible.generation(), infeasible.shortfall().describe());
    }
  }

  static String since(Optional<Long> generation) {
    return generation.map(g -> " since generation " + g).orElse("");
  }

  private static String withoutEvents(PlanProvenance provenance) {
    String model = provenance.plan().origin().modelId();
    return provenance
        .previous()
        .map(before -> before.origin().modelId())
        .filter(before -> !before.equals(model))
        .map(
            before ->
                "none: cost model %s replaced %s"
                    .formatted(CanonicalHash.shown(model), CanonicalHash.shown(before)))
        .orElse(
            provenance.plan().origin().effort() == Effort.DEEP
                ? "none: a background search improved the running plan"
                : "none recorded");
  }

  /** Adds events, each with its changes. */
  static void events(Printed out, List<ProvenanceEvent> events) {
    for (ProvenanceEvent event : events) {
      out.line(
          "    generation %d: event %s%s%s",
          event.generation(),
          event.eventId(),
          event.source().map(source -> " from " + source).orElse(" (not recorded)"),
          event.occurredAt().map(time -> ", " + time).orElse(""));
      out.list("      ", event.changes());
    }
  }

  private static void predictions(Printed out, PlanProvenance provenance) {
    out.line(
        "  predictions of model %s (compute time of a step with the table alone on a device):",
        CanonicalHash.shown(provenance.plan().origin().modelId()));
    if (provenance.tables().isEmpty()) {
      out.line("    no table was added or changed");
    } else {
      out.table(
          new Table<>(provenance.tables())
              .left("table", table -> table.table().name())
              .right("ms", "%.3f", ProvenanceTable::aloneMs)
              .right("before", "%.3f", ProvenanceTable::beforeMs),
          Printed.SHOWN);
    }
  }

  private static void settings(Printed out, ShardingPlan plan) {
    SearchSettings settings = plan.origin().settings();
    out.line(
        "  search: %s; %,d evaluations per table, %,d for repairs; moves at %s GB/s plus %s ms each"
            + " and %s ms a reshard, to pay off within %,d steps; column cuts: %s; risk: %s standard"
            + " deviations",
        search(plan),
        settings.evaluationsPerTable(),
        settings.repairEvaluations(),
        settings.moveGigabytesPerSecond(),
        settings.moveOverheadMs(),
        settings.reshardMs(),
        settings.paybackSteps(),
        settings.columnCuts().label(),
        settings.risk());
  }
}
