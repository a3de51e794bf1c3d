package io.shardtide.cli;

import com.google.errorprone.annotations.FormatMethod;
import io.shardtide.plan.Bottleneck;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.MoveStep;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Shortfall;
import io.shardtide.plan.Transfer;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.UsableMemory;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Predicate;
import java.util.stream.Stream;
import picocli.CommandLine.Help.Ansi;

/** Formats a plan as text: its cost, a bar for each device, and its moves. */
final class PlanView {
  private static final int COST_BAR = 48;
  private static final int MEMORY_BAR = 16;
  private static final int SHOWN_MOVES = 4;
  private static final int SHOWN_DEVICES = 16;
  private static final int SHOWN_EXPLANATIONS = 3;
  private static final double VISIBLE_MS = 0.005;

  /** What follows a predicted step of a model that was trained on simulated costs. */
  static final String SIMULATED = " (simulated costs)";

  private final Ansi ansi;
  private final Predicate<String> simulated;

  /**
   * @param simulated whether the cost model with an id was trained on simulated costs
   */
  PlanView(Ansi ansi, Predicate<String> simulated) {
    this.ansi = ansi;
    this.simulated = simulated;
  }

  /**
   * Formats a plan.
   *
   * @param plan the plan
   * @param previous the plan before it
   * @param memory memory of each device for shards, if known
   * @param title what changed
   * @param answerMillis time from the change to the plan in milliseconds, if measured
   */
  String show(
      ShardingPlan plan,
      Optional<ShardingPlan> previous,
      Optional<UsableMemory> memory,
      String title,
      OptionalDouble answerMillis) {
    StringBuilder out = new StringBuilder();
    line(out, "@|bold %s|@  %s", generations(plan), title);
    line(out, "  plan %s  %s", CanonicalHash.shown(plan.planId()), plan.reason());
    line(
        out,
        "  predicted step %s@|bold %.2f|@ ms%s; %s %.0f ms, %,d evaluations",
        previous.map(p -> "%.2f -> ".formatted(p.predictedMs())).orElse(""),
        plan.predictedMs(),
        uncertainty(plan) + (simulated.test(plan.origin().modelId()) ? SIMULATED : ""),
        answerMillis.isPresent()
            ? "answered in %.0f ms, search".formatted(answerMillis.getAsDouble())
            : "search",
        plan.run().searchMillis(),
        plan.run().evaluations());
    if (plan.groups().areSeveral()) {
      line(out, "  %s", ShardTexts.replication(plan));
    }
    if (!plan.codecs().isEmpty()) {
      line(out, "  codecs: %s", CodecTexts.describe(plan));
    }
    if (!plan.kernels().isEmpty()) {
      line(out, "  kernels: %s", KernelTexts.describe(plan));
    }
    insight(out, plan);
    outOfRange(out, plan);
    devices(out, plan, memory);
    moves(out, plan, previous, memory);
    return out.toString();
  }

  /** Returns one standard deviation of the predicted step, as text; empty if it is unknown. */
  static String uncertainty(ShardingPlan plan) {
    double deviationMs = plan.prediction().insight().uncertaintyMs();
    return deviationMs > 0 ? String.format(Locale.ROOT, " +- %.2f ms", deviationMs) : "";
  }

  /** Returns the generations that a plan answers, as text. */
  static String generations(ShardingPlan plan) {
    return plan.origin().firstGeneration() == plan.generation()
        ? "generation " + plan.generation()
        : "generations %d to %d".formatted(plan.origin().firstGeneration(), plan.generation());
  }

  /** Formats a workload that does not fit. */
  String show(InfeasibleWorkload infeasible, String title) {
    StringBuilder out = new StringBuilder();
    Shortfall shortfall = infeasible.shortfall();
    line(out, "@|bold generation %d|@  %s", infeasible.generation(), title);
    line(
        out,
        "  @|bold,yellow does not fit|@%s%s; the last feasible plan stays",
        shortfall.bytesShort() == 0
            ? ""
            : ": %s missing".formatted(ByteSizes.describe(shortfall.bytesShort())),
        shortfall.proven() ? "" : " (not proven)");
    line(out, "  %s", shortfall.message());
    for (Shortfall.TableBytes table : shortfall.tablesToBlame()) {
      line(out, "    %-24s %12s", table.table(), ByteSizes.describe(table.bytes()));
    }
    return out.toString();
  }

