package io.shardtide.domain;

import java.util.Objects;
import java.util.Optional;

/**
 * What planning remembers of a workload beside its tables and its plans.
 *
 * @param predicted the latest generation whose predictions are complete
 * @param isPartial whether a later generation's predictions were read in part; the tables are of no
 *     generation then
 * @param answered the latest generation that was answered, by a plan or by none that fits
 * @param waits whether what was predicted waits for a plan
 * @param modelChanged whether only a new cost model asks for the plan, so that it can wait
 * @param deepening whether a deeper search is due for the latest plan
 * @param plans which plans are remembered, and what the trainer said of them
 */
public record PlanningHeader(
    Optional<PredictedGeneration> predicted,
    boolean isPartial,
    long answered,
    boolean waits,
    boolean modelChanged,
    boolean deepening,
    RememberedPlans plans) {

  /** Before the first prediction. */
  public static final PlanningHeader NONE =
      new PlanningHeader(Optional.empty(), false, 0, false, false, false, RememberedPlans.NONE);

  /**
   * A generation whose predictions are complete.
   *
   * @param generation generation of the workload
   * @param source where its event lies in the log
   * @param modelId the cost model that predicted
   * @param cluster the workload's cluster
   */
  public record PredictedGeneration(
      long generation, SourcePosition source, String modelId, ClusterSpec cluster) {
    /** Checks that nothing is missing. */
    public PredictedGeneration {
      Objects.requireNonNull(source, "source");
      Objects.requireNonNull(modelId, "modelId");
      Objects.requireNonNull(cluster, "cluster");
    }
  }

  /** Checks that nothing is missing. */
  public PlanningHeader {
    Objects.requireNonNull(predicted, "predicted");
    Objects.requireNonNull(plans, "plans");
  }

  /** Returns whether a plan is due: something waits, and the tables are of one generation. */
  public boolean isDue() {
    return waits && !isPartial;
  }

  /** Returns the first generation that the next plan answers. */
  public long firstGeneration() {
    long last = predicted.orElseThrow().generation();
    return Math.min(answered + 1, last);
  }

  /** Returns this while a generation's predictions are being read. */
  public PlanningHeader partial() {
    return with(true, answered, waits, modelChanged, deepening);
  }

  /** Returns this after a generation's predictions were read. */
  public PlanningHeader complete(PredictedGeneration next) {
    boolean sameGeneration =
        predicted.isPresent() && predicted.get().generation() == next.generation();
    return new PlanningHeader(
        Optional.of(next),
        false,
        answered,
        true,
        sameGeneration && (modelChanged || !waits),
        false,
        plans);
  }

  /** Returns this after what waited was answered, without a plan more. */
  public PlanningHeader answered(boolean deepen) {
    return with(isPartial, predicted.orElseThrow().generation(), false, false, deepen);
  }

  /** Returns this with or without a deeper search due. */
  public PlanningHeader deepening(boolean isDue) {
    return with(isPartial, answered, waits, modelChanged, isDue);
  }

  /** Returns this with other plans remembered, or after the trainer reported. */
  public PlanningHeader with(RememberedPlans others) {
    return new PlanningHeader(
        predicted, isPartial, answered, waits, modelChanged, deepening, others);
  }

  private PlanningHeader with(
      boolean partly, long answeredNow, boolean waitsNow, boolean onlyModel, boolean deepen) {
    return new PlanningHeader(predicted, partly, answeredNow, waitsNow, onlyModel, deepen, plans);
  }
}
