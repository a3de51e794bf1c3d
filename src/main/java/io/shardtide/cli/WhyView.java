package io.shardtide.cli;

import com.google.errorprone.annotations.FormatMethod;
import io.shardtide.domain.Bottleneck;
import io.shardtide.domain.ByteSizes;
import io.shardtide.domain.CanonicalHash;
import io.shardtide.domain.DeviceCost;
import io.shardtide.domain.Effort;
import io.shardtide.domain.Explanation;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.Insight;
import io.shardtide.domain.Move;
import io.shardtide.domain.MoveStep;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.replay.PlanProvenance;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/** Shows how a plan came about, as text. */
final class WhyView {
  private static final int SHOWN = 20;

  /** Returns the story, a line for each fact. */
  String show(PlanProvenance story) {
    StringBuilder out = new StringBuilder();
    ShardingPlan plan = story.plan();
    line(out, "plan %s", plan.planId());
    line(
        out,
        "  workload %s, %s, made %s: %s",
        plan.workloadId(),
        plan.firstGeneration() == plan.generation()
            ? "generation " + plan.generation()
            : "generations %d to %d".formatted(plan.firstGeneration(), plan.generation()),
        plan.createdAt(),
        plan.reason());
    cost(out, story);
    events(out, story);
    tables(out, story);
    considered(out, plan);
    explanations(out, plan);
    moves(out, plan);
    trainers(out, story);
    return out.toString();
  }

  private static void cost(StringBuilder out, PlanProvenance story) {
    ShardingPlan plan = story.plan();
    if (story.previous().isPresent()) {
      ShardingPlan before = story.previous().get();
      line(
          out,
          "  predicted %.3f -> %.3f ms a step (%+.1f %%), from plan %s of generation %d, which was running",
          before.predictedMs(),
          plan.predictedMs(),
          100 * (plan.predictedMs() / before.predictedMs() - 1),
          CanonicalHash.shown(before.planId()),
          before.generation());
    } else {
      line(
          out,
          "  predicted %.3f ms a step; %s",
          plan.predictedMs(),
          plan.previousPlanId()
              .map(id -> "plan %s, which was running, is not on record".formatted(id))
              .orElse("no plan was running"));
    }
    plan.deviceCosts().stream()
        .max(Comparator.comparingDouble(DeviceCost::totalMs))
        .ifPresent(
            cost ->
                line(
                    out,
                    "  on the slowest of %d devices: computation %.3f, forward exchange %.3f with waiting, backward %.3f ms",
                    plan.deviceCosts().size(),
                    cost.computeMs(),
                    cost.forwardCommMs(),
                    cost.backwardCommMs()));
  }

  private static void events(StringBuilder out, PlanProvenance story) {
    ShardingPlan plan = story.plan();
    line(
        out,
        "what happened%s:",
        story.previous().map(p -> " since generation " + p.generation()).orElse(""));
    if (story.events().isEmpty()) {
      String model =
          story
              .previous()
              .filter(p -> !p.modelId().equals(plan.modelId()))
              .map(
                  p ->
                      "cost model %s took over from %s"
                          .formatted(
                              CanonicalHash.shown(plan.modelId()),
                              CanonicalHash.shown(p.modelId())))
              .orElse(
                  plan.effort() == Effort.DEEP
                      ? "no event: a deeper search went on from the plan that ran"
                      : "nothing is on record");
      line(out, "  %s", model);
    }
    for (PlanProvenance.ProvenanceEvent event : story.events()) {
      line(
          out,
          "  generation %d: event %s%s%s",
          event.generation(),
          event.eventId(),
          event.source().map(source -> " from " + source).orElse(", which is not on record"),
          event.occurredAt().map(time -> ", " + time).orElse(""));
      some(out, event.changes());
    }
    for (InfeasibleWorkload infeasible : story.infeasible()) {
      line(
          out,
          "  generation %d did not fit, %s short: %s",
          infeasible.generation(),
          ByteSizes.describe(infeasible.shortfall().bytesShort()),
          infeasible.shortfall().message());
    }
  }

  private static void tables(StringBuilder out, PlanProvenance story) {
    line(
        out,
        "what model %s predicted (computation of a whole table on a device of its own):",
        CanonicalHash.shown(story.plan().modelId()));
    if (story.tables().isEmpty()) {
      line(out, "  no table is new or different");
    }
    some(
        out,
        story.tables().stream()
            .map(
                table ->
                    "%s %s ms%s"
                        .formatted(
                            table.table().name(),
                            ms(table.aloneMs()),
                            table.beforeMs().isPresent() ? ", before " + ms(table.beforeMs()) : ""))
            .toList());
    if (story.plan().outOfRangeCount() > 0) {
      line(
          out,
          "  less sure: the model was not trained on %s%s",
          story.plan().outOfRange().get(0).describe(),
          story.plan().outOfRangeCount() > 1
              ? " and %,d more like it".formatted(story.plan().outOfRangeCount() - 1)
              : "");
    }
  }

