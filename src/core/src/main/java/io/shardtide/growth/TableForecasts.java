package io.shardtide.growth;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * What is forecast of a workload's hashed tables after a report of how full they are.
 *
 * @param workloadId the workload
 * @param reportId the report
 * @param measuredAt when the report was made; days count from then
 * @param generation the latest generation that was predicted
 * @param tables all hashed tables that were ever reported, in the order of their names
 * @param resizes tables that get other capacities now
 * @param memoryEnd when memory will not hold the tables, whatever the plan; empty if it does for
 *     long enough
 * @param inputs what they were made from; empty in records of planners that did not write it yet
 */
@RecordBuilder
public record TableForecasts(
    String workloadId,
    String reportId,
    Instant measuredAt,
    long generation,
    List<TableForecast> tables,
    List<Resize> resizes,
    Optional<MemoryEnd> memoryEnd,
    Optional<GrowthInputs> inputs) {
  /** Copies the lists. */
  public TableForecasts {
    tables = List.copyOf(tables);
    resizes = List.copyOf(resizes);
  }

  /**
   * Returns the slots that the planner gave a table: those of {@link #resizes} or, without one, of
   * the latest plan. They differ from the slots that the table has until its training job loads the
   * plan.
   *
   * @param table one of {@link #tables}
   */
  public long slotsGiven(TableForecast table) {
    return resizes.stream()
        .filter(resize -> resize.table().equals(table.table()))
        .mapToLong(Resize::capacity)
        .findFirst()
        .orElse(table.rows());
  }
}
