package io.shardtide.views;

/** What changed in the views. */
public sealed interface News {
  /**
   * A workload's row.
   *
   * @param row as it is now
   */
  record Row(WorkloadRow row) implements News {}

  /**
   * Something happened.
   *
   * @param entry what
   */
  record Happened(Entry entry) implements News {}

  /**
   * How the planner does.
   *
   * @param pulse as it is now
   */
  record Beat(Pulse pulse) implements News {}
}
