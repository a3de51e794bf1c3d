package io.shardtide.replay;

import io.shardtide.domain.Names;
import io.shardtide.domain.PlanMoves;
import io.shardtide.domain.PlanOrigin;
import io.shardtide.domain.PlanPrediction;
import io.shardtide.domain.SearchRun;
import io.shardtide.domain.ShardingPlan;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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

  /** Parts of a plan whose fields are compared one by one. */
  private static final Set<Class<?>> PARTS =
      Set.of(PlanOrigin.class, PlanPrediction.class, PlanMoves.class, SearchRun.class);

  private static final int SHOWN = 120;

  private PlanFields() {}

  /** Returns the names of the fields that differ. */
  static List<String> differing(ShardingPlan a, ShardingPlan b) {
    List<String> names = new ArrayList<>();
    Map<String, Object> ofB = fields(b);
    fields(a)
        .forEach(
            (name, value) -> {
              if (!IGNORED.contains(name) && !value.equals(ofB.get(name))) {
                names.add(name);
              }
            });
    return names;
  }

  /** Returns whether two plans have the same result, whatever their inputs. */
  static boolean sameResult(ShardingPlan a, ShardingPlan b) {
    return INPUTS.containsAll(differing(a, b));
  }

  /** Returns one line per field that differs, with both values. */
  static List<String> describe(ShardingPlan recorded, ShardingPlan recomputed) {
    List<String> lines = new ArrayList<>();
    Map<String, Object> before = fields(recorded);
    Map<String, Object> after = fields(recomputed);
    for (String name : differing(recorded, recomputed)) {
      lines.add(describe(name, before.get(name), after.get(name)));
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
    return Names.cut(text, SHOWN);
  }

  /** Returns the values of a plan's fields, those of its nested parts included, by name. */
  private static Map<String, Object> fields(ShardingPlan plan) {
    Map<String, Object> fields = new LinkedHashMap<>();
    put(fields, plan);
    return fields;
  }

  private static void put(Map<String, Object> fields, Record part) {
    for (RecordComponent field : part.getClass().getRecordComponents()) {
      Object value = value(field, part);
      if (PARTS.contains(field.getType())) {
        put(fields, (Record) value);
      } else {
        fields.put(field.getName(), value);
      }
    }
  }

  private static Object value(RecordComponent field, Record part) {
    try {
      return field.getAccessor().invoke(part);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }
}
