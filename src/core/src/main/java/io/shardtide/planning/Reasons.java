package io.shardtide.planning;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.VersionedPrediction;
import io.shardtide.domain.Effort;
import io.shardtide.domain.HashedStorage;
import io.shardtide.domain.HotRows;
import io.shardtide.domain.Names;
import io.shardtide.domain.PlanMoves;
import io.shardtide.domain.ReplicaGroups;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.TableConstraints;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.SearchResult;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
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

  /**
   * Describes why a plan was made.
   *
   * @param found the plan
   * @param moves its moves from the running plan
   */
  static String describe(Planner.Request request, SearchResult.Found found, PlanMoves moves) {
    ReplicaGroups groups = found.replication().groups();
    List<VersionedPrediction> tables = request.tables();
    int devices = request.predicted().cluster().devices();
    String prefix = prefix(request);
    ModelBundle model = request.model().bundle();
    Optional<String> origin = model.describeOrigin();
    boolean isProxy = model.proxyHardware().isPresent();
    String suffix =
        (isProxy ? ", " + origin.orElseThrow() : "")
            + model.describeLinks().map(links -> ", " + links).orElse("")
            + model.describeOptimizers(specs(tables)).map(costs -> ", " + costs).orElse("")
            + model.describeCaches(found.shards()).map(caches -> ", " + caches).orElse("");
    if (request.running().isEmpty()) {
      return prefix
          + "first plan: %s tables on %s devices".formatted(tables.size(), devices)
          + (groups.areSeveral() ? " in " + groups.describe() : "")
          + suffix;
    }
    ShardingPlan before = request.running().get();
    Map<String, List<Shard>> running =
        before.shards().stream().collect(Collectors.groupingBy(Shard::table));
    Set<String> known = new TreeSet<>(running.keySet());
    running.keySet().retainAll(names(tables));
    List<String> added = new ArrayList<>();
    List<String> changed = new ArrayList<>();
    List<String> violated = new ArrayList<>();
    List<String> resized = new ArrayList<>();
    for (VersionedPrediction table : tables) {
      String name = table.prediction().table().name();
      if (!known.remove(name)) {
        added.add(name);
      } else if (table.since() > before.generation()) {
        changed.add(name);
        if (violates(table.prediction().table(), running, before.deviceCosts().size())) {
          violated.add(name);
        }
        resize(table.prediction().table(), running.get(name)).ifPresent(resized::add);
      }
    }
    List<String> parts = new ArrayList<>();
    count(parts, added, "added");
    boolean newModel = !before.modelId().equals(request.predicted().modelId());
    count(parts, changed, "changed");
    resized.stream().limit(NAMED).forEach(parts::add);
    if (resized.size() > NAMED) {
      parts.add(resized.size() - NAMED + " more resized");
    }
    count(parts, violated, "running against new constraints");
    if (newModel) {
      parts.add("new cost model" + (isProxy ? "" : origin.map(" that "::concat).orElse("")));
    }
    count(parts, List.copyOf(known), "dropped");
    if (devices != before.ranks()) {
      parts.add("devices from " + before.ranks() + " to " + devices);
    }
    if (!groups.equals(before.groups())) {
      parts.add("from %s to %s".formatted(before.groups().describe(), groups.describe()));
    }
    boolean isWithSpeeds = !before.slow().equals(request.slow());
    if (isWithSpeeds) {
      parts.addAll(SpeedTexts.changes(before.slow(), request.slow(), devices));
    } else if (parts.isEmpty() && !request.slow().isEmpty()) {
      isWithSpeeds = true;
      parts.addAll(SpeedTexts.changes(List.of(), request.slow(), devices));
    }
    if (parts.isEmpty()) {
      parts.add(
          before.generation() == request.predicted().generation()
              ? "nothing changed"
              : "cluster set");
    }
    String gain =
        isWithSpeeds
            ? SpeedTexts.gain(
                moves.shards(found.placed()),
                Imbalance.stepCost(
                        request.tables(),
                        before,
                        request.predicted().cluster(),
                        request.model(),
                        request.slow())
                    .predictedMs(),
                found.predictedMs() - found.replication().msPerStep())
            : "";
    return prefix + String.join(", ", parts) + gain + suffix;
  }

  private static String prefix(Planner.Request request) {
    if (request.effort() != Effort.DEEP) {
      return "";
    }
    return request.settings().risk() < 0
        ? "background search, to learn what shards cost: "
        : "background search: ";
  }

  private static List<String> names(List<VersionedPrediction> tables) {
    return tables.stream().map(table -> table.prediction().table().name()).toList();
  }

  private static List<TableSpec> specs(List<VersionedPrediction> tables) {
    return tables.stream().map(table -> table.prediction().table()).toList();
  }

  /** Returns whether the running shards of a table do not keep to its constraints and kernel. */
  private static boolean violates(TableSpec table, Map<String, List<Shard>> running, int devices) {
    TableConstraints constraints = table.constraints();
    List<Shard> shards = running.get(table.name());
    ShardKind kind = HotRows.others(shards).get(0).kind();
    boolean isCutByUse = HotRows.of(shards).isPresent();
    boolean mayBeCutByUse =
        constraints.mayHaveHotRows() && constraints.allows(ShardKind.DATA_PARALLEL);
    boolean isAllowed =
        constraints.allows(kind)
            || (kind == ShardKind.TABLE_COLUMN_WISE && constraints.allows(ShardKind.COLUMN_WISE));
    boolean isComputed =
        HotRows.others(shards).stream()
            .allMatch(s -> table.kernel().allows(kind.scope(), s.cacheShare().isPresent()));
    boolean isCut = shards.stream().anyMatch(shard -> shard.columnOffset() > 0);
    boolean isNarrow =
        shards.stream().anyMatch(shard -> shard.columns() < constraints.leastColumns());
    List<Shard> others =
        constraints.sameDevicesAs().map(name -> running.getOrDefault(name, shards)).orElse(shards);
    return !isAllowed
        || !isComputed
        || (isCutByUse && !mayBeCutByUse)
        || (isCut && isNarrow)
        || HotRows.others(others).get(0).kind() != kind
        || !holders(others, devices).equals(holders(shards, devices));
  }

  /** Returns why a hashed table has another capacity than it had, if somebody resized it. */
  private static Optional<String> resize(TableSpec table, List<Shard> running) {
    long before = running.stream().mapToLong(shard -> shard.region().rowEnd()).max().orElseThrow();
    return table
        .storage()
        .flatMap(HashedStorage::resizeReason)
        .filter(reason -> table.rows() != before)
        .map(
            reason ->
                String.format(
                    Locale.ROOT,
                    "%s has %,d slots instead of %,d: %s",
                    Names.quote(table.name()),
                    table.rows(),
                    before,
                    reason));
  }

  private static List<Integer> holders(List<Shard> shards, int devices) {
    return shards.stream().flatMap(shard -> shard.holders(devices).boxed()).sorted().toList();
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
