package io.shardtide.domain;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Whether a retrained model took over, and why.
 *
 * @param hardware the hardware
 * @param trigger what began it
 * @param championId the model that predicted
 * @param challengerId the model that was trained from it; empty if none could be
 * @param published whether the challenger took over
 * @param recentSamples measurements of the recent past that were learned from
 * @param oldSamples older measurements that were learned from
 * @param championRecentError the champion's error on held-back recent measurements: mean absolute
 *     relative error of a device's cost, as a fraction
 * @param challengerRecentError the challenger's
 * @param championOldError the champion's on held-back old measurements; empty without any
 * @param challengerOldError the challenger's
 * @param reason why, for people
 * @param decidedAt when
 */
@RecordBuilder
public record ModelDecision(
    String hardware,
    Trigger trigger,
    String championId,
    Optional<String> challengerId,
    boolean published,
    int recentSamples,
    int oldSamples,
    OptionalDouble championRecentError,
    OptionalDouble challengerRecentError,
    OptionalDouble championOldError,
    OptionalDouble challengerOldError,
    String reason,
    Instant decidedAt) {

  /** What begins a training. */
  public enum Trigger {
    /** An alarm that the model is wrong for all, or twice as many measurements since one. */
    DRIFT,
    /** Enough new measurements. */
    SAMPLES,
    /** It was time. */
    SCHEDULE,
    /** A person chose a model: nothing was trained. */
    PERSON
  }

  /** Checks what must be there. */
  public ModelDecision {
    Objects.requireNonNull(hardware, "hardware");
    Objects.requireNonNull(trigger, "trigger");
    Objects.requireNonNull(championId, "championId");
    Objects.requireNonNull(challengerId, "challengerId");
    Objects.requireNonNull(reason, "reason");
    Objects.requireNonNull(decidedAt, "decidedAt");
  }
}
