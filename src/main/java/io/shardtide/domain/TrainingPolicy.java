package io.shardtide.domain;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Duration;
import java.util.Objects;

/**
 * When cost models are retrained on measurements, on how many, and when the result takes over.
 * Samples are counted in computations of one device.
 *
 * @param enabled whether models are retrained at all
 * @param samples new samples that start a retraining, at least 1
 * @param samplesAfterDrift samples after a drift alarm that start a retraining, at least 1
 * @param schedule time that starts a retraining if there are as many new samples as after a drift,
 *     above 0
 * @param recent the most samples that count as recent, at least 1
 * @param old the most older samples that are kept, at least 0
 * @param gain share by which the challenger's error on held-out recent samples must be below the
 *     champion's, 0 to below 1
 * @param oldMargin share by which its error on held-out old samples may be above the champion's, at
 *     least 0
 * @param seed seed of the retraining
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
          "samples of a retraining must be at least 1, and old ones at least 0, got %d, %d after a drift, %d recent and %d old"
              .formatted(samples, samplesAfterDrift, recent, old));
    }
    if (schedule.isNegative() || schedule.isZero()) {
      throw new IllegalArgumentException(
          "schedule of retrainings must be above 0, got " + schedule);
    }
    if (!(gain >= 0 && gain < 1) || !(oldMargin >= 0 && Double.isFinite(oldMargin))) {
      throw new IllegalArgumentException(
          "gain must be at least 0 and below 1, and margin at least 0, got %s and %s"
              .formatted(gain, oldMargin));
    }
  }
}
