package io.shardtide.cli;

import com.google.errorprone.annotations.FormatMethod;
import io.shardtide.domain.ByteSizes;
import io.shardtide.domain.CanonicalHash;
import io.shardtide.replay.Difference;
import io.shardtide.replay.ReplayResult;
import io.shardtide.replay.ReplayRow;
import io.shardtide.replay.Verdict;
import io.shardtide.replay.WhatIf;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/** Shows what a replay came to, as text. */
final class ReplayView {
  private static final int SHOWN_PROBLEMS = 20;

  /** Shows the verdicts, the first difference, and what else there is to say. */
  String show(ReplayResult result) {
    StringBuilder out = new StringBuilder();
    TextTable table = new TextTable("workload", " generation", "plan", "effort", "verdict");
    for (ReplayRow row : result.rows()) {
      table.add(
          row.workloadId(),
          row.firstGeneration() == row.generation()
              ? Long.toString(row.generation())
              : row.firstGeneration() + " to " + row.generation(),
          row.planId().map(CanonicalHash::shown).orElse("-"),
          row.effort().map(e -> e.name().toLowerCase(Locale.ROOT)).orElse("-"),
          row.verdict().toString());
    }
    out.append(table);
    line(
        out,
        "%,d equal, %,d differ, %,d not recorded, %,d not reproduced",
        result.count(Verdict.EQUAL),
        result.count(Verdict.DIFFERS),
        result.count(Verdict.NOT_RECORDED),
        result.count(Verdict.NOT_REPRODUCED));
    result.first().ifPresent(difference -> show(out, difference));
    some(out, "wrong", result.problems());
    some(out, "note", result.notes());
    result.deviation().ifPresent(deviation -> line(out, "%s", deviation));
    return out.toString();
  }

  private static void show(StringBuilder out, Difference difference) {
    ReplayRow row = difference.row();
    line(
        out,
        "The first difference: plan %s, generation %d of %s",
        row.planId().map(CanonicalHash::shown).orElse("-"),
        row.generation(),
        row.workloadId());
    line(out, "  cause: %s; %s", difference.cause(), difference.explanation());
    difference.fields().forEach(field -> line(out, "  %s", field));
  }

  private static void some(StringBuilder out, String word, List<String> lines) {
    lines.stream().limit(SHOWN_PROBLEMS).forEach(text -> line(out, "%s: %s", word, text));
    if (lines.size() > SHOWN_PROBLEMS) {
      line(out, "%s: ... and %,d more", word, lines.size() - SHOWN_PROBLEMS);
    }
  }

  /**
   * Shows what would have happened beside what did.
   *
   * @param isPredicted whether predictions on record were used
   */
  String show(WhatIf.WhatIfPlan answer, boolean isPredicted) {
    StringBuilder out = new StringBuilder();
    line(
        out,
        "Each generation is planned by itself, with %s and %s",
        answer.settings(),
        isPredicted ? "the predictions on record" : "new predictions");
    TextTable table =
        new TextTable(
            "workload", " generation", " ms", " what if ms", " ", " moved", " what if moved");
    double realMs = 0;
    double ms = 0;
    int both = 0;
    long realBytes = 0;
    long bytes = 0;
    for (WhatIf.WhatIfRow line : answer.lines()) {
      OptionalDouble before = line.real().ms();
      OptionalDouble after = line.anew().ms();
      boolean compares = before.isPresent() && after.isPresent();
      if (compares) {
        realMs += before.getAsDouble();
        ms += after.getAsDouble();
        both++;
      }
      realBytes += line.real().movedBytes();
      bytes += line.anew().movedBytes();
      table.add(
          line.workloadId(),
          Long.toString(line.generation()),
          cost(line.real()),
          cost(line.anew()),
          compares ? percent(before.getAsDouble(), after.getAsDouble()) : "",
          ByteSizes.describe(line.real().movedBytes()),
          ByteSizes.describe(line.anew().movedBytes()));
    }
    if (both > 0) {
      table.add(
          "mean of " + both + " planned in both",
          "",
          "%.3f".formatted(realMs / both),
          "%.3f".formatted(ms / both),
          percent(realMs, ms),
          "",
          "");
    }
    table.add("total", "", "", "", "", ByteSizes.describe(realBytes), ByteSizes.describe(bytes));
    out.append(table);
    some(out, "note", answer.notes());
    return out.toString();
  }

  private static String cost(WhatIf.Side side) {
    return side.ms().isPresent() ? "%.3f".formatted(side.ms().getAsDouble()) : side.note();
  }

  private static String percent(double before, double after) {
    return before == 0 ? "" : "%+.1f %%".formatted(100 * (after / before - 1));
  }

  @FormatMethod
  private static void line(StringBuilder out, String format, Object... args) {
    out.append(Printable.of(String.format(Locale.ROOT, format, args))).append('\n');
  }
}
