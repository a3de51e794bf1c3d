package io.shardtide.cli;

import io.shardtide.plan.Bottleneck;
import io.shardtide.plan.Explanation;
import io.shardtide.plan.Insight;
import io.shardtide.plan.MoveStep;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Transfer;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.UsableMemory;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Prints what the search of a plan did: effort, bound, bottleneck, shards, splits and moves. */
final class SearchText {
  private static final int SHOWN = 20;

  private SearchText() {}

  /**
   * Adds the lines of a plan.
   *
   * @param memory memory of each device for shards, if known
   */
  static void add(TextLines out, ShardingPlan plan, Optional<UsableMemory> memory) {
    search(out, plan);
    ShardTexts texts = new ShardTexts(plan);
    shards(out, texts);
    explanations(out, plan, texts);
    moves(out, plan, texts, memory);
  }

  private static void search(TextLines out, ShardingPlan plan) {
    Insight insight = plan.prediction().insight();
    Bottleneck bottleneck = insight.bottleneck();
    SearchSettings settings = plan.origin().settings();
    out.add("search:");
    out.add(
        "  %s search, %,d evaluations, %.1f ms",
        plan.origin().effort().name().toLowerCase(Locale.ROOT),
        plan.run().evaluations(),
        plan.run().searchMillis());
    out.add(
        "  lower bound of any plan: %.3f ms; this plan is %.1f %% above it",
        insight.lowerBoundMs(), 100 * ShardTexts.aboveBound(plan.predictedMs(), insight));
    out.add(
        "  settings: %,d evaluations per table, %,d for repairs; moves at %s GB/s plus %s ms each and %s ms a reshard, to pay off within %,d steps; column cuts: %s; risk: %s standard deviations",
        settings.evaluationsPerTable(),
        settings.repairEvaluations(),
        settings.moveGigabytesPerSecond(),
        settings.moveOverheadMs(),
        settings.reshardMs(),
        settings.paybackSteps(),
        settings.columnCuts().label(),
        settings.risk());
    out.add(
        "  bottleneck: device %d, %s%s",
        bottleneck.device(),
        ShardTexts.cause(bottleneck.cause()),
        bottleneck.table().isEmpty()
            ? ""
            : ", mostly table "
                + bottleneck.table()
                + (bottleneck.gainMs() > 0
                    ? " (%.3f ms less without it)".formatted(bottleneck.gainMs())
                    : ""));
  }

  private static void shards(TextLines out, ShardTexts texts) {
    out.add("tables: %s", texts.kinds());
    if (texts.tables() > 0) {
      out.addIndented(texts.layout(SHOWN), texts.tables() - SHOWN);
    }
  }

  private static void explanations(TextLines out, ShardingPlan plan, ShardTexts texts) {
    out.add("splits, kinds and moves, and what they save:");
    List<Explanation> explanations = plan.prediction().insight().explanations();
    if (explanations.isEmpty()) {
      out.add("  none");
      return;
    }
    TextTable table = new TextTable("table", "decision", "for", "saves");
    explanations.stream()
        .limit(SHOWN)
        .forEach(
            e -> table.add(e.table(), texts.action(e), ShardTexts.cause(e.cause()), saving(e)));
    out.addIndented(table, explanations.size() - SHOWN);
  }

  private static String saving(Explanation explanation) {
    if (explanation.gainMs() > 0) {
      return "%.3f ms".formatted(explanation.gainMs());
    }
    return switch (explanation.cause()) {
      case MEMORY, DEVICE_LOST -> "";
      case COMPUTATION, COMMUNICATION -> "only together with others";
    };
  }

  private static void moves(
      TextLines out, ShardingPlan plan, ShardTexts texts, Optional<UsableMemory> memory) {
    long throughHost =
        plan.transition().moveOrder().stream()
            .filter(s -> s.stage() == MoveStep.Stage.TO_HOST)
            .count();
    out.add(
        "moves: %s, %s, %,d through host memory%s",
        ShardTexts.moved(plan),
        ByteSizes.describe(plan.movedBytes()),
        throughHost,
        plan.transition().moves().isEmpty() ? "" : "; in this order:");
    if (!plan.transition().moves().isEmpty()) {
      out.add("  or, while training goes on, %s", ShardTexts.waves(plan, memory));
    }
    if (plan.transition().moveOrder().isEmpty()) {
      return;
    }
    TextTable table = new TextTable("table", "part", "route", " bytes");
    plan.transition().moveOrder().stream()
        .limit(SHOWN)
        .forEach(
            step -> {
              Transfer move = plan.transition().moves().get(step.move());
              table.add(
                  move.table(),
                  texts.part(move),
                  ShardTexts.route(move, step.stage()),
                  ByteSizes.describe(move.bytes()));
            });
    out.addIndented(table, plan.transition().moveOrder().size() - SHOWN);
  }
}
