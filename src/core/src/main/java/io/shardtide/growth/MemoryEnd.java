package io.shardtide.growth;

import io.shardtide.workload.ByteSizes;

/**
 * When memory will no longer hold the tables, whatever the plan.
 *
 * @param days from now on; the latest may be infinite
 * @param bytesShort bytes that are missing at the end of the period of warning, 1 or more
 */
public record MemoryEnd(Range days, long bytesShort) {
  /** Returns a text for people, with what would help. */
  public String describe() {
    return ("memory holds its tables for %s after the report, whatever the plan; at the end of"
            + " growth.warning.days, %s are missing. Add devices or host memory with at least as much in total, let"
            + " tables evict ids, or drop tables.")
        .formatted(DayTexts.of(days), ByteSizes.describe(ByteSizes.roundedUp(bytesShort)));
  }
}
