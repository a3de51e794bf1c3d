package io.shardtide.replay;

import io.shardtide.domain.ShardingPlan;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Compares plans field by field: those fields that make a plan's id. */
final class PlanFields {
  /** No part of the id, or made from all others. */
  private static final Set<String> APART = Set.of("planId", "source", "searchMillis", "createdAt");

  /** What a plan is made from; all others are what was found. */
  private static final Set<String> GIVEN =
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
      if (!APART.contains(field.getName()) && !value(field, a).equals(value(field, b))) {
        names.add(field.getName());
      }
    }
    return names;
  }

  /** Returns whether the same was found, whatever it was made from. */
  static boolean sameFinding(ShardingPlan a, ShardingPlan b) {
    return GIVEN.containsAll(differing(a, b));
  }

  /** Returns each field that differs with both values, as a line. */
  static List<String> describe(ShardingPlan recorded, ShardingPlan made) {
    List<String> lines = new ArrayList<>();
    List<String> differing = differing(recorded, made);
    for (RecordComponent field : ShardingPlan.class.getRecordComponents()) {
      if (differing.contains(field.getName())) {
        lines.add(describe(field.getName(), value(field, recorded), value(field, made)));
      }
    }
    return lines;
  }

  private static String describe(String name, Object recorded, Object made) {
    if (recorded instanceof List<?> before && made instanceof List<?> after) {
      int first = 0;
      while (first < before.size()
          && first < after.size()
          && before.get(first).equals(after.get(first))) {
        first++;
      }
      return "%s: %d on record, %d made; number %d is %s on record, %s made"
          .formatted(
              name,
              before.size(),
              after.size(),
              first + 1,
              item(before, first),
              item(after, first));
    }
    return "%s: %s on record, %s made".formatted(name, cut(recorded), cut(made));
  }

  private static String item(List<?> list, int index) {
    return index < list.size() ? cut(list.get(index)) : "not there";
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