  /** Formats a rejected event. */
  String show(RejectedEvent rejected, String title) {
    StringBuilder out = new StringBuilder();
    line(out, "@|bold rejected|@  %s", title);
    line(
        out,
        "  @|bold,red %s|@ at %s; the workload is unchanged",
        rejected.reason(),
        rejected.source());
    line(out, "  %s", rejected.message());
    return out.toString();
  }

  private void insight(StringBuilder out, ShardingPlan plan) {
    Bottleneck bottleneck = plan.prediction().insight().bottleneck();
    line(
        out,
        "  lower bound %.2f ms, the step is %.1f %% above it; bottleneck: device %d, %s, mostly table %s%s",
        plan.prediction().insight().lowerBoundMs(),
        100 * ShardTexts.aboveBound(plan.predictedMs(), plan.prediction().insight()),
        bottleneck.device(),
        ShardTexts.cause(bottleneck.cause()),
        bottleneck.table(),
        bottleneck.gainMs() < VISIBLE_MS ? "" : " (%.2f ms)".formatted(bottleneck.gainMs()));
    ShardTexts texts = new ShardTexts(plan);
    line(out, "  tables: %s", texts.kinds());
    rows(
        out,
        plan.prediction().insight().explanations().stream()
            .limit(SHOWN_EXPLANATIONS)
            .map(
                e ->
                    List.of(
                        e.table(),
                        texts.action(e),
                        "for %s%s"
                            .formatted(
                                ShardTexts.cause(e.cause()),
                                e.gainMs() >= VISIBLE_MS
                                    ? ", saves %.2f ms".formatted(e.gainMs())
                                    : "")))
            .toList());
  }

  private void outOfRange(StringBuilder out, ShardingPlan plan) {
    if (plan.prediction().outOfRangeCount() > 0) {
      line(
          out,
          "  @|yellow extrapolating|@: outside the training range: %s%s",
          plan.prediction().outOfRange().get(0).describe(),
          plan.prediction().outOfRangeCount() > 1
              ? " and %,d more".formatted(plan.prediction().outOfRangeCount() - 1)
              : "");
    }
  }

  private void devices(StringBuilder out, ShardingPlan plan, Optional<UsableMemory> memory) {
    double lastStart =
        plan.prediction().deviceCosts().stream()
            .mapToDouble(c -> c.computeMs() + c.backwardCommMs())
            .max()
            .orElse(0);
    line(
        out,
        "  device  @|blue █|@ computation @|magenta ▓|@ backward @|cyan ▒|@ forward · idle   ms  "
            + " memory");
    for (int d = 0; d < Math.min(SHOWN_DEVICES, plan.prediction().deviceCosts().size()); d++) {
      DeviceCost cost = plan.prediction().deviceCosts().get(d);
      double idle = lastStart - cost.computeMs() - cost.backwardCommMs();
      Styled bar =
          segments(
              plan.predictedMs(),
              new double[] {
                cost.computeMs(), cost.backwardCommMs(), idle, cost.forwardCommMs() - idle
              });
      String bytes = ByteSizes.describe(cost.memoryBytes());
      if (memory.isPresent()) {
        long usable = memory.get().bytes(d);
        line(
            out,
            "  %6d  %s %7.2f   %s %10s of %s",
            d,
            bar,
            cost.totalMs(),
            memoryBar(cost.memoryBytes(), usable),
            bytes,
            ByteSizes.describe(usable));
      } else {
        line(out, "  %6d  %s %7.2f   %10s", d, bar, cost.totalMs(), bytes);
      }
    }
    if (plan.prediction().deviceCosts().size() > SHOWN_DEVICES) {
      line(
          out,
          "          ... and %d more devices",
          plan.prediction().deviceCosts().size() - SHOWN_DEVICES);
    }
  }

