package io.shardtide.replay;

import java.util.List;
import java.util.Locale;

/**
 * Why a plan could not be made again as it was.
 *
 * @param row the plan
 * @param cause what kind of reason it is
 * @param explanation the reason, for people
 * @param fields what is different, a field each: its name, what is on record, what was made
 */
public record Difference(
    ReplayRow row, DifferenceCause cause, String explanation, List<String> fields) {
  /** Kinds of reasons. */
  public enum DifferenceCause {
    /** The settings on record are not those that the plan was made with. */
    SETTINGS,
    /** The model is missing, or is another than the plan was made with. */
    MODEL,
    /** The plan that was running is missing, or is another. */
    PREVIOUS_PLAN,
    /** The predictions are missing, or are other ones. */
    PREDICTIONS,
    /** The plan was changed after it was made. */
    RECORD,
    /** All that a plan is made from is equal: this version's code makes another plan of it. */
    CODE_VERSION;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
  }

  /** Copies what may change. */
  public Difference {
    fields = List.copyOf(fields);
  }
}
