package io.shardtide.views;

import io.shardtide.plan.Overlap;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;

/**
 * The differences between two plans of a workload.
 *
 * @param moved shards that the two plans place on different devices
 * @param added tables that only the later plan has
 * @param dropped tables that only the earlier plan has
 */
public record DiffView(List<MovedShard> moved, SortedSet<String> added, SortedSet<String> dropped) {
  /**
   * A part of a table that moves from one device to another, or to each other one.
   *
   * @param part its columns, rows and devices
   * @param bytes its size, on all devices that get it together, with the table's current bytes per
   *     element; empty if the workload no longer has the table
   */
  public record MovedShard(Overlap part, Optional<Long> bytes) {}
}
