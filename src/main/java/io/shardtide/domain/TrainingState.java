package io.shardtide.domain;

import java.util.Optional;
import java.util.OptionalLong;

/**
 * What is remembered of a hardware's samples between trainings.
 *
 * @param received samples that were received, exchanges included
 * @param computations computations since the last decision or the alarm, whichever was later
 * @param patience how many times as many samples as usual are waited for, at least 1
 * @param driftFrom number of the first sample after the latest alarm: what came before is of a
 *     world that is gone
 * @param driftModel the model that an alarm is about which is not answered yet; empty without one
 * @param learned computations since the latest alarm that trainings had when they were decided; 0
 *     before the first of them, and where there was no alarm
 * @param olderKept older samples that are kept
 * @param decidedAtMs when the last decision was made or the first sample came, in milliseconds
 *     since 1970
 */
public record TrainingState(
    long received,
    long computations,
    int patience,
    OptionalLong driftFrom,
    Optional<String> driftModel,
    long learned,
    int olderKept,
    long decidedAtMs) {
  /** The most patience, after six challengers in a row that were no better. */
  private static final int MAX_PATIENCE = 64;

  /** Returns the state before the first sample. */
  public static TrainingState begin(long nowMs) {
    return new TrainingState(0, 0, 1, OptionalLong.empty(), Optional.empty(), 0, 0, nowMs);
  }

  /** Returns the state after one more sample. */
  public TrainingState received(boolean isComputation) {
    return new TrainingState(
        received + 1,
        computations + (isComputation ? 1 : 0),
        patience,
        driftFrom,
        driftModel,
        learned,
        olderKept,
        decidedAtMs);
  }

  /** Returns the state with another number of older samples. */
  public TrainingState keeping(int older) {
    return new TrainingState(
        received, computations, patience, driftFrom, driftModel, learned, older, decidedAtMs);
  }

  /**
   * Returns the state after an alarm that a model is wrong. While an alarm waits for its training,
   * another of the same model says nothing new.
   */
  public TrainingState alarmed(String modelId) {
    return driftModel.filter(modelId::equals).isPresent()
        ? this
        : new TrainingState(
            received,
            0,
            1,
            OptionalLong.of(received),
            Optional.of(modelId),
            0,
            olderKept,
            decidedAtMs);
  }

  /** Returns the state without an alarm that was about another model than this. */
  public TrainingState forModel(String modelId) {
    return driftModel.isEmpty() || driftModel.get().equals(modelId)
        ? this
        : new TrainingState(
            received,
            computations,
            1,
            OptionalLong.empty(),
            Optional.empty(),
            0,
            olderKept,
            decidedAtMs);
  }

  /**
   * Returns the state after a decision: samples count anew. After a challenger that did not take
   * over, twice as many are waited for, and an alarm still stands.
   */
  public TrainingState decided(boolean published, long nowMs) {
    return new TrainingState(
        received,
        0,
        published ? 1 : Math.min(MAX_PATIENCE, 2 * patience),
        driftFrom,
        published ? Optional.empty() : driftModel,
        driftFrom.isPresent() ? learned + computations : 0,
        olderKept,
        nowMs);
  }

  /**
   * Returns what asks for a training now, if anything does. What was learned right after an alarm
   * was learned from little: there is another training each time that there is twice as much, until
   * that is as much as is waited for without an alarm.
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
}
