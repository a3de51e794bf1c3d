package io.shardtide.domain;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Duration;
import java.util.Objects;

/**
 * When models are trained on what was measured, on how much of it, and what lets the result take
 * over. Samples are counted in computations of one device.
 *
 * @param enabled whether models are trained at all
 * @param samples new samples after which a training begins, at least 1
 * @param samplesAfterDrift samples after an alarm that the model is wrong, after which a training
 *     begins, at least 1
 * @param schedule time after which a training begins if there are as many new samples as after a
 *     drift, above 0
 * @param recent most samples that are taken for recent, at least 1
 * @param old most older samples that are kept, at least 0
 * @param gain share by which the challenger's error on recent held-back samples must be below the
 *     champion's, 0 to below 1
 * @param oldMargin share by which its error on old ones may be above the champion's, at least 0
 * @param seed seed of the training
 */
@RecordBuilder
public record TrainingPolicy(
    boolean enabled,
    int samples,
    int samplesAfterDrift,
    Duration schedule,
    int recent,
    int old,
    double gain,
    double oldMargin,
    long seed) {

  /**
   * The defaults. 40 computations after a drift leave some 32 to learn from and 8 to judge by; with
   * 60, the error of a change of all shards fell from 37% to 1.1% and that of a change of some from
   * 26% to 11% (cost/RATIONALE.md). A gain of a tenth is a choice, not measured.
   */
  public static final TrainingPolicy DEFAULTS =
      TrainingPolicyBuilder.builder()
          .enabled(true)
          .samples(500)
          .samplesAfterDrift(40)
          .schedule(Duration.ofHours(24))
          .recent(2_000)
          .old(2_000)
          .gain(0.1)
          .oldMargin(0.1)
          .seed(1)
          .build();

  /** Checks the ranges. */
  public TrainingPolicy {
    Objects.requireNonNull(schedule, "schedule");
    if (samples < 1 || samplesAfterDrift < 1 || recent < 1 || old < 0) {
      throw new IllegalArgumentException(
          "Trainings after %d samples and %d after a drift, on %d recent and %d old ones; legal are 1 and more, and 0 and more old ones"
              .formatted(samples, samplesAfterDrift, recent, old));
    }
    if (schedule.isNegative() || schedule.isZero()) {
      throw new IllegalArgumentException(
          "A training each " + schedule + "; legal are times above 0");
    }
    if (!(gain >= 0 && gain < 1) || !(oldMargin >= 0 && Double.isFinite(oldMargin))) {
      throw new IllegalArgumentException(
          "A gain of %s with a margin of %s; legal are 0 to below 1, and 0 and more"
              .formatted(gain, oldMargin));
    }
  }
}
