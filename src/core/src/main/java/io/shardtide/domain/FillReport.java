package io.shardtide.domain;

import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * How full the hashed tables of a workload are, as its trainer reports them.
 *
 * @param reportId identity of this report; a repeated one counts once
 * @param workloadId the workload
 * @param planId the plan that ran
 * @param run the trainer's run; a later run takes over from an earlier one
 * @param source who reports
 * @param measuredAt when; the only clock of forecasts
 * @param tables the tables, each at most once; at least one
 */
public record FillReport(
    String reportId,
    String workloadId,
    String planId,
    String run,
    String source,
    Instant measuredAt,
    List<TableFill> tables) {

  /**
   * @throws RejectedException if a value is outside its range
   */
  public FillReport {
    Names.check(workloadId, "workload id", RejectionReason.INVALID_WORKLOAD_ID);
    Names.check(reportId, "report id", RejectionReason.INVALID_MEASUREMENT);
    Names.check(source, "source", RejectionReason.INVALID_MEASUREMENT);
    tables = List.copyOf(tables);
    if (tables.isEmpty() || tables.size() > Workload.MAX_TABLES) {
      throw invalid(
          "a report of fill must have between 1 and %s tables, got %s"
              .formatted(Workload.MAX_TABLES, tables.size()));
    }
    Set<String> names = new HashSet<>();
    for (TableFill table : tables) {
      if (!names.add(table.table())) {
        throw invalid(
            "a report of fill must have each table once, got %s twice"
                .formatted(Names.quote(table.table())));
      }
    }
  }

  private static RejectedException invalid(String message) {
    return new RejectedException(RejectionReason.INVALID_MEASUREMENT, message);
  }
}
