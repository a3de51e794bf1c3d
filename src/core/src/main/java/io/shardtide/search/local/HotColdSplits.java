package io.shardtide.search.local;

import io.shardtide.cost.HotColdPrediction;
import io.shardtide.cost.StepComm;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.Bottleneck;
import io.shardtide.domain.Explanation;
import io.shardtide.domain.Explanation.Cause;
import io.shardtide.domain.Explanation.ExplainedAction;
import io.shardtide.domain.HotRows;
import io.shardtide.domain.Insight;
import io.shardtide.domain.PlanShards;
import io.shardtide.domain.Shard;
import io.shardtide.domain.Sharding;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.SearchResult;
import io.shardtide.search.TableGroup;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A problem some of whose tables are cut by use ({@link HotRows}): the search sees two tables in
 * place of each, and its plan is put together again.
 */
final class HotColdSplits {
  /** Tables that are explained; each takes a prediction of the whole plan. */
  private static final int MAX_TABLES = 32;

  private final SearchProblem problem;

  /** Hot rows by table. */
  private final Map<String, Long> hotRows;

  private HotColdSplits(SearchProblem problem, Map<String, Long> hotRows) {
    this.problem = problem;
    this.hotRows = new TreeMap<>(hotRows);
  }

  /** Cuts no table. */
  static HotColdSplits none(SearchProblem problem) {
    return new HotColdSplits(problem, Map.of());
  }

  /** Cuts the tables of a running plan as they are, and new ones as {@link HotRowChoice} says. */
  static HotColdSplits of(SearchProblem problem) {
    Map<String, Long> before = HotRows.byTable(problem.start().shards());
    Set<String> ran =
        problem.start().shards().stream().map(Shard::table).collect(Collectors.toSet());
    Set<String> mayBeCut = mayBeCut(problem.tables());
    Map<String, Long> hotRows = new HashMap<>();
    for (TablePrediction table : problem.tables()) {
      String name = table.table().name();
      Long rows = before.get(name);
      if (rows != null && mayBeCut.contains(name) && table.byUse(rows).isPresent()) {
        hotRows.put(name, rows);
      }
    }
    Set<String> added = new HashSet<>(mayBeCut);
    added.removeAll(ran);
    if (!added.isEmpty()) {
      hotRows.putAll(HotRowChoice.of(problem, added));
    }
    return new HotColdSplits(problem, hotRows);
  }

  /** Returns the tables that may be cut: no other table must be where their shards are. */
  private static Set<String> mayBeCut(List<TablePrediction> tables) {
    Set<String> names = tables.stream().map(t -> t.table().name()).collect(Collectors.toSet());
    return TableGroup.of(tables).stream()
        .filter(group -> !group.isShared())
        .map(group -> group.tables().get(0))
        .filter(table -> !table.byUse().isEmpty())
        .map(table -> table.table().name())
        .filter(name -> !names.contains(HotRows.name(name)))
        .collect(Collectors.toSet());
  }

  /** Returns whether no table is cut. */
  boolean isEmpty() {
    return hotRows.isEmpty();
  }

  /** Returns the problem that is searched. */
  SearchProblem problem() {
    PlanShards start = problem.start();
    return new SearchProblem(
        HotColdPrediction.separate(problem.tables(), hotRows),
        problem.cluster(),
        problem.model(),
        new PlanShards(HotRows.separate(start.shards()), start.devices(), start.groups()),
        problem.synchronization(),
        problem.slowdowns(),
        problem.codecs());
  }

  /** Returns the plan of all tables. */
  SearchResult join(SearchResult result) {
    if (isEmpty() || !(result instanceof SearchResult.Found found)) {
      return result;
    }
    List<Shard> joined = HotRows.join(found.shards(), hotRows);
    Map<String, List<Shard>> byTable = joined.stream().collect(Collectors.groupingBy(Shard::table));
    List<Shard> shards =
        problem.tables().stream().flatMap(t -> byTable.get(t.table().name()).stream()).toList();
    return new SearchResult.Found(
        shards,
        found.deviceCosts(),
        found.replication(),
        found.codecs(),
        found.predictedMs(),
        found
            .insight()
            .map(
                insight ->
                    join(
                        insight,
                        byTable,
                        shards,
                        new StepComm(problem.cluster(), found.codecs()),
                        found.predictedMs() - found.replication().msPerStep())),
        found.evaluations());
  }

  private Insight join(
      Insight insight,
      Map<String, List<Shard>> byTable,
      List<Shard> shards,
      StepComm wire,
      double predictedMs) {
    Map<String, String> tables = new HashMap<>();
    hotRows.keySet().forEach(table -> tables.put(HotRows.name(table), table));
    Bottleneck found = insight.bottleneck();
    Stream<Explanation> others =
        insight.explanations().stream().filter(e -> !tables.containsKey(e.table()));
    return new Insight(
        LocalSearch.lowerBoundMs(problem),
        insight.uncertaintyMs(),
        new Bottleneck(
            found.device(),
            found.cause(),
            tables.getOrDefault(found.table(), found.table()),
            found.gainMs()),
        Stream.concat(others, explanations(byTable, shards, wire, predictedMs))
            .sorted(Explanation.ORDER)
            .limit(Insight.MAX_EXPLANATIONS)
            .toList());
  }

  /** Explains copies of the hot rows that were not there: predicts the step without them. */
  private Stream<Explanation> explanations(
      Map<String, List<Shard>> byTable, List<Shard> shards, StepComm wire, double predictedMs) {
    Map<String, Long> before = HotRows.byTable(problem.start().shards());
    return problem.tables().stream()
        .map(TablePrediction::table)
        .filter(table -> hotRows.containsKey(table.name()))
        .filter(table -> !hotRows.get(table.name()).equals(before.get(table.name())))
        .sorted(
            Comparator.comparingDouble(
                table -> -table.columns() * table.outputs(problem.cluster().batchSize(), 1)))
        .limit(MAX_TABLES)
        .map(
            table -> {
              double ms = uncutMs(table, byTable.get(table.name()), shards, wire);
              return new Explanation(
                  ExplainedAction.HOT_ROWS,
                  table.name(),
                  -1,
                  -1,
                  Cause.COMMUNICATION,
                  ms - predictedMs);
            });
  }

  private double uncutMs(TableSpec table, List<Shard> ofTable, List<Shard> shards, StepComm wire) {
    Sharding.HotColdSplit cut =
        (Sharding.HotColdSplit) Sharding.of(table, ofTable, problem.cluster());
    List<Shard> uncut = new ArrayList<>(shards);
    uncut.removeAll(ofTable);
    cut.others().shards(table, problem.cluster()).stream()
        .map(shard -> shard.withCacheShare(ofTable.get(ofTable.size() - 1).cacheShare()))
        .forEach(uncut::add);
    return StepCost.of(problem.tables(), uncut, wire, problem.model(), problem.slowdowns())
        .predictedMs();
  }
}
