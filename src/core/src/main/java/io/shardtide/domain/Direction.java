package io.shardtide.domain;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

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

  /** Returns the direction of a name in sample files, if there is one. */
  public static Optional<Direction> ofFileName(String name) {
    return Arrays.stream(values()).filter(d -> d.fileName().equals(name)).findFirst();
  }

  /** Returns all names in sample files. */
  public static List<String> fileNames() {
    return Arrays.stream(values()).map(Direction::fileName).toList();
  }
}
