package io.shardtide.web;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import com.fasterxml.jackson.databind.module.SimpleModule;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanMoves;
import io.shardtide.plan.PlanOrigin;
import io.shardtide.plan.PlanPrediction;
import io.shardtide.plan.Region;
import io.shardtide.plan.Replication;
import io.shardtide.plan.SearchRun;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Transfer;
import io.shardtide.workload.ReplicaGroups;

/** Writes plans in JSON without the nesting of the Java types, as Avro records have them. */
@SuppressWarnings("UnusedMethod") // Jackson reads the mix-ins by reflection.
final class FlatPlanJson extends SimpleModule {
  private static final long serialVersionUID = 1;

  FlatPlanJson() {
    setMixInAnnotation(ShardingPlan.class, PartsUnwrapped.class);
    setMixInAnnotation(Replication.class, GroupsUnwrapped.class);
    setMixInAnnotation(ReplicaGroups.class, GroupsRenamed.class);
    setMixInAnnotation(Shard.class, RegionUnwrapped.class);
    setMixInAnnotation(Overlap.class, RegionUnwrapped.class);
    setMixInAnnotation(Transfer.class, OverlapUnwrapped.class);
  }

  interface PartsUnwrapped {
    @JsonUnwrapped
    PlanOrigin origin();

    @JsonUnwrapped
    PlanPrediction prediction();

    @JsonUnwrapped
    PlanMoves transition();

    @JsonUnwrapped
    SearchRun run();

    @JsonIgnore
    boolean isExploratory();
  }

  interface GroupsUnwrapped {
    @JsonUnwrapped
    ReplicaGroups groups();
  }

  interface GroupsRenamed {
    @JsonProperty("groups")
    int count();
  }

  interface RegionUnwrapped {
    @JsonUnwrapped
    Region region();

    @JsonIgnore
    boolean isCopied();
  }

  interface OverlapUnwrapped {
    @JsonUnwrapped
    Overlap overlap();
  }
}
