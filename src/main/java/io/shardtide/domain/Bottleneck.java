package io.shardtide.domain;

import java.util.Objects;

/**
 * What a plan's step waits for: the device that begins the forward exchange last.
 *
 * @param device the device
 * @param cause what it is busy with longest; {@link Explanation.Cause#MEMORY} if no other device
 *     has room for the table
 * @param table its table without which a step would be shortest; empty for a device without tables
 * @param gainMs how much shorter a step would be without it, in milliseconds
 */
public record Bottleneck(int device, Explanation.Cause cause, String table, double gainMs) {
  /** Checks that there are names. */
  public Bottleneck {
    Objects.requireNonNull(cause, "cause");
    Objects.requireNonNull(table, "table");
  }
}
