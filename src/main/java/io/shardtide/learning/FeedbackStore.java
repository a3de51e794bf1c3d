package io.shardtide.learning;

import io.shardtide.domain.DatedTable;
import io.shardtide.domain.FeedbackHeader;
import io.shardtide.domain.ResidualWindow;
import io.shardtide.domain.ShardingPlan;
import java.util.Optional;

/** What the feedback step remembers. */
public interface FeedbackStore {
  /** Returns the workload's header, {@link FeedbackHeader#NONE} before its first prediction. */
  FeedbackHeader header(String workloadId);

  /** Remembers the workload's header. */
  void putHeader(String workloadId, FeedbackHeader header);

  /** Returns a table. */
  Optional<DatedTable> table(String workloadId, String name);

  /** Remembers a table under its name. */
  void putTable(String workloadId, DatedTable table);

  /** Forgets a table. */
  void removeTable(String workloadId, String name);

  /** Returns a plan. */
  Optional<ShardingPlan> plan(String workloadId, String planId);

  /** Remembers a plan under its id. */
  void putPlan(ShardingPlan plan);

  /** Forgets a plan. */
  void removePlan(String workloadId, String planId);

  /**
   * Returns a series of residuals.
   *
   * @param series its name among the workload's
   */
  Optional<ResidualWindow> window(String workloadId, String series);

  /** Remembers a series of residuals. */
  void putWindow(String workloadId, String series, ResidualWindow window);
}
