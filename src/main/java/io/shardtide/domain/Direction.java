package io.shardtide.domain;

import java.util.Locale;

/** The half of a training step that a cost belongs to. */
public enum Direction {
  /** Lookups and outputs. */
  FORWARD,
  /** Gradients and updates. */
  BACKWARD;

  /** Returns the name in sample files: {@code forward}, say. */
  public String fileName() {
    return name().toLowerCase(Locale.ROOT);
  }
}
