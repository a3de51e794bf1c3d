package io.shardtide.domain;

import java.util.Arrays;
import java.util.Locale;

/** What the planner does with an event for hardware without a cost model. */
public enum UnknownHardware {
  /** It begins with the model of the nearest hardware, and retrains it on measured costs. */
  NEAREST,
  /** It rejects the event with {@link RejectionReason#UNKNOWN_HARDWARE}. */
  REJECT;

  /** Returns the name in settings, for example {@code nearest}. */
  public String key() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the constant with a {@link #key}.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static UnknownHardware of(String key) {
    return Arrays.stream(values())
        .filter(choice -> choice.key().equals(key))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "unknown hardware must be one of nearest, reject, got \"%s\"".formatted(key)));
  }
}