  private Styled segments(double whole, double[] parts) {
    String[] styles = {"@|blue %s|@", "@|magenta %s|@", "%s", "@|cyan %s|@"};
    String[] glyphs = {"█", "▓", "·", "▒"};
    StringBuilder bar = new StringBuilder();
    double sum = 0;
    int drawn = 0;
    for (int p = 0; p < parts.length; p++) {
      sum += parts[p];
      int end = whole > 0 ? (int) Math.round(COST_BAR * sum / whole) : 0;
      if (end > drawn) {
        bar.append(ansi.string(styles[p].formatted(glyphs[p].repeat(end - drawn))));
        drawn = end;
      }
    }
    return new Styled(bar.append(" ".repeat(Math.max(0, COST_BAR - drawn))).toString());
  }

  private Styled memoryBar(long bytes, long memory) {
    int filled = (int) Math.min(MEMORY_BAR, Math.round((double) MEMORY_BAR * bytes / memory));
    return new Styled(
        ansi.string(
            "@|green %s|@%s".formatted("█".repeat(filled), "·".repeat(MEMORY_BAR - filled))));
  }

  private void moves(
      StringBuilder out,
      ShardingPlan plan,
      Optional<ShardingPlan> previous,
      Optional<UsableMemory> memory) {
    if (previous.isEmpty()) {
      return;
    }
    List<Transfer> moves = plan.transition().moves();
    long held = plan.prediction().deviceCosts().stream().mapToLong(DeviceCost::memoryBytes).sum();
    line(
        out,
        "  moves %s, %s of %s (%.1f %%)%s",
        ShardTexts.moved(plan),
        ByteSizes.describe(plan.movedBytes()),
        ByteSizes.describe(held),
        held == 0 ? 0.0 : 100.0 * plan.movedBytes() / held,
        throughHost(plan));
    if (!moves.isEmpty()) {
      line(out, "  %s", ShardTexts.waves(plan, memory));
    }
    ShardTexts texts = new ShardTexts(plan);
    rows(
        out,
        moves.stream()
            .sorted(
                Comparator.comparingLong(Transfer::bytes).reversed().thenComparing(Transfer.ORDER))
            .limit(SHOWN_MOVES)
            .map(
                move ->
                    List.of(
                        move.table(),
                        texts.part(move),
                        ShardTexts.route(move),
                        ByteSizes.describe(move.bytes())))
            .toList());
    if (moves.size() > SHOWN_MOVES) {
      line(out, "    ... and %d more", moves.size() - SHOWN_MOVES);
    }
  }

  private static String throughHost(ShardingPlan plan) {
    long count =
        plan.transition().moveOrder().stream()
            .filter(s -> s.stage() == MoveStep.Stage.TO_HOST)
            .count();
    return count == 0 ? "" : ", %d of them through host memory".formatted(count);
  }

  /** Adds rows of cells, each column as wide as its widest cell. */
  private void rows(StringBuilder out, List<List<String>> rows) {
    List<List<String>> shown =
        rows.stream().map(row -> row.stream().map(Printable::of).toList()).toList();
    for (List<String> row : shown) {
      StringBuilder cells = new StringBuilder();
      for (int c = 0; c < row.size(); c++) {
        int column = c;
        int width = shown.stream().mapToInt(other -> other.get(column).length()).max().orElse(0);
        cells.append("  ").append(row.get(c)).append(" ".repeat(width - row.get(c).length()));
      }
      line(out, "  %s", cells.toString().stripTrailing());
    }
  }

  /** Text with a terminal's codes for styles, which no data is part of. */
  private record Styled(String text) {
    @Override
    public String toString() {
      return text;
    }
  }

  /**
   * Adds a line.
   *
   * @param format a constant, which may have picocli's marks for styles
   * @param args data: not parsed for marks, and made printable
   */
  @FormatMethod
  private void line(StringBuilder out, String format, Object... args) {
    Object[] shown =
        Stream.of(args).map(a -> a instanceof String text ? Printable.of(text) : a).toArray();
    out.append(String.format(Locale.ROOT, ansi.string(format), shown)).append('\n');
  }
}
