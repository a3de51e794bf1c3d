package io.shardtide.domain;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Which ids a hashed table gives up when it is full: {@link HashedStorage}. */
public enum Eviction {
  /** None: new ids share the slots of others, or are not stored. */
  NONE,
  /** Those whose last use is longest ago. */
  LRU,
  /** Those that were used least often. */
  LFU,
  /** Those that were not used for a time that the training program sets. */
  AGE;

  /**
   * Returns the policy with a name.
   *
   * @throws RejectedException if there is none
   */
  public static Eviction of(String name) {
    return Arrays.stream(values())
        .filter(eviction -> eviction.fileName().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new RejectedException(
                    RejectionReason.INVALID_STORAGE,
                    "eviction of a hashed table must be one of %s, got %s"
                        .formatted(String.join(", ", names()), Names.quote(name))));
  }

  private static List<String> names() {
    return Arrays.stream(values()).map(Eviction::fileName).toList();
  }

  /** Returns the name in files and events: {@code lru}, say. */
  public String fileName() {
    return name().toLowerCase(Locale.ROOT);
  }
}
