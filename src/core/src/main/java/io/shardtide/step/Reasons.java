package io.shardtide.step;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.VersionedPrediction;
import io.shardtide.option.Option;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.Effort;
import io.shardtide.plan.HotRows;
import io.shardtide.plan.PlanMoves;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.Names;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Describes, for people, why a plan was made: the difference from the plan before it. The text is
 * part of the plan's content, so that it does not depend on a locale.
 */
final class Reasons {
  /** Names that are listed; further ones are counted. */
  private static final int NAMED = 3;

  private final Planner.Request request;
  private final ShardingPlan before;

  /** The running shards of each table that there still is. */
  private final Map<String, List<Shard>> running;

  private Reasons(Planner.Request request, ShardingPlan before) {
    this.request = request;
    this.before = before;
    running = Shard.byTable(before.shards());
    running.keySet().retainAll(TableSpec.byName(specs(request)).keySet());
  }

  /**
   * Describes why a plan was made.
   *
   * @param found the plan
   * @param moves its moves from the running plan
   */
  static String describe(Planner.Request request, SearchResult.Found found, PlanMoves moves) {
    String reason =
        request
            .running()
            .map(before -> new Reasons(request, before).differences(found, moves))
            .orElseGet(() -> firstPlan(request, found.replication().groups()));
    return prefix(request) + reason + suffix(request, found.shards());
  }

  private static String firstPlan(Planner.Request request, ReplicaGroups groups) {
    return "first plan: %s tables on %s devices%s"
        .formatted(
            request.tables().size(),
            request.predicted().cluster().devices(),
            groups.areSeveral() ? " in " + groups.describe() : "");
  }

  private String differences(SearchResult.Found found, PlanMoves moves) {
    List<String> parts = new ArrayList<>();
    addTables(parts);
    addModel(parts);
    addDropped(parts);
    addDevices(parts, found.replication().groups());
    boolean isWithSpeeds = addSpeeds(parts);
    if (parts.isEmpty()) {
      parts.add(
          before.generation() == request.predicted().generation()
              ? "nothing changed"
              : "cluster set");
    }
    return String.join(", ", parts) + (isWithSpeeds ? gain(found, moves) : "");
  }

  private void addTables(List<String> parts) {
    List<String> added = new ArrayList<>();
    List<String> changed = new ArrayList<>();
    List<String> violated = new ArrayList<>();
    List<String> resized = new ArrayList<>();
    for (VersionedPrediction of : request.tables()) {
      TableSpec table = of.prediction().table();
      if (!running.containsKey(table.name())) {
        added.add(table.name());
      } else if (of.since() > before.generation()) {
        changed.add(table.name());
        if (violates(table)) {
          violated.add(table.name());
        }
        resize(table, running.get(table.name())).ifPresent(resized::add);
      }
    }
    count(parts, added, "added");
    count(parts, changed, "changed");
    parts.addAll(few(resized, " more resized"));
    count(parts, violated, "running against new constraints");
  }

  private void addModel(List<String> parts) {
    if (!before.origin().modelId().equals(request.predicted().modelId())) {
      ModelBundle model = request.model().bundle();
      Optional<String> origin =
          model.proxyHardware().isPresent() ? Optional.empty() : model.describeOrigin();
      parts.add("new cost model" + origin.map(" that "::concat).orElse(""));
    }
  }

  private void addDropped(List<String> parts) {
    List<String> dropped =
        before.shards().stream()
            .map(Shard::table)
            .filter(table -> !running.containsKey(table))
            .distinct()
            .sorted()
            .toList();
    count(parts, dropped, "dropped");
  }

  private void addDevices(List<String> parts, ReplicaGroups groups) {
    int devices = request.predicted().cluster().devices();
    if (devices != before.ranks()) {
      parts.add("devices from " + before.ranks() + " to " + devices);
    }
    if (!groups.equals(before.groups())) {
      parts.add("from %s to %s".formatted(before.groups().describe(), groups.describe()));
    }
  }

  /** Adds the speeds that changed, or if nothing did, all; returns whether there are some. */
  private boolean addSpeeds(List<String> parts) {
    boolean areEqual = before.origin().slow().equals(request.slow());
    if (areEqual && (!parts.isEmpty() || request.slow().isEmpty())) {
      return false;
    }
    List<DeviceSpeed> known = areEqual ? List.of() : before.origin().slow();
    int devices = request.predicted().cluster().devices();
    parts.addAll(SpeedTexts.changes(known, request.slow(), devices));
    return true;
  }

  private String gain(SearchResult.Found found, PlanMoves moves) {
    return SpeedTexts.gain(
        moves.shards(found.placed()),
        Imbalance.stepCost(request, before).predictedMs(),
        found.predictedMs() - found.replication().msPerStep());
  }

  private static String suffix(Planner.Request request, List<Shard> shards) {
    ModelBundle model = request.model().bundle();
    return Stream.concat(
            model.proxyHardware().flatMap(proxy -> model.describeOrigin()).stream(),
            model.describeUnmeasured(specs(request), shards))
        .map(", "::concat)
        .collect(Collectors.joining());
  }

  private static String prefix(Planner.Request request) {
    if (request.effort() != Effort.DEEP) {
      return "";
    }
    return request.settings().risk() < 0
        ? "background search, to learn what shards cost: "
        : "background search: ";
  }

  private static List<TableSpec> specs(Planner.Request request) {
    return request.predictions().stream().map(TablePrediction::table).toList();
  }

  /** Returns whether the running shards of a table do not keep to its constraints and kernel. */
  private boolean violates(TableSpec table) {
    int devices = before.prediction().deviceCosts().size();
    TableConstraints constraints = table.constraints();
    List<Shard> shards = running.get(table.name());
    ShardKind kind = HotRows.others(shards).get(0).kind();
    boolean isAllowed =
        constraints.allows(kind)
            || (kind == ShardKind.TABLE_COLUMN_WISE && constraints.allows(ShardKind.COLUMN_WISE));
    boolean isComputed =
        Option.of(HotRows.others(shards)).stream()
            .allMatch(option -> option.part().isComputedBy(table.kernel()));
    boolean isCut = shards.stream().anyMatch(shard -> shard.columnOffset() > 0);
    boolean isNarrow =
        shards.stream().anyMatch(shard -> shard.columns() < constraints.leastColumns());
    List<Shard> others =
        constraints.sameDevicesAs().map(name -> running.getOrDefault(name, shards)).orElse(shards);
    return !isAllowed
        || !isComputed
        || (HotRows.of(shards).isPresent() && !constraints.mayBeCutByUse())
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

  /** Returns the first texts, and how many more there are. */
  static List<String> few(List<String> texts, String more) {
    Stream<String> rest = Stream.of(texts.size() - NAMED + more).filter(of -> texts.size() > NAMED);
    return Stream.concat(texts.stream().limit(NAMED), rest).toList();
  }

  private static void count(List<String> parts, List<String> tables, String what) {
    if (!tables.isEmpty()) {
      String names = tables.stream().limit(NAMED).collect(Collectors.joining(", "));
      String more = tables.size() > NAMED ? ", ..." : "";
      String noun = tables.size() == 1 ? "table" : "tables";
      parts.add("%s %s %s (%s%s)".formatted(tables.size(), noun, what, names, more));
    }
  }
}
