package io.shardtide.replay;

import java.util.Locale;

/** How a recomputed plan compares with the recorded one. */
public enum Verdict {
  /** They have the same id. */
  EQUAL,
  /** They have different ids. */
  DIFFERS,
  /** No plan is recorded. */
  NOT_RECORDED,
  /** An input of the plan is missing, or its search is one that this version does not have. */
  NOT_REPRODUCED;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
