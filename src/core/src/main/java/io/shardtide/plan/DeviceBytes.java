package io.shardtide.plan;

import io.shardtide.workload.TableSpec;
import java.util.Map;
import java.util.OptionalDouble;

/**
 * The device memory of parts of tables on the way from one plan to the next.
 *
 * @param before share of each table's rows that device memory holds in the first plan
 * @param after the same in the second plan
 * @param tables the tables of the second plan by name
 */
record DeviceBytes(
    Map<String, OptionalDouble> before,
    Map<String, OptionalDouble> after,
    Map<String, TableSpec> tables) {
  DeviceBytes(PlanShards previous, PlanShards next, Map<String, TableSpec> tables) {
    this(previous.cacheShares(), next.cacheShares(), tables);
  }

  /** Returns the bytes of a part on the device that it leaves. */
  long before(Overlap part) {
    return bytes(part, part.fromDevice(), before.get(part.table()));
  }

  /** Returns the bytes of a part on the device that gets it. */
  long after(Overlap part) {
    return bytes(part, part.toDevice(), after.get(part.table()));
  }

  /** Returns the bytes of a part that stays, while others move. */
  long staying(Overlap part) {
    return Math.min(before(part), after(part));
  }

  private long bytes(Overlap part, int device, OptionalDouble cacheShare) {
    Region region = part.region();
    // Copies of the most used rows have no cache, whatever the others have.
    OptionalDouble share = device == Shard.EVERY_DEVICE ? OptionalDouble.empty() : cacheShare;
    return tables.get(part.table()).bytes(region.rows(), region.columns(), share, false);
  }
}
