package io.shardtide.replay;

import io.shardtide.domain.pool.Allocation;
import io.shardtide.domain.pool.NodeTransfer;
import io.shardtide.domain.pool.WorkloadAllocation;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Compares allocations field by field. */
final class AllocationFields {
  private static final String NONE = "none";

  private AllocationFields() {}

  /** Returns one line per field that differs, with both values. */
  static List<String> describe(Allocation recorded, Allocation recomputed) {
    Map<String, String> before = fields(recorded);
    Map<String, String> after = fields(recomputed);
    Set<String> names = new LinkedHashSet<>(before.keySet());
    names.addAll(after.keySet());
    List<String> lines = new ArrayList<>();
    for (String name : names) {
      String was = before.getOrDefault(name, NONE);
      String is = after.getOrDefault(name, NONE);
      if (!was.equals(is)) {
        lines.add("%s: recorded %s, recomputed %s".formatted(name, was, is));
      }
    }
    return lines;
  }

  /** Returns the values of all fields by name; the id, which covers the others, is last. */
  private static Map<String, String> fields(Allocation allocation) {
    Map<String, String> fields = new LinkedHashMap<>();
    fields.put("poolId", allocation.poolId());
    fields.put("generation", Long.toString(allocation.generation()));
    fields.put("previousId", allocation.previousId().orElse(NONE));
    put(fields, "policy ", allocation.policy());
    allocation.curveIds().forEach((workload, id) -> fields.put("curve of " + workload, id));
    for (WorkloadAllocation workload : allocation.workloads()) {
      put(fields, workload.workloadId() + " ", workload);
    }
    for (NodeTransfer transfer : allocation.transfers()) {
      put(fields, "transfer of %s ".formatted(transfer.node()), transfer);
    }
    put(fields, "quality ", allocation.quality());
    fields.put("allocationId", allocation.allocationId());
    return fields;
  }

  private static void put(Map<String, String> fields, String prefix, Record part) {
    for (RecordComponent field : part.getClass().getRecordComponents()) {
      try {
        fields.put(prefix + field.getName(), field.getAccessor().invoke(part).toString());
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
