package io.shardtide.learning;

import io.shardtide.domain.AcceptedStatus;
import io.shardtide.domain.FeedbackState;
import io.shardtide.domain.ResidualWindow;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.VersionedTable;
import java.util.Optional;

/** The state of {@link FeedbackStep}, by workload. */
public interface FeedbackStore {
  /** Returns the workload's header, {@link FeedbackState#NONE} before its first prediction. */
  FeedbackState header(String workloadId);

  /** Stores the workload's header. */
  void putHeader(String workloadId, FeedbackState header);

  /** Returns what planning said last of which plan runs; empty if it did not yet. */
  Optional<AcceptedStatus> accepted(String workloadId);

  /** Returns a table, if stored. */
  Optional<VersionedTable> table(String workloadId, String name);

  /** Stores a table under its name. */
  void putTable(String workloadId, VersionedTable table);

  /** Removes a table. */
  void removeTable(String workloadId, String name);

  /** Returns a plan, if stored. */
  Optional<ShardingPlan> plan(String workloadId, String planId);

  /** Stores a plan under its id. */
  void putPlan(ShardingPlan plan);

  /** Removes a plan. */
  void removePlan(String workloadId, String planId);

  /**
   * Returns the window of a residual series, if stored.
   *
   * @param series its name, unique within the workload
   */
  Optional<ResidualWindow> window(String workloadId, String series);

  /** Stores the window of a residual series. */
  void putWindow(String workloadId, String series, ResidualWindow window);

  /** Removes the windows of all residual series of a workload. */
  void removeWindows(String workloadId);
}
