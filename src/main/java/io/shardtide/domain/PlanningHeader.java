package io.shardtide.domain;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;

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
 * @param plans ids of the plans that are remembered, the oldest first
 * @param adopted the plan that the trainer adopted last
 * @param reportedStep the largest step that the trainer reported in its latest run; empty while it
 *     never reported
 * @param reportedRun the trainer's latest run
 */
public record PlanningHeader(
    Optional<PredictedGeneration> predicted,
    boolean isPartial,
    long answered,
    boolean waits,
    boolean modelChanged,
    boolean deepening,
    List<String> plans,
    Optional<String> adopted,
    OptionalLong reportedStep,
    String reportedRun) {

  /** Before the first prediction. */
  public static final PlanningHeader NONE =
      new PlanningHeader(
          Optional.empty(),
          false,
          0,
          false,
          false,
          false,
          List.of(),
          Optional.empty(),
          OptionalLong.empty(),
          "");

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
    plans = List.copyOf(plans);
    Objects.requireNonNull(adopted, "adopted");
    Objects.requireNonNull(reportedStep, "reportedStep");
    Objects.requireNonNull(reportedRun, "reportedRun");
  }

  /** Returns whether a plan is due: something waits, and the tables are of one generation. */
  public boolean isDue() {
    return waits && !isPartial;
  }

  /** Returns the latest plan. */
  public Optional<String> latest() {
    return plans.isEmpty() ? Optional.empty() : Optional.of(plans.get(plans.size() - 1));
  }

  /**
   * Returns the plan that runs: the one that was adopted last or, while the trainer never reported,
   * the latest.
   */
  public Optional<String> running() {
    return reportedStep.isPresent() ? adopted : latest();
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
        plans,
        adopted,
        reportedStep,
        reportedRun);
  }

  /** Returns this after what waited was answered, without a plan more. */
  public PlanningHeader answered(boolean deepen) {
    return with(isPartial, predicted.orElseThrow().generation(), false, false, deepen);
  }

  /** Returns this with or without a deeper search due. */
  public PlanningHeader deepening(boolean isDue) {
    return with(isPartial, answered, waits, modelChanged, isDue);
  }

  /** Returns this with other plans remembered. */
  public PlanningHeader remembering(List<String> others) {
    return new PlanningHeader(
        predicted,
        isPartial,
        answered,
        waits,
        modelChanged,
        deepening,
        others,
        adopted,
        reportedStep,
        reportedRun);
  }

  /** Returns this after the trainer reported. */
  public PlanningHeader reported(String run, long step, Optional<String> nowAdopted) {
    return new PlanningHeader(
        predicted,
        isPartial,
        answered,
        waits,
        modelChanged,
        deepening,
        plans,
        nowAdopted,
        OptionalLong.of(step),
        run);
  }

  private PlanningHeader with(
      boolean partly, long answeredNow, boolean waitsNow, boolean onlyModel, boolean deepen) {
    return new PlanningHeader(
        predicted,
        partly,
        answeredNow,
        waitsNow,
        onlyModel,
        deepen,
        plans,
        adopted,
        reportedStep,
        reportedRun);
  }
}
