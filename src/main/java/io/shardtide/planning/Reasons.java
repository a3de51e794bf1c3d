package io.shardtide.planning;

import io.shardtide.cost.DatedPrediction;
import io.shardtide.domain.Effort;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardingPlan;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Describes, for people, why a plan was made: the difference from the plan before it. The text is
 * part of the plan's content, so that it does not depend on a locale.
 */
final class Reasons {
  /** Names that are listed; further ones are counted. */
  private static final int NAMED = 3;

  private Reasons() {}

  static String describe(Planner.Request request) {
    List<DatedPrediction> tables = request.tables();
    int devices = request.predicted().cluster().devices();
    String prefix = request.effort() == Effort.DEEP ? "background search: " : "";
    if (request.running().isEmpty()) {
      return prefix + "first plan: " + tables.size() + " tables on " + devices + " devices";
    }
    ShardingPlan before = request.running().get();
    Set<String> known =
        before.shards().stream().map(Shard::table).collect(Collectors.toCollection(TreeSet::new));
    List<String> added = new ArrayList<>();
    List<String> changed = new ArrayList<>();
    for (DatedPrediction table : tables) {
      String name = table.prediction().table().name();
      if (!known.remove(name)) {
        added.add(name);
      } else if (table.since() > before.generation()) {
        changed.add(name);
      }
    }
    List<String> parts = new ArrayList<>();
    count(parts, added, "added");
    boolean newModel = !before.modelId().equals(request.predicted().modelId());
    count(parts, changed, "changed");
    if (newModel) {
      parts.add("new cost model");
    }
    count(parts, List.copyOf(known), "dropped");
    if (devices != before.deviceCosts().size()) {
      parts.add("devices from " + before.deviceCosts().size() + " to " + devices);
    }
    if (parts.isEmpty()) {
      parts.add(
          before.generation() == request.predicted().generation()
              ? "nothing changed"
              : "cluster set");
    }
    return prefix + String.join(", ", parts);
  }

  private static void count(List<String> parts, List<String> tables, String what) {
    if (!tables.isEmpty()) {
      String names = tables.stream().limit(NAMED).collect(Collectors.joining(", "));
      parts.add(
          tables.size()
              + (tables.size() == 1 ? " table " : " tables ")
              + what
              + " ("
              + names
              + (tables.size() > NAMED ? ", ...)" : ")"));
    }
  }
}