  private static String ms(OptionalDouble value) {
    return value.isPresent() ? "%.3f".formatted(value.getAsDouble()) : "?";
  }

  private static void considered(StringBuilder out, ShardingPlan plan) {
    Insight insight = plan.insight();
    Bottleneck bottleneck = insight.bottleneck();
    SearchSettings settings = plan.settings();
    line(out, "what was considered:");
    line(
        out,
        "  a %s search, %,d evaluations, %.1f ms",
        plan.effort().name().toLowerCase(Locale.ROOT),
        plan.evaluations(),
        plan.searchMillis());
    line(
        out,
        "  no plan costs less than %.3f ms; this one is %.1f %% above",
        insight.lowerBoundMs(),
        insight.lowerBoundMs() > 0 ? 100 * (plan.predictedMs() / insight.lowerBoundMs() - 1) : 0.0);
    line(
        out,
        "  settings: %,d evaluations a table, %,d to repair; moves at %s GB/s and %s ms each, paid back in %,d steps",
        settings.evaluationsPerTable(),
        settings.repairEvaluations(),
        settings.moveGigabytesPerSecond(),
        settings.moveOverheadMs(),
        settings.paybackSteps());
    line(
        out,
        "  bottleneck: device %d, %s%s",
        bottleneck.device(),
        word(bottleneck.cause()),
        bottleneck.table().isEmpty()
            ? ""
            : ", most by "
                + bottleneck.table()
                + (bottleneck.gainMs() > 0
                    ? " (%.3f ms less without it)".formatted(bottleneck.gainMs())
                    : ""));
  }

  private static void explanations(StringBuilder out, ShardingPlan plan) {
    line(out, "what was cut and moved, and what it gains:");
    List<Explanation> explanations = plan.insight().explanations();
    if (explanations.isEmpty()) {
      line(out, "  nothing");
    }
    some(
        out,
        explanations.stream()
            .map(
                e ->
                    "%s %s for %s%s"
                        .formatted(
                            e.table(),
                            e.kind() == Explanation.ExplainedAction.SPLIT
                                ? "cut"
                                : "moved %d -> %d".formatted(e.fromDevice(), e.toDevice()),
                            word(e.cause()),
                            e.gainMs() > 0
                                ? ", saves %.3f ms".formatted(e.gainMs())
                                : e.cause() == Explanation.Cause.MEMORY
                                        || e.cause() == Explanation.Cause.DEVICE_LOST
                                    ? ""
                                    : ", gains only together with others"))
            .toList());
  }

  private static String word(Explanation.Cause cause) {
    return cause.name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }

  private static void moves(StringBuilder out, ShardingPlan plan) {
    long throughHost =
        plan.moveOrder().stream().filter(s -> s.stage() == MoveStep.Stage.TO_HOST).count();
    line(
        out,
        "moves: %,d, %s, %,d through the host's memory%s",
        plan.moves().size(),
        ByteSizes.describe(plan.movedBytes()),
        throughHost,
        plan.moves().isEmpty() ? "" : "; in this order:");
    some(
        out,
        plan.moveOrder().stream().map(step -> step(plan.moves().get(step.move()), step)).toList());
  }

  private static String step(Move move, MoveStep step) {
    String devices =
        switch (step.stage()) {
          case DIRECT -> "device %d -> %d".formatted(move.fromDevice(), move.toDevice());
          case TO_HOST -> "device %d -> host".formatted(move.fromDevice());
          case FROM_HOST -> "host -> device %d".formatted(move.toDevice());
        };
    return "%s columns %d to %d  %s  %s"
        .formatted(
            move.table(),
            move.region().columnOffset(),
            move.region().columnEnd() - 1,
            devices,
            ByteSizes.describe(move.bytes()));
  }

  private static void trainers(StringBuilder out, PlanProvenance story) {
    if (!story.statuses().isEmpty()) {
      line(out, "what trainers said of it:");
      for (PlanStatus status : story.statuses()) {
        line(
            out,
            "  step %,d: %s by %s%s",
            status.step(),
            status.kind().name().toLowerCase(Locale.ROOT).replace('_', ' '),
            status.source(),
            status.reason().map(reason -> ", " + reason).orElse(""));
      }
    }
  }

  private static void some(StringBuilder out, List<String> lines) {
    lines.stream().limit(SHOWN).forEach(text -> line(out, "    %s", text));
    if (lines.size() > SHOWN) {
      line(out, "    ... and %,d more", lines.size() - SHOWN);
    }
  }

  @FormatMethod
  private static void line(StringBuilder out, String format, Object... args) {
    out.append(Printable.of(String.format(Locale.ROOT, format, args))).append('\n');
  }
}
