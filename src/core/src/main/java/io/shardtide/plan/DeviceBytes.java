package io.shardtide.plan;

import io.shardtide.workload.TableSpec;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The device memory of parts of tables on the way from one plan to the next.
 *
 * @param before a shard of each table of the first plan
 * @param after the same of the second plan
 * @param tables the tables of the second plan by name
 */
record DeviceBytes(
    Map<String, Shard> before, Map<String, Shard> after, Map<String, TableSpec> tables) {
  DeviceBytes(PlanShards previous, PlanShards next, Map<String, TableSpec> tables) {
    this(oneOfEach(previous), oneOfEach(next), tables);
  }

  /** Of a table with hot rows, one of the others. */
  private static Map<String, Shard> oneOfEach(PlanShards plan) {
    return plan.shards().stream()
        .collect(Collectors.toMap(Shard::table, shard -> shard, (a, b) -> a.isCopied() ? b : a));
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

  private long bytes(Overlap part, int device, Shard of) {
    // Copies of the most used rows have no cache, whatever the others have.
    return device == Shard.EVERY_DEVICE
        ? part.bytes(tables)
        : of.bytes(part.region(), tables.get(part.table()));
  }
}
