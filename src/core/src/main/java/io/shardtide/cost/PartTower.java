package io.shardtide.cost;

/**
 * A tower's output for a column part that is split, copied or cached: on each of its devices it is
 * the same.
 *
 * @param part the part; not one in the memory of one device
 * @param tower the tower's output; must not be changed
 */
@SuppressWarnings("ArrayRecordComponent") // Recorded, never compared.
public record PartTower(TablePart part, float[] tower) {
  /** Checks the part. */
  public PartTower {
    if (part.isOnDevice()) {
      throw new IllegalArgumentException(
          "part of a tower output must be split, copied or cached, got " + part);
    }
  }
}
