package io.shardtide.replay;

import java.util.List;
import java.util.Locale;

/**
 * Why a recorded plan was not reproduced.
 *
 * @param row the recorded plan
 * @param cause the kind of cause
 * @param explanation the cause, for people
 * @param fields one line per different field: its name, the recorded and the recomputed value
 */
public record Difference(
    ReplayRow row, DifferenceCause cause, String explanation, List<String> fields) {
  /** Kinds of causes. */
  public enum DifferenceCause {
    /** The plan was made with other settings than the recorded ones. */
    SETTINGS,
    /** The model is missing, or the plan was made with another one. */
    MODEL,
    /** The running plan is missing, or another plan was running. */
    PREVIOUS_PLAN,
    /** The predictions are missing, or the plan was made from other ones. */
    PREDICTIONS,
    /** The record was changed after the plan was made. */
    RECORD,
    /** The inputs are equal: this version of Shardtide finds another plan. */
    CODE_VERSION;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
  }

  /** Copies the list. */
  public Difference {
    fields = List.copyOf(fields);
  }
}
