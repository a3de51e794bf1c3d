package io.shardtide.domain;

import java.util.Arrays;
import java.util.Locale;

/** How a table may be cut into column parts. */
public enum ColumnCuts {
  /**
   * Into parts of equal width, on different devices. TorchRec can load checkpoints of such tables
   * only, and reshard no others.
   */
  EQUAL,
  /** Into any parts of a multiple of {@link TableSpec#COLUMN_UNIT} columns, on any devices. */
  ANY;

  /** Returns the name in settings, for example {@code equal}. */
  public String key() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the constant with a {@link #key}.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static ColumnCuts of(String key) {
    return Arrays.stream(values())
        .filter(cuts -> cuts.key().equals(key))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "column cuts must be one of equal, any, got \"%s\"".formatted(key)));
  }
}
