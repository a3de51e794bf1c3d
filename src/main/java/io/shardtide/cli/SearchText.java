package io.shardtide.cli;

import io.shardtide.domain.Bottleneck;
import io.shardtide.domain.ByteSizes;
import io.shardtide.domain.Explanation;
import io.shardtide.domain.Insight;
import io.shardtide.domain.Move;
import io.shardtide.domain.MoveStep;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.ShardingPlan;
import java.util.List;
import java.util.Locale;

/** Prints what the search of a plan did: effort, bound, bottleneck, splits and moves. */
final class SearchText {
  private static final int SHOWN = 20;

  private SearchText() {}

  /** Adds the lines of a plan. */
  static void add(TextLines out, ShardingPlan plan) {
    search(out, plan);
    explanations(out, plan);
    moves(out, plan);
  }

  private static void search(TextLines out, ShardingPlan plan) {
    Insight insight = plan.insight();
    Bottleneck bottleneck = insight.bottleneck();
    SearchSettings settings = plan.settings();
    out.add("search:");
    out.add(
        "  %s search, %,d evaluations, %.1f ms",
        plan.effort().name().toLowerCase(Locale.ROOT), plan.evaluations(), plan.searchMillis());
    out.add(
        "  lower bound of any plan: %.3f ms; this plan is %.1f %% above it",
        insight.lowerBoundMs(),
        insight.lowerBoundMs() > 0 ? 100 * (plan.predictedMs() / insight.lowerBoundMs() - 1) : 0.0);
    out.add(
        "  settings: %,d evaluations per table, %,d for repairs; moves at %s GB/s plus %s ms each and %s ms a reshard, to pay off within %,d steps; column cuts: %s",
        settings.evaluationsPerTable(),
        settings.repairEvaluations(),
        settings.moveGigabytesPerSecond(),
        settings.moveOverheadMs(),
        settings.reshardMs(),
        settings.paybackSteps(),
        settings.columnCuts().key());
    out.add(
        "  bottleneck: device %d, %s%s",
        bottleneck.device(),
        word(bottleneck.cause()),
        bottleneck.table().isEmpty()
            ? ""
            : ", mostly table "
                + bottleneck.table()
                + (bottleneck.gainMs() > 0
                    ? " (%.3f ms less without it)".formatted(bottleneck.gainMs())
                    : ""));
  }

  private static void explanations(TextLines out, ShardingPlan plan) {
    out.add("splits and moves, and what they save:");
    List<Explanation> explanations = plan.insight().explanations();
    if (explanations.isEmpty()) {
      out.add("  none");
    }
    out.addAll(
        "    ",
        explanations.stream()
            .map(
                e ->
                    "%s %s for %s%s"
                        .formatted(
                            e.table(),
                            e.kind() == Explanation.ExplainedAction.SPLIT
                                ? "split"
                                : "moved %d -> %d".formatted(e.fromDevice(), e.toDevice()),
                            word(e.cause()),
                            e.gainMs() > 0
                                ? ", saves %.3f ms".formatted(e.gainMs())
                                : e.cause() == Explanation.Cause.MEMORY
                                        || e.cause() == Explanation.Cause.DEVICE_LOST
                                    ? ""
                                    : ", saves only together with others"))
            .toList(),
        SHOWN);
  }

  private static String word(Explanation.Cause cause) {
    return cause.name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }

  private static void moves(TextLines out, ShardingPlan plan) {
    long throughHost =
        plan.moveOrder().stream().filter(s -> s.stage() == MoveStep.Stage.TO_HOST).count();
    out.add(
        "moves: %,d, %s, %,d through host memory%s",
        plan.moves().size(),
        ByteSizes.describe(plan.movedBytes()),
        throughHost,
        plan.moves().isEmpty() ? "" : "; in this order:");
    out.addAll(
        "    ",
        plan.moveOrder().stream().map(step -> step(plan.moves().get(step.move()), step)).toList(),
        SHOWN);
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
            move.region().columnOffset() + move.region().columns() - 1,
            devices,
            ByteSizes.describe(move.bytes()));
  }
}
