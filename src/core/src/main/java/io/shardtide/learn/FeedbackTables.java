package io.shardtide.learn;

import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.state.FeedbackState;
import io.shardtide.state.ResidualWindow;
import io.shardtide.step.KeyValues;
import io.shardtide.step.WorkloadTables;
import io.shardtide.workload.VersionedTable;
import java.util.Optional;
import java.util.function.Function;

/** State of the feedback step: tables, plans by their ids, and windows by their series. */
public final class FeedbackTables extends WorkloadTables<FeedbackState, VersionedTable> {
  private final KeyValues<ShardingPlan> plans;
  private final KeyValues<ResidualWindow> windows;
  private final Function<String, Optional<AcceptedStatus>> accepted;

  /**
   * A new prediction of an unchanged table, by another model for example, keeps its generation.
   *
   * @param accepted what planning said last of which plan of a workload runs; empty before
   */
  public FeedbackTables(
      KeyValues<FeedbackState> headers,
      KeyValues<VersionedTable> tables,
      KeyValues<ShardingPlan> plans,
      KeyValues<ResidualWindow> windows,
      Function<String, Optional<AcceptedStatus>> accepted) {
    super(
        headers,
        FeedbackState.NONE,
        tables,
        (before, predicted, generation) ->
            before
                .filter(known -> known.table().equals(predicted.table()))
                .orElse(new VersionedTable(predicted.table(), generation)));
    this.plans = plans;
    this.windows = windows;
    this.accepted = accepted;
  }

  /**
   * Returns the header of a workload, with the judgement of planning about which plan runs. It may
   * have been read before the plan, or after later ones: the result is the same.
   */
  @Override
  public FeedbackState header(String workloadId) {
    FeedbackState header = super.header(workloadId);
    return accepted
        .apply(workloadId)
        .map(status -> header.with().plans(header.plans().with(status)).build())
        .orElse(header);
  }

  /** Returns the plans by their ids. */
  public KeyValues<ShardingPlan> plans() {
    return plans;
  }

  /** Returns the windows of residual series by the names of these. */
  public KeyValues<ResidualWindow> windows() {
    return windows;
  }
}
