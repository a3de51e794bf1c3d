package io.shardtide.cli;

import io.shardtide.replay.Difference;
import io.shardtide.replay.Recomputed;
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

  /** Returns the verdicts, the first difference, problems and notes. */
  String show(ReplayResult result) {
    TextLines out = new TextLines();
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
    out.add(table);
    out.add(
        "%,d equal, %,d differ, %,d not recorded, %,d not reproduced",
        result.count(Verdict.EQUAL),
        result.count(Verdict.DIFFERS),
        result.count(Verdict.NOT_RECORDED),
        result.count(Verdict.NOT_REPRODUCED));
    result.first().ifPresent(difference -> show(out, "plan", "", difference));
    out.addAll("problem: ", result.problems(), SHOWN);
    out.addAll("note: ", result.notes(), SHOWN);
    result.deviation().ifPresent(deviation -> out.add("%s", deviation));
    return out.toString();
  }

  private static void show(TextLines out, String kind, String owner, Difference difference) {
    out.add(
        "First difference: %s %s, generation %d of %s%s",
        kind,
        CanonicalHash.shown(difference.id()),
        difference.generation(),
        owner,
        difference.owner());
    out.add("  %s", difference.explanation());
    out.add("  made from: %s", difference.inputs());
    out.addAll("  ", difference.fields(), SHOWN);
  }

  /** Returns how many allocations of pools are equal, the first difference, and notes. */
  String showAllocations(Recomputed result) {
    return show(result, "allocations", "allocation", "pool ");
  }

  /** Returns how many forecasts of hashed tables are equal, the first difference, and notes. */
  String showForecasts(Recomputed result) {
    return show(result, "forecasts", "forecasts after report", "");
  }

  private static String show(Recomputed result, String all, String one, String owner) {
    TextLines out = new TextLines();
    out.add(
        "%,d %s equal, %,d differ, %,d not reproduced",
        result.equal(), all, result.different(), result.notReproduced());
    result.first().ifPresent(difference -> show(out, one, owner, difference));
    out.addAll("note: ", result.notes(), SHOWN);
    return out.toString();
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
