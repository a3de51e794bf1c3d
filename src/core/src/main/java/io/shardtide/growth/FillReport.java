package io.shardtide.growth;

import io.shardtide.workload.Limits;
import io.shardtide.workload.Names;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.Workload;
import java.time.Instant;
import java.util.List;

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
    Limits.of(RejectionReason.INVALID_MEASUREMENT, "a report of fill")
        .whole("number of tables", tables.size(), 1, Workload.MAX_TABLES)
        .different("tables", tables.stream().map(TableFill::table));
  }
}
