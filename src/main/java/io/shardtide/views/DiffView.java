package io.shardtide.views;

import io.shardtide.domain.Overlap;
import java.util.List;
import java.util.OptionalLong;
import java.util.SortedSet;

/**
 * What differs between two plans of a workload.
 *
 * @param earlier the one
 * @param later the other
 * @param moved what both hold on different devices
 * @param added tables that only the later plan has
 * @param dropped tables that only the earlier plan has
 */
public record DiffView(
    PlanSummary earlier,
    PlanSummary later,
    List<MovedShard> moved,
    SortedSet<String> added,
    SortedSet<String> dropped) {
  /**
   * Columns and rows that go from one device to another.
   *
   * @param part which
   * @param bytes how many bytes they are, with the table's elements as they are now; empty if the
   *     workload does not have the table any more
   */
  public record MovedShard(Overlap part, OptionalLong bytes) {}
}
