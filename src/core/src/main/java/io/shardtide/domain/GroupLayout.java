package io.shardtide.domain;

import java.util.Locale;

/** Which ranks form a replica group. */
public enum GroupLayout {
  /**
   * Consecutive ranks: whole nodes, or equal parts of a node. The collectives of a step stay there,
   * and groups are synchronized between them.
   */
  CONSECUTIVE,
  /**
   * Every R-th rank of R groups: each node has ranks of several groups, which are synchronized
   * within it.
   */
  STRIDED;

  /** Returns the name in files and messages. */
  public String fileName() {
    return name().toLowerCase(Locale.ROOT);
  }
}
