package io.shardtide.state;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What is stored about the samples of a hardware between retrainings.
 *
 * @param received samples that were received, all-to-alls included
 * @param computations computations since the last decision or the alarm, whichever was later
 * @param patience factor of the number of samples that start a retraining, at least 1
 * @param driftFrom number of the first sample after the latest alarm: earlier ones are outdated; 0
 *     for a model that began as that of other hardware
 * @param driftModel model of an alarm that no retraining has answered yet; empty without one
 * @param learned computations since the latest alarm that retrainings have used; 0 before the first
 *     of them, and without an alarm
 * @param olderKept older samples that are kept
 * @param decidedAtMs when the last decision was made or the first sample came, in milliseconds
 *     since 1970
 */
@RecordBuilder
public record TrainingState(
    long received,
    long computations,
    int patience,
    OptionalLong driftFrom,
    Optional<String> driftModel,
    long learned,
    int olderKept,
    long decidedAtMs) {
  /** The largest patience, after six challengers in a row that were not better. */
  private static final int MAX_PATIENCE = 64;

  /** Returns the state before the first sample. */
  public static TrainingState begin(long nowMs) {
    return new TrainingState(0, 0, 1, OptionalLong.empty(), Optional.empty(), 0, 0, nowMs);
  }

  /** Returns the state after one more sample. */
  public TrainingState received(boolean isComputation) {
    return with()
        .received(received + 1)
        .computations(computations + (isComputation ? 1 : 0))
        .build();
  }

  /**
   * Returns the state after a drift alarm. While an alarm is pending, another one of the same model
   * changes nothing.
   */
  public TrainingState alarmed(String modelId) {
    return driftModel.filter(modelId::equals).isPresent()
        ? this
        : with()
            .computations(0)
            .patience(1)
            .driftFrom(OptionalLong.of(received))
            .driftModel(Optional.of(modelId))
            .learned(0)
            .build();
  }

  /**
   * Returns the state with a model that began as that of other hardware, and that no measurement
   * has changed yet: as if an alarm about it had come before the first sample. A detector would
   * take the constant error of such a model for usual.
   */
  public TrainingState coldStarted(String modelId) {
    return driftModel.filter(modelId::equals).isPresent()
        ? this
        : with().driftFrom(OptionalLong.of(0)).driftModel(Optional.of(modelId)).learned(0).build();
  }

  /** Returns the state without an alarm that was about another model than this. */
  public TrainingState forModel(String modelId) {
    return driftModel.isEmpty() || driftModel.get().equals(modelId)
        ? this
        : with()
            .patience(1)
            .driftFrom(OptionalLong.empty())
            .driftModel(Optional.empty())
            .learned(0)
            .build();
  }

  /**
   * Returns the state after a decision: samples are counted from 0. After a challenger that did not
   * take over, the next retraining needs twice as many, and an alarm stays pending.
   */
  public TrainingState decided(boolean published, long nowMs) {
    return with()
        .computations(0)
        .patience(published ? 1 : Math.min(MAX_PATIENCE, 2 * patience))
        .driftModel(published ? Optional.empty() : driftModel)
        .learned(driftFrom.isPresent() ? learned + computations : 0)
        .decidedAtMs(nowMs)
        .build();
  }

  /** Returns whether all samples count since the model began as that of other hardware. */
  public boolean isSinceColdStart() {
    return driftFrom.equals(OptionalLong.of(0));
  }

  /**
   * Returns the trigger of a retraining, if one is due. The first retraining after an alarm (or
   * with a model that began as that of other hardware) has few samples: another one follows each
   * time their number has doubled, until it is the usual one.
   */
  public Optional<ModelDecision.Trigger> due(TrainingPolicy policy, long nowMs) {
    long few = (long) policy.samplesAfterDrift() * patience;
    if (driftModel.isPresent()) {
      return computations >= few ? Optional.of(ModelDecision.Trigger.DRIFT) : Optional.empty();
    }
    if (learned > 0 && learned < policy.samples() && computations >= learned * patience) {
      return Optional.of(ModelDecision.Trigger.DRIFT);
    }
    if (computations >= (long) policy.samples() * patience) {
      return Optional.of(ModelDecision.Trigger.SAMPLES);
    }
    return computations >= few && nowMs - decidedAtMs >= policy.schedule().toMillis()
        ? Optional.of(ModelDecision.Trigger.SCHEDULE)
        : Optional.empty();
  }

  /** Returns a builder of a copy. */
  public TrainingStateBuilder with() {
    return TrainingStateBuilder.builder(this);
  }
}
