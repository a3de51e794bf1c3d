package io.shardtide.state;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Stored state of a series of residuals: logarithms of measured over predicted cost. Detectors are
 * rebuilt from it, so that any instance can continue a series.
 *
 * @param modelId the model that predicted
 * @param baseline the usual residuals; empty while they are being learned
 * @param samples residuals since the series was reset
 * @param residuals the latest residuals since there is a baseline or, before that, since the reset
 * @param slowIn the plan in which the device was found slow; empty while it is not
 * @param slowSince when the measurement was made that found it slow
 * @param backIn the plan in which the device was found fast again, if it became slow in another
 */
@RecordBuilder
public record ResidualWindow(
    String modelId,
    Optional<Baseline> baseline,
    long samples,
    List<Float> residuals,
    Optional<String> slowIn,
    Optional<Instant> slowSince,
    Optional<String> backIn) {

  /** Checks what must be there. */
  public ResidualWindow {
    residuals = List.copyOf(residuals);
  }

  /** Returns an empty series. */
  public static ResidualWindow begin(String modelId) {
    return new ResidualWindow(
        modelId,
        Optional.empty(),
        0,
        List.of(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty());
  }

  /**
   * Returns this for a model. A new model resets the series; but a slow device stays slow until it
   * is found fast again, whichever model predicts.
   */
  public ResidualWindow forModel(String model) {
    if (model.equals(modelId)) {
      return this;
    }
    return slowIn.isEmpty()
        ? begin(model)
        : with().modelId(model).samples(0).residuals(List.of()).backIn(Optional.empty()).build();
  }

  /** Returns this with another residual. Beyond {@code capacity}, the older half is removed. */
  public ResidualWindow plus(double residual, int capacity) {
    List<Float> next = new ArrayList<>(residuals);
    next.add((float) residual);
    return with()
        .samples(samples + 1)
        .residuals(
            next.size() > capacity ? next.subList(next.size() - capacity / 2, next.size()) : next)
        .build();
  }

  /** Returns this with a baseline, from which deviations are counted. */
  public ResidualWindow calibrated(Baseline learned) {
    return back(backIn).with().baseline(Optional.of(learned)).build();
  }

  /** Returns this after the device was found slow in a plan. */
  public ResidualWindow slow(String planId, Instant since) {
    return back(Optional.empty())
        .with()
        .slowIn(Optional.of(planId))
        .slowSince(Optional.of(since))
        .build();
  }

  /** Returns this without its residuals, after a speed was estimated from them. */
  public ResidualWindow estimated() {
    return with().residuals(List.of()).build();
  }

  /**
   * Returns this after the device was found fast again.
   *
   * @param planId the plan, if it may be the reason
   */
  public ResidualWindow back(Optional<String> planId) {
    return with()
        .residuals(List.of())
        .slowIn(Optional.empty())
        .slowSince(Optional.empty())
        .backIn(planId)
        .build();
  }

  /** Returns a builder of a copy. */
  public ResidualWindowBuilder with() {
    return ResidualWindowBuilder.builder(this);
  }
}
