package io.shardtide.pool;

import java.util.Comparator;

/**
 * Two racks, in the order of their names, or one rack twice.
 *
 * @param first name of a rack; empty for nodes without one
 * @param second name of a rack, not before the first
 */
public record RackPair(String first, String second) implements Comparable<RackPair> {
  private static final Comparator<RackPair> ORDER =
      Comparator.comparing(RackPair::first).thenComparing(RackPair::second);

  /** Checks the order. */
  public RackPair {
    if (first.compareTo(second) > 0) {
      throw new IllegalArgumentException(
          "first must not be after second, got %s and %s".formatted(first, second));
    }
  }

  /** Returns the pair of two racks in any order. */
  public static RackPair of(String rack, String other) {
    return rack.compareTo(other) <= 0 ? new RackPair(rack, other) : new RackPair(other, rack);
  }

  /** Returns whether both are one rack. */
  public boolean isOneRack() {
    return first.equals(second);
  }

  /** Orders by the first name, then by the second. */
  @Override
  public int compareTo(RackPair other) {
    return ORDER.compare(this, other);
  }
}
