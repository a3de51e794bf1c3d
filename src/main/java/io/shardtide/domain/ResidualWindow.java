package io.shardtide.domain;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * What is remembered of a series of residuals: logarithms of measured over predicted cost. A
 * detector is made from it whenever one is needed, so that it does not matter which instance
 * measured before.
 *
 * @param modelId the model that predicted
 * @param baseline where residuals usually lie; empty while it is being learned
 * @param samples residuals since the series began anew
 * @param residuals the latest residuals since there is a baseline or, before that, since the series
 *     began anew
 * @param slowIn the plan in which the device was found slow; empty while it is not
 * @param backIn the plan in which the device ceased to be slow, if it became slow in another
 */
public record ResidualWindow(
    String modelId,
    Optional<Baseline> baseline,
    long samples,
    List<Float> residuals,
    Optional<String> slowIn,
    Optional<String> backIn) {

  /** Checks what must be there. */
  public ResidualWindow {
    Objects.requireNonNull(modelId, "modelId");
    Objects.requireNonNull(baseline, "baseline");
    residuals = List.copyOf(residuals);
    Objects.requireNonNull(slowIn, "slowIn");
    Objects.requireNonNull(backIn, "backIn");
  }

  /** Returns a series that begins. */
  public static ResidualWindow begin(String modelId) {
    return new ResidualWindow(
        modelId, Optional.empty(), 0, List.of(), Optional.empty(), Optional.empty());
  }

  /**
   * Returns this for a model. The residuals of another model say nothing of this one; but a device
   * that is slow stays slow until it is fast again, whichever model predicts.
   */
  public ResidualWindow of(String model) {
    if (model.equals(modelId)) {
      return this;
    }
    return slowIn.isEmpty()
        ? begin(model)
        : new ResidualWindow(model, baseline, 0, List.of(), slowIn, Optional.empty());
  }

  /**
   * Returns this with a residual more. When there are more than {@code capacity}, the older half is
   * forgotten.
   */
  public ResidualWindow plus(double residual, int capacity) {
    List<Float> next = new ArrayList<>(residuals);
    next.add((float) residual);
    return new ResidualWindow(
        modelId,
        baseline,
        samples + 1,
        next.size() > capacity ? next.subList(next.size() - capacity / 2, next.size()) : next,
        slowIn,
        backIn);
  }

  /** Returns this with a baseline, from which deviations are counted from now on. */
  public ResidualWindow calibrated(Baseline learned) {
    return new ResidualWindow(
        modelId, Optional.of(learned), samples, List.of(), Optional.empty(), backIn);
  }

  /** Returns this after the device was found slow in a plan. */
  public ResidualWindow slow(String planId) {
    return new ResidualWindow(
        modelId, baseline, samples, List.of(), Optional.of(planId), Optional.empty());
  }

  /**
   * Returns this after the device was found not slow any more.
   *
   * @param planId the plan, if that may be why
   */
  public ResidualWindow back(Optional<String> planId) {
    return new ResidualWindow(modelId, baseline, samples, List.of(), Optional.empty(), planId);
  }
}
