package io.shardtide.search.bound;

import io.shardtide.cost.CodecChoice;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceLoad;
import io.shardtide.cost.ShapeLoad;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.StepMemory;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.Tiers;
import io.shardtide.option.Option;
import io.shardtide.option.TablePart;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.UsableMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/**
 * Every plan of a small problem: each way to shard each table, on each set of places. Tables are
 * placed one by one, without {@code sameDevicesAs}.
 */
final class AllPlans {
  private final SearchProblem problem;
  private final ClusterSpec cluster;
  private final UsableMemory memory;
  private final long stepBytes;
  private final CostEvaluator evaluator;
  private final List<List<Placement>> ofTables = new ArrayList<>();
  private double bestMs = Double.POSITIVE_INFINITY;

  /** The loads of a table's parts, by device. */
  private record Placement(List<List<ShapeLoad>> loads) {
    Placement with(Placement other) {
      List<List<ShapeLoad>> both = new ArrayList<>();
      for (int d = 0; d < loads.size(); d++) {
        List<ShapeLoad> ofDevice = new ArrayList<>(loads.get(d));
        ofDevice.addAll(other.loads.get(d));
        both.add(ofDevice);
      }
      return new Placement(both);
    }
  }

  private AllPlans(SearchProblem problem) {
    this.problem = problem;
    cluster = problem.cluster();
    memory = cluster.usableMemory();
    stepBytes =
        StepMemory.ofDevice(
            problem.tables().stream().map(TablePrediction::table).toList(), cluster);
    evaluator = problem.model().evaluator();
    for (TablePrediction table : problem.tables()) {
      List<Placement> placements = placements(table, o -> o.hotRows() == 0);
      for (long hotRows : table.derived().byUse().keySet()) {
        Predicate<Option> isCut = o -> o.hotRows() == hotRows;
        for (Placement hot : placements(table, isCut.and(Option::isAddition))) {
          for (Placement others : placements(table, isCut.and(o -> !o.isAddition()))) {
            placements.add(hot.with(others));
          }
        }
      }
      ofTables.add(placements);
    }
  }

  /** Returns the step of the best plan in milliseconds, infinite if none fits. */
  static double bestMs(SearchProblem problem) {
    AllPlans all = new AllPlans(problem);
    all.place(0, new ArrayList<>());
    return all.bestMs;
  }

  /** Returns how many plans a problem has, those that do not fit included. */
  static double count(SearchProblem problem) {
    return new AllPlans(problem)
        .ofTables.stream().mapToDouble(List::size).reduce(1, (a, b) -> a * b);
  }

  private List<Placement> placements(TablePrediction table, Predicate<Option> isAsked) {
    List<Placement> placements = new ArrayList<>();
    table.towers().keySet().stream()
        .filter(isAsked)
        .filter(option -> table.table().columns() % option.part().columns() == 0)
        .forEach(option -> add(placements, table, option));
    return placements;
  }

  private void add(List<Placement> placements, TablePrediction table, Option option) {
    TableSpec spec = table.table(option);
    TablePart part = option.part();
    // A table cut into blocks of rows has all of them, each on a device of its own.
    int count = part.count(spec.columns());
    if (!part.isAllowed(spec) || !part.isComputedBy(spec.kernel())) {
      return;
    }
    ShapeLoad load = table.load(option, evaluator, cluster).orElseThrow();
    int places =
        switch (part.scope()) {
          case DEVICE -> cluster.devices();
          case NODE -> cluster.nodes();
          case CLUSTER, COPIES -> 1;
        };
    boolean isInNode = part.scope() == ShardScope.DEVICE && spec.constraints().keepsPartsInNode();
    for (int set = 0; set < 1 << places; set++) {
      if (Integer.bitCount(set) == count && (!isInNode || isInNode(set))) {
        List<List<ShapeLoad>> loads = new ArrayList<>();
        for (int d = 0; d < cluster.devices(); d++) {
          int place =
              switch (part.scope()) {
                case DEVICE -> d;
                case NODE -> cluster.node(d);
                case CLUSTER, COPIES -> 0;
              };
          loads.add((set >> place & 1) == 0 ? List.of() : List.of(load));
        }
        placements.add(new Placement(loads));
      }
    }
  }

  /** Returns whether all devices of a set are in one node. */
  private boolean isInNode(int set) {
    return IntStream.range(0, cluster.devices())
            .filter(d -> (set >> d & 1) != 0)
            .map(cluster::node)
            .distinct()
            .count()
        == 1;
  }

  private void place(int table, List<Placement> placed) {
    if (table == ofTables.size()) {
      evaluate(placed);
      return;
    }
    for (Placement placement : ofTables.get(table)) {
      placed.add(placement);
      place(table + 1, placed);
      placed.remove(placed.size() - 1);
    }
  }

  private void evaluate(List<Placement> placed) {
    List<DeviceLoad> loads =
        IntStream.range(0, cluster.devices())
            .mapToObj(d -> new DeviceLoad(evaluator.sumSize(), stepBytes))
            .toList();
    for (Placement placement : placed) {
      for (int d = 0; d < loads.size(); d++) {
        placement.loads().get(d).forEach(loads.get(d)::add);
      }
    }
    boolean fits =
        IntStream.range(0, loads.size())
            .allMatch(
                d ->
                    loads.get(d).bytes() <= memory.bytes(d)
                        && loads.get(d).bytes(Tiers.HOST) <= cluster.hostMemoryBytesPerDevice());
    if (fits) {
      StepCollectives collectives = CodecChoice.of(evaluator, cluster, loads, problem.slowdowns());
      double ms = StepCost.of(evaluator, collectives, loads, problem.slowdowns()).predictedMs();
      bestMs = Math.min(bestMs, ms);
    }
  }
}
