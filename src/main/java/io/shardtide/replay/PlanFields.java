package io.shardtide.replay;

import io.shardtide.domain.ShardingPlan;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Compares plans field by field, over the fields that the plan id covers. */
final class PlanFields {
  /** Not covered by the id. */
  private static final Set<String> IGNORED =
      Set.of("planId", "source", "searchMillis", "createdAt");

  /** Inputs of the search; all other fields are its result. */
  private static final Set<String> INPUTS =
      Set.of(
          "workloadId",
          "generation",
          "firstGeneration",
          "effort",
          "modelId",
          "settings",
          "previousPlanId");

  private static final int SHOWN = 120;

  private PlanFields() {}

  /** Returns the names of the fields that differ. */
  static List<String> differing(ShardingPlan a, ShardingPlan b) {
    List<String> names = new ArrayList<>();
    for (RecordComponent field : ShardingPlan.class.getRecordComponents()) {
      if (!IGNORED.contains(field.getName()) && !value(field, a).equals(value(field, b))) {
        names.add(field.getName());
      }
    }
    return names;
  }

  /** Returns whether two plans have the same result, whatever their inputs. */
  static boolean sameResult(ShardingPlan a, ShardingPlan b) {
    return INPUTS.containsAll(differing(a, b));
  }

  /** Returns one line per field that differs, with both values. */
  static List<String> describe(ShardingPlan recorded, ShardingPlan recomputed) {
    List<String> lines = new ArrayList<>();
    List<String> differing = differing(recorded, recomputed);
    for (RecordComponent field : ShardingPlan.class.getRecordComponents()) {
      if (differing.contains(field.getName())) {
        lines.add(describe(field.getName(), value(field, recorded), value(field, recomputed)));
      }
    }
    return lines;
  }

  private static String describe(String name, Object recorded, Object recomputed) {
    if (recorded instanceof List<?> before && recomputed instanceof List<?> after) {
      int first = 0;
      while (first < before.size()
          && first < after.size()
          && before.get(first).equals(after.get(first))) {
        first++;
      }
      return "%s: %d recorded, %d recomputed; number %d is %s recorded, %s recomputed"
          .formatted(
              name,
              before.size(),
              after.size(),
              first + 1,
              item(before, first),
              item(after, first));
    }
    return "%s: recorded %s, recomputed %s".formatted(name, cut(recorded), cut(recomputed));
  }

  private static String item(List<?> list, int index) {
    return index < list.size() ? cut(list.get(index)) : "missing";
  }

  private static String cut(Object value) {
    String text = value.toString();
    return text.length() > SHOWN ? text.substring(0, SHOWN) + "..." : text;
  }

  private static Object value(RecordComponent field, ShardingPlan plan) {
    try {
      return field.getAccessor().invoke(plan);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }
}
