package io.shardtide.growth;

/**
 * What was reported of a hashed table, and which capacity was asked for.
 *
 * @param history how many ids it had
 * @param slots slots that it had in the latest report
 * @param askedRows the capacity of the latest resize; 0 if there was none, or the table has it
 * @param askedAtMs when the latest resize was asked for, by the clock of the reports; 0 if there
 *     was none
 */
public record TableGrowth(FillHistory history, long slots, long askedRows, long askedAtMs) {
  /**
   * A resize that was rejected, say, is asked for again. Until then, the change is on its way
   * through the workload's topology.
   */
  private static final long ASK_AGAIN_MS = 600_000;

  /** Returns the capacity that the table has, or gets soon. */
  long capacity(long rows, long nowMs) {
    return nowMs - askedAtMs < ASK_AGAIN_MS ? Math.max(rows, askedRows) : rows;
  }

  TableGrowth with(Fill fill, long newSlots) {
    return new TableGrowth(history.with(fill), newSlots, askedRows, askedAtMs);
  }

  /**
   * Returns a resize with at least the capacity of one that is still on its way: reports may have
   * waited together, and be hours apart.
   */
  Resize afterAsked(Resize resize) {
    return new Resize(resize.table(), Math.max(resize.capacity(), askedRows), resize.reason());
  }

  TableGrowth asked(long rows, long atMs) {
    return new TableGrowth(history, slots, rows, atMs);
  }

  /** Returns this when the table has what was asked for. */
  TableGrowth answered() {
    return asked(0, askedAtMs);
  }

  /** Returns whether a capacity is at least that of a resize that was on its way. */
  boolean isResizedBy(long rows) {
    return askedRows > 0 && rows >= askedRows;
  }
}
