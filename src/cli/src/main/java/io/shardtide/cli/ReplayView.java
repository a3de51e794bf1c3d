package io.shardtide.cli;

import io.shardtide.replay.Difference;
import io.shardtide.replay.ReplayResult;
import io.shardtide.replay.ReplayRow;
import io.shardtide.replay.Verdict;
import io.shardtide.replay.WhatIf;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.CanonicalHash;
import java.util.List;
import java.util.function.Function;

/** Prints the result of a replay. */
final class ReplayView {
  /** Returns the verdicts of plans, the first difference, problems and notes. */
  Printed showPlans(ReplayResult result) {
    Printed out = new Printed();
    out.table(
        new Table<>(result.rows())
            .left("workload", ReplayRow::workloadId)
            .right("generation", ReplayView::generations)
            .left("plan", row -> row.planId().map(CanonicalHash::shown))
            .left("effort", row -> row.effort().map(PlanText::lower))
            .left("verdict", ReplayRow::verdict));
    out.line(
        "%,d equal, %,d differ, %,d not recorded, %,d not reproduced",
        result.count(Verdict.EQUAL),
        result.count(Verdict.DIFFERS),
        result.count(Verdict.NOT_RECORDED),
        result.count(Verdict.NOT_REPRODUCED));
    show(out, result, "plan", "");
    return out;
  }

  private static String generations(ReplayRow row) {
    return row.firstGeneration() == row.generation()
        ? Long.toString(row.generation())
        : row.firstGeneration() + " to " + row.generation();
  }

  /**
   * Returns how many allocations of pools or forecasts of hashed tables are equal, if there are
   * any, the first difference, and notes.
   *
   * @param all what they are called
   * @param one what the id of one is of
   * @param owner text before a workload or pool
   */
  Printed show(ReplayResult result, String all, String one, String owner) {
    Printed out = new Printed();
    if (!result.rows().isEmpty()) {
      out.line(
          "%,d %s equal, %,d differ, %,d not reproduced",
          result.count(Verdict.EQUAL),
          all,
          result.count(Verdict.DIFFERS),
          result.count(Verdict.NOT_REPRODUCED));
    }
    show(out, result, one, owner);
    return out;
  }

  private static void show(Printed out, ReplayResult result, String one, String owner) {
    if (result.first().isPresent()) {
      Difference difference = result.first().get();
      out.line(
          "First difference: %s %s, generation %d of %s%s",
          one,
          CanonicalHash.shown(difference.id()),
          difference.generation(),
          owner,
          difference.owner());
      out.line("  %s", difference.explanation());
      out.line("  made from: %s", difference.inputs());
      out.list("  ", difference.fields());
    }
    out.list("problem: ", result.problems());
    out.list("note: ", result.notes());
  }

  /**
   * Returns a comparison with the recorded plans.
   *
   * @param isPredicted whether recorded predictions were used
   */
  Printed show(WhatIf.WhatIfResult result, boolean isPredicted) {
    Printed out = new Printed();
    out.line(
        "Each generation is planned by one quick search, with %s; recorded plans may be of"
            + " background searches",
        isPredicted ? "the recorded predictions" : "new predictions");
    out.line("settings: %s", result.settings().toString().replaceAll("^\\w+\\[|]$", ""));
    out.table(
        new Table<>(result.rows())
            .left("workload", WhatIf.WhatIfRow::workloadId)
            .right("generation", WhatIf.WhatIfRow::generation)
            .right("recorded ms", row -> cost(row.recorded()))
            .right("unchanged ms", row -> cost(row.unchanged()))
            .right("what-if ms", row -> cost(row.hypothetical()))
            .right("change", ReplayView::change)
            .right("recorded moves", row -> ByteSizes.describe(row.recorded().movedBytes()))
            .right("what-if moves", row -> ByteSizes.describe(row.hypothetical().movedBytes())));
    List<WhatIf.WhatIfRow> both = result.rows().stream().filter(ReplayView::compares).toList();
    if (!both.isEmpty()) {
      double before = mean(both, WhatIf.WhatIfRow::unchanged);
      double after = mean(both, WhatIf.WhatIfRow::hypothetical);
      out.line(
          "mean of %,d planned in both: %.3f -> %.3f ms, %s",
          both.size(), before, after, percent(before, after));
    }
    out.line(
        "total of moves: recorded %s, unchanged %s, what-if %s",
        bytes(result, WhatIf.WhatIfRow::recorded),
        bytes(result, WhatIf.WhatIfRow::unchanged),
        bytes(result, WhatIf.WhatIfRow::hypothetical));
    out.list("note: ", result.notes());
    return out;
  }

  private static boolean compares(WhatIf.WhatIfRow row) {
    return row.unchanged().ms().isPresent() && row.hypothetical().ms().isPresent();
  }

  private static double mean(
      List<WhatIf.WhatIfRow> rows, Function<WhatIf.WhatIfRow, WhatIf.GenerationOutcome> of) {
    return rows.stream().mapToDouble(row -> of.apply(row).ms().getAsDouble()).average().orElse(0);
  }

  private static String bytes(
      WhatIf.WhatIfResult result, Function<WhatIf.WhatIfRow, WhatIf.GenerationOutcome> of) {
    return ByteSizes.describe(
        result.rows().stream().mapToLong(row -> of.apply(row).movedBytes()).sum());
  }

  private static String cost(WhatIf.GenerationOutcome outcome) {
    return outcome.ms().isPresent() ? "%.3f".formatted(outcome.ms().getAsDouble()) : outcome.note();
  }

  private static String change(WhatIf.WhatIfRow row) {
    return compares(row)
        ? percent(row.unchanged().ms().getAsDouble(), row.hypothetical().ms().getAsDouble())
        : "";
  }

  private static String percent(double before, double after) {
    return before == 0 ? "" : "%+.1f %%".formatted(100 * (after / before - 1));
  }
}
