package io.shardtide.replay;

import java.util.Locale;

/** How a plan that was made again compares with the one on record. */
public enum Verdict {
  /** They have the same id. */
  EQUAL,
  /** They have not. */
  DIFFERS,
  /** There is no plan on record. */
  NOT_RECORDED,
  /** Something that the plan was made from is missing. */
  NOT_REPRODUCED;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
