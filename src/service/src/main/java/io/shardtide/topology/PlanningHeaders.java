package io.shardtide.topology;

import io.shardtide.state.PlanHistory;
import io.shardtide.state.PlanningState;
import io.shardtide.step.KeyValues;
import io.shardtide.wire.ForUpgradeFrom;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;

/**
 * Headers of planning. The plan that a trainer moved from is beside its header, by the adopted
 * plan: version 0.2.0 could not read a header that has another field.
 */
@ForUpgradeFrom("0.2.0")
record PlanningHeaders(KeyValues<PlanningState> headers, KeyValues<String> movedFrom)
    implements KeyValues<PlanningState> {
  @Override
  public Optional<PlanningState> get(String workloadId, String name) {
    return headers.get(workloadId, name).map(header -> whole(workloadId, header));
  }

  private PlanningState whole(String workloadId, PlanningState header) {
    PlanHistory plans = header.plans();
    return plans
        .adopted()
        .flatMap(adopted -> movedFrom.get(workloadId, adopted))
        .map(from -> header.with().plans(plans.with().previous(Optional.of(from)).build()).build())
        .orElse(header);
  }

  @Override
  public void put(String workloadId, String name, PlanningState header) {
    PlanHistory plans = header.plans();
    headers
        .get(workloadId, name)
        .flatMap(before -> before.plans().adopted())
        .filter(before -> !plans.adopted().equals(Optional.of(before)))
        .ifPresent(before -> movedFrom.delete(workloadId, before));
    headers.put(workloadId, name, header);
    plans.adopted().ifPresent(adopted -> remember(workloadId, adopted, plans.previous()));
  }

  private void remember(String workloadId, String adopted, Optional<String> movedFromId) {
    movedFromId.ifPresentOrElse(
        from -> movedFrom.put(workloadId, adopted, from),
        () -> movedFrom.delete(workloadId, adopted));
  }

  @Override
  public Optional<PlanningState> delete(String workloadId, String name) {
    return headers.delete(workloadId, name);
  }

  @Override
  public SortedMap<String, PlanningState> range(String workloadId) {
    return headers.range(workloadId);
  }

  @Override
  public List<String> workloads() {
    return headers.workloads();
  }
}
