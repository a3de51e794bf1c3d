package io.shardtide.cli;

import io.shardtide.replay.Difference;
import io.shardtide.replay.ReplayResult;
import io.shardtide.replay.ReplayRow;
import io.shardtide.replay.Verdict;
import io.shardtide.replay.WhatIf;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.CanonicalHash;
import java.util.Locale;
import java.util.OptionalDouble;

/** Prints the result of a replay. */
final class ReplayView {
  private static final int SHOWN = 20;

  /** Returns the verdicts of plans, the first difference, problems and notes. */
  String showPlans(ReplayResult result) {
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
    TextLines out = new TextLines();
    out.add(table);
    out.add(
        "%,d equal, %,d differ, %,d not recorded, %,d not reproduced",
        result.count(Verdict.EQUAL),
        result.count(Verdict.DIFFERS),
        result.count(Verdict.NOT_RECORDED),
        result.count(Verdict.NOT_REPRODUCED));
    show(out, result, "plan", "");
    return out.toString();
  }

  /**
   * Returns how many allocations of pools or forecasts of hashed tables are equal, if there are
   * any, the first difference, and notes.
   *
   * @param all what they are called
   * @param one what the id of one is of
   * @param owner text before a workload or pool
   */
  String show(ReplayResult result, String all, String one, String owner) {
    TextLines out = new TextLines();
    if (!result.rows().isEmpty()) {
      out.add(
          "%,d %s equal, %,d differ, %,d not reproduced",
          result.count(Verdict.EQUAL),
          all,
          result.count(Verdict.DIFFERS),
          result.count(Verdict.NOT_REPRODUCED));
    }
    show(out, result, one, owner);
    return out.toString();
  }

  private static void show(TextLines out, ReplayResult result, String one, String owner) {
    if (result.first().isPresent()) {
      Difference difference = result.first().get();
      out.add(
          "First difference: %s %s, generation %d of %s%s",
          one,
          CanonicalHash.shown(difference.id()),
          difference.generation(),
          owner,
          difference.owner());
      out.add("  %s", difference.explanation());
      out.add("  made from: %s", difference.inputs());
      out.addAll("  ", difference.fields(), SHOWN);
    }
    out.addAll("problem: ", result.problems(), SHOWN);
    out.addAll("note: ", result.notes(), SHOWN);
  }

  /**
   * Returns a comparison with the recorded plans.
   *
   * @param isPredicted whether recorded predictions were used
   */
  String show(WhatIf.WhatIfResult result, boolean isPredicted) {
    TextLines out = new TextLines();
    out.add(
        "Each generation is planned by itself, with %s and %s",
        result.settings(), isPredicted ? "the recorded predictions" : "new predictions");
    TextTable table =
        new TextTable(
            "workload",
            " generation",
            " recorded ms",
            " what-if ms",
            " change",
            " recorded moves",
            " what-if moves");
    double recordedMs = 0;
    double ms = 0;
    int both = 0;
    long recordedBytes = 0;
    long bytes = 0;
    for (WhatIf.WhatIfRow row : result.rows()) {
      OptionalDouble before = row.recorded().ms();
      OptionalDouble after = row.hypothetical().ms();
      boolean compares = before.isPresent() && after.isPresent();
      if (compares) {
        recordedMs += before.getAsDouble();
        ms += after.getAsDouble();
        both++;
      }
      recordedBytes += row.recorded().movedBytes();
      bytes += row.hypothetical().movedBytes();
      table.add(
          row.workloadId(),
          Long.toString(row.generation()),
          cost(row.recorded()),
          cost(row.hypothetical()),
          compares ? percent(before.getAsDouble(), after.getAsDouble()) : "",
          ByteSizes.describe(row.recorded().movedBytes()),
          ByteSizes.describe(row.hypothetical().movedBytes()));
    }
    if (both > 0) {
      table.add(
          "mean of %d planned in both".formatted(both),
          "",
          "%.3f".formatted(recordedMs / both),
          "%.3f".formatted(ms / both),
          percent(recordedMs, ms),
          "",
          "");
    }
    table.add(
        "total", "", "", "", "", ByteSizes.describe(recordedBytes), ByteSizes.describe(bytes));
    out.add(table);
    out.addAll("note: ", result.notes(), SHOWN);
    return out.toString();
  }

  private static String cost(WhatIf.GenerationOutcome outcome) {
    return outcome.ms().isPresent() ? "%.3f".formatted(outcome.ms().getAsDouble()) : outcome.note();
  }

  private static String percent(double before, double after) {
    return before == 0 ? "" : "%+.1f %%".formatted(100 * (after / before - 1));
  }
}
