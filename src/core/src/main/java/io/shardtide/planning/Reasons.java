package io.shardtide.planning;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.VersionedPrediction;
import io.shardtide.domain.DeviceSpeed;
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
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

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
    List<TableSpec> tables = tables(request);
    ReplicaGroups groups = found.replication().groups();
    int devices = request.predicted().cluster().devices();
    ModelBundle model = request.model().bundle();
    String suffix =
        Stream.of(
                model.describeOrigin().filter(origin -> model.proxyHardware().isPresent()),
                model.describeLinks(),
                model.describeOptimizers(tables),
                model.describeCaches(found.shards()))
            .flatMap(Optional::stream)
            .map(", "::concat)
            .collect(Collectors.joining());
    if (request.running().isEmpty()) {
      return prefix(request)
          + "first plan: %s tables on %s devices".formatted(tables.size(), devices)
          + (groups.areSeveral() ? " in " + groups.describe() : "")
          + suffix;
    }
    ShardingPlan before = request.running().get();
    List<String> parts = new ArrayList<>();
    Set<String> dropped =
        before.shards().stream().map(Shard::table).collect(Collectors.toCollection(TreeSet::new));
    describeTables(parts, request, before, dropped);
    if (!before.modelId().equals(request.predicted().modelId())) {
      Optional<String> origin =
          model.describeOrigin().filter(text -> model.proxyHardware().isEmpty());
      parts.add("new cost model" + origin.map(" that "::concat).orElse(""));
    }
    count(parts, dropped, "dropped");
    if (devices != before.ranks()) {
      parts.add("devices from " + before.ranks() + " to " + devices);
    }
    if (!groups.equals(before.groups())) {
      parts.add("from %s to %s".formatted(before.groups().describe(), groups.describe()));
    }
    boolean areSpeedsNew = !before.slow().equals(request.slow());
    boolean isWithSpeeds = areSpeedsNew || (parts.isEmpty() && !request.slow().isEmpty());
    if (isWithSpeeds) {
      List<DeviceSpeed> known = areSpeedsNew ? before.slow() : List.of();
      parts.addAll(SpeedTexts.changes(known, request.slow(), devices));
    }
    if (parts.isEmpty()) {
      parts.add(
          before.generation() == request.predicted().generation()
              ? "nothing changed"
              : "cluster set");
    }
    return prefix(request)
        + String.join(", ", parts)
        + (isWithSpeeds ? gain(request, found, before, moves) : "")
        + suffix;
  }

  private static List<TableSpec> tables(Planner.Request request) {
    return request.tables().stream().map(table -> table.prediction().table()).toList();
  }

  /** Describes the tables that changed. Leaves those in {@code running} that were dropped. */
  private static void describeTables(
      List<String> parts, Planner.Request request, ShardingPlan before, Set<String> running) {
    Map<String, List<Shard>> shards =
        before.shards().stream().collect(Collectors.groupingBy(Shard::table));
    shards
        .keySet()
        .retainAll(tables(request).stream().map(TableSpec::name).collect(Collectors.toSet()));
    List<String> added = new ArrayList<>();
    List<String> changed = new ArrayList<>();
    List<String> violated = new ArrayList<>();
    List<String> resized = new ArrayList<>();
    for (VersionedPrediction of : request.tables()) {
      TableSpec table = of.prediction().table();
      if (!running.remove(table.name())) {
        added.add(table.name());
      } else if (of.since() > before.generation()) {
        changed.add(table.name());
        if (violates(table, shards, before.deviceCosts().size())) {
          violated.add(table.name());
        }
        resize(table, shards.get(table.name())).ifPresent(resized::add);
      }
    }
    count(parts, added, "added");
    count(parts, changed, "changed");
    resized.stream().limit(NAMED).forEach(parts::add);
    if (resized.size() > NAMED) {
      parts.add(resized.size() - NAMED + " more resized");
    }
    count(parts, violated, "running against new constraints");
  }

  private static String gain(
      Planner.Request request, SearchResult.Found found, ShardingPlan before, PlanMoves moves) {
    double runningMs =
        Imbalance.stepCost(
                request.tables(),
                before,
                request.predicted().cluster(),
                request.model(),
                request.slow())
            .predictedMs();
    return SpeedTexts.gain(
        moves.shards(found.placed()),
        runningMs,
        found.predictedMs() - found.replication().msPerStep());
  }

  private static String prefix(Planner.Request request) {
    if (request.effort() != Effort.DEEP) {
      return "";
    }
    return request.settings().risk() < 0
        ? "background search, to learn what shards cost: "
        : "background search: ";
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

  private static void count(List<String> parts, Collection<String> tables, String what) {
    if (!tables.isEmpty()) {
      parts.add(
          "%s %s %s (%s%s)"
              .formatted(
                  tables.size(),
                  tables.size() == 1 ? "table" : "tables",
                  what,
                  tables.stream().limit(NAMED).collect(Collectors.joining(", ")),
                  tables.size() > NAMED ? ", ..." : ""));
    }
  }
}
