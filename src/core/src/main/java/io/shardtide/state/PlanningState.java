package io.shardtide.state;

import io.shardtide.plan.DeviceSpeed;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.SourcePosition;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.List;
import java.util.Optional;

/**
 * What planning stores of a workload beside its tables and its plans.
 *
 * @param predicted the latest generation whose predictions are complete
 * @param isPartial whether some predictions of a later generation were read: the tables are of no
 *     generation then, and nothing is planned
 * @param answered the latest generation that was answered: by a plan, as infeasible, or by the
 *     deletion of the workload; 0 for none
 * @param state what is to be done
 * @param plans which plans are stored, and what the trainer reported about them
 * @param slow the slow devices, in {@link DeviceSpeed#ORDER}
 */
@RecordBuilder
public record PlanningState(
    Optional<PredictedGeneration> predicted,
    boolean isPartial,
    long answered,
    PendingWork state,
    PlanHistory plans,
    List<DeviceSpeed> slow) {

  /** Before the first prediction. */
  public static final PlanningState NONE =
      new PlanningState(Optional.empty(), false, 0, PendingWork.IDLE, PlanHistory.NONE, List.of());

  /**
   * A generation whose predictions are complete.
   *
   * @param generation generation of the workload
   * @param source where its event lies in the log
   * @param modelId the cost model that predicted
   * @param cluster the workload's cluster
   */
  public record PredictedGeneration(
      long generation, SourcePosition source, String modelId, ClusterSpec cluster) {}

  /**
   * @throws IllegalArgumentException if something is to be done and nothing is predicted
   */
  public PlanningState {
    slow = List.copyOf(slow);
    if (predicted.isEmpty() && state != PendingWork.IDLE) {
      throw new IllegalArgumentException(
          "state without predictions must be %s, got %s".formatted(PendingWork.IDLE, state));
    }
  }

  /** Returns whether a plan is due: one is pending, and the tables are of one generation. */
  public boolean isDue() {
    return state.isPending() && !isPartial;
  }

  /** Returns the first generation that the next plan answers. */
  public long firstGeneration() {
    return Math.min(answered + 1, predicted.orElseThrow().generation());
  }

  /** Returns this after all predictions of a generation were read. */
  public PlanningState complete(PredictedGeneration next) {
    boolean sameGeneration =
        predicted.filter(now -> now.generation() == next.generation()).isPresent();
    String hardware = next.cluster().hardware();
    boolean isSameHardware =
        predicted.filter(now -> now.cluster().hardware().equals(hardware)).isPresent();
    return with()
        .predicted(Optional.of(next))
        .isPartial(false)
        .state(
            sameGeneration && state != PendingWork.CHANGE_PENDING
                ? PendingWork.MODEL_PENDING
                : PendingWork.CHANGE_PENDING)
        .slow(isSameHardware ? DeviceSpeed.within(slow, next.cluster().devices()) : List.of())
        .build();
  }

  /**
   * Returns this with other slow devices.
   *
   * @param isPlanned whether the latest generation has a plan, which then is due again
   */
  public PlanningState with(List<DeviceSpeed> others, boolean isPlanned) {
    boolean isDue = isPlanned && !others.equals(slow);
    return with().state(isDue ? PendingWork.CHANGE_PENDING : state).slow(others).build();
  }

  /** Returns this after a pending generation was answered. */
  public PlanningState answered(long generation, PendingWork next) {
    return with().answered(generation).state(next).build();
  }

  /** Returns the header of a deleted workload: only the generation is kept. */
  public static PlanningState deleted(long generation) {
    return NONE.with().answered(generation).build();
  }

  /** Returns a builder of a copy. */
  public PlanningStateBuilder with() {
    return PlanningStateBuilder.builder(this);
  }
}
