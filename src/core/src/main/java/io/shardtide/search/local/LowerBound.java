package io.shardtide.search.local;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.BufferCollective;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.HotColdPrediction;
import io.shardtide.cost.PartTower;
import io.shardtide.cost.StepComm;
import io.shardtide.cost.TablePart;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Direction;
import io.shardtide.domain.ShardScope;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.TableGroup;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.Stream;

/**
 * A lower bound of the predicted cost of every plan.
 *
 * <p>A step takes at least the mean of the devices' computation and collectives. Computation: the
 * head scales each latency component by no less than {@link CostEvaluator#leastFactors}, and
 * dynamic programming finds the cheapest of all ways to cut each table by columns.
 *
 * <p>Tables that cannot be split have a mean all-to-all load M, rounded up. Some device has at
 * least that, so that its forward all-to-all takes {@code forward(M, M)} or longer; the backward
 * one is no less than a straight line below it, at the mean.
 *
 * <p>Each other table adds the least of all its ways: computation, and load times the least
 * milliseconds a unit that the way's collective takes at any load. So the bound is a sum over
 * tables. All-to-alls take longer with a larger load, and other collectives between two loads a
 * tenth apart no less than a tenth fewer milliseconds a byte than at one of the two (the terms of
 * {@link io.shardtide.cost.CollectiveInputs} grow with it; tests check both with the net's
 * correction). Where codecs may be chosen, each collective takes the least that it does with any.
 */
final class LowerBound {
  /** Ratio of a load to the next one: a closer grid raises the bound by a tenth at most. */
  private static final double GRID = 1.1;

  /** Prices of a byte below and above all that matter. */
  private static final double LEAST_MS_PER_BYTE = 1e-16;

  private static final double MOST_MS_PER_BYTE = 1e-6;

  private final List<TablePrediction> tables;
  private final ClusterSpec cluster;
  private final CostEvaluator evaluator;
  private final List<StepComm> wires;
  private final List<AllToAllCosts> forwards;
  private final List<AllToAllCosts> backwards;
  private final double elementsPerUnit;
  private final double[] factors;

  private LowerBound(
      List<TablePrediction> tables,
      ClusterSpec cluster,
      CostEvaluator evaluator,
      double elementsPerUnit) {
    this.tables = tables;
    this.cluster = cluster;
    this.evaluator = evaluator;
    this.elementsPerUnit = elementsPerUnit;
    wires = StepComm.extremes(cluster);
    forwards = allToAlls(Direction.FORWARD);
    backwards = allToAlls(Direction.BACKWARD);
    factors = evaluator.leastFactors();
  }

  private List<AllToAllCosts> allToAlls(Direction direction) {
    return wires.stream()
        .map(
            wire ->
                new AllToAllCosts(evaluator, wire, ShardScope.DEVICE, direction, elementsPerUnit))
        .toList();
  }

  /** Returns the bound of a problem. */
  static double of(SearchProblem problem) {
    CostEvaluator evaluator = problem.model().evaluator();
    LoadUnits units = LoadUnits.of(TableGroup.of(problem.tables()), problem.cluster());
    return new LowerBound(problem.tables(), problem.cluster(), evaluator, units.elementsPerUnit())
            .ms()
        + synchronizationMs(problem, evaluator);
  }

  /** Returns what synchronization adds to a step at least: no table has fewer bytes than uncut. */
  private static double synchronizationMs(SearchProblem problem, CostEvaluator evaluator) {
    double bytes = problem.tables().stream().mapToDouble(t -> t.table().bytes()).sum();
    return problem.synchronization().ms(evaluator, bytes / problem.cluster().devices())
        / problem.synchronization().steps();
  }

  private double ms() {
    double sumMs = 0;
    int always = 0;
    int units = 0;
    for (TablePrediction table : tables) {
      units += units(table);
      if (table.parts().isEmpty()) {
        always += units(table);
        sumMs += leastMs(table);
      }
    }
    double ms = addAllToAlls(sumMs / cluster.devices(), always);
    if (always == units) {
      return ms;
    }
    double perUnit = allToAllMsPerUnit(always, units);
    return ms + waysMs(ways(perUnit));
  }

  /**
   * The least that a way to shard a table costs.
   *
   * @param ms the least that it adds to a step
   * @param bytes the least that it takes of all devices' memory
   */
  private record LeastCost(double ms, double bytes) {}

  /** Returns the ways of each table that has several. */
  private List<List<LeastCost>> ways(double perUnit) {
    Map<ShardScope, Double> msPerElement = msPerElement();
    List<List<LeastCost>> ways = new ArrayList<>();
    for (TablePrediction table : tables) {
      if (!table.parts().isEmpty()) {
        List<LeastCost> ofTable = new ArrayList<>(ways(table, perUnit, msPerElement));
        for (HotColdPrediction use : table.byUse()) {
          // Copies have one way.
          LeastCost copies = ofPart(use.hot(), use.hot().parts().get(0), perUnit, msPerElement);
          for (LeastCost way : ways(use.others(), perUnit, msPerElement)) {
            ofTable.add(new LeastCost(way.ms() + copies.ms(), way.bytes() + copies.bytes()));
          }
        }
        ways.add(ofTable);
      }
    }
    return ways;
  }

  private List<LeastCost> ways(
      TablePrediction table, double perUnit, Map<ShardScope, Double> msPerElement) {
    List<LeastCost> ways = new ArrayList<>();
    ways.add(
        new LeastCost(
            leastMs(table) / cluster.devices() + units(table) * perUnit,
            (double) table.table().bytes()));
    for (PartTower of : table.parts()) {
      ways.add(ofPart(table, of, perUnit, msPerElement));
    }
    return ways;
  }

  private LeastCost ofPart(
      TablePrediction table, PartTower of, double perUnit, Map<ShardScope, Double> msPerElement) {
    TablePart part = of.part();
    double collectiveMs =
        part.collectives(table.table()) == ShardScope.DEVICE
            ? units(table) * perUnit
            : parts(table, part) * elements(table, part) * msPerElement.get(part.scope());
    return new LeastCost(computeMs(table, of) + collectiveMs, bytes(table, part));
  }

  private double bytes(TablePrediction table, TablePart part) {
    double copies = part.scope() == ShardScope.COPIES ? cluster.devices() : 1;
    return copies * part.cacheShare().orElse(1) * table.table().bytes();
  }

  /**
   * Returns the least that all tables add, as they have to fit: the largest sum over prices of a
   * byte of {@code min(ms + price x bytes)} of each table, less the price of all memory. Whatever
   * the price, no plan that fits is below it (Lagrangian duality).
   */
  private double waysMs(List<List<LeastCost>> ways) {
    double memory = cluster.usableBytes();
    for (TablePrediction table : tables) {
      memory -= table.parts().isEmpty() ? table.table().bytes() : 0;
    }
    double best = waysMs(ways, 0, memory);
    for (double price = LEAST_MS_PER_BYTE; price < MOST_MS_PER_BYTE; price *= GRID) {
      double ms = waysMs(ways, price, memory);
      if (ms < best) {
        // Concave in the price: it falls from here, from the start where all tables fit.
        break;
      }
      best = ms;
    }
    return best;
  }

  private static double waysMs(List<List<LeastCost>> ways, double msPerByte, double memory) {
    double ms = -msPerByte * memory;
    for (List<LeastCost> ofTable : ways) {
      double least = Double.POSITIVE_INFINITY;
      for (LeastCost way : ofTable) {
        least = Math.min(least, way.ms() + msPerByte * way.bytes());
      }
      ms += least;
    }
    return ms;
  }

  /** Adds the least of both all-to-alls of a load of all devices together. */
  private double addAllToAlls(double ms, int total) {
    if (cluster.devices() == 1 || total == 0) {
      return ms;
    }
    int max = max(total);
    return ms + forwardMs(max, total) + lineBelowBackward(max, total);
  }

  private int max(int total) {
    return (int) Math.ceil((double) total / cluster.devices());
  }

  /**
   * Returns the least milliseconds that a unit adds to all-to-alls.
   *
   * @param always load that there is anyway
   * @param most load if no table is split
   */
  private double allToAllMsPerUnit(int always, int most) {
    double alwaysMs = addAllToAlls(0, always);
    double least = Double.POSITIVE_INFINITY;
    for (int more = 1; more <= most - always; ) {
      int next = Math.max(more + 1, (int) (more * GRID));
      int total = always + more;
      int max = max(total);
      double ms = forwardMs(max, total) + backwardMs(0, max, total);
      least = Math.min(least, (ms - alwaysMs) / (Math.min(next, most - always + 1) - 1));
      more = next;
    }
    return Math.max(0, least);
  }

  /** Returns the least milliseconds a step that an element of split parts takes. */
  private Map<ShardScope, Double> msPerElement() {
    Map<ShardScope, Double> ms = new EnumMap<>(ShardScope.class);
    DeviceGroup all = DeviceGroup.of(cluster);
    int perNode = ShardScope.NODE.devices(cluster);
    ms.put(
        ShardScope.CLUSTER,
        msPerElement(ShardScope.CLUSTER, e -> rowsMs(ShardScope.CLUSTER, e, all)));
    ms.put(
        ShardScope.NODE,
        msPerElement(
                ShardScope.NODE, e -> rowsMs(ShardScope.NODE, e, new DeviceGroup(perNode, perNode)))
            / cluster.nodes());
    ms.put(
        ShardScope.COPIES,
        msPerElement(
            ShardScope.COPIES, e -> evaluator.bufferMs(BufferCollective.ofCopies(e), all)));
    return ms;
  }

  private double rowsMs(ShardScope scope, double elements, DeviceGroup group) {
    return rowsMs(scope, Direction.FORWARD, elements, group)
        + rowsMs(scope, Direction.BACKWARD, elements, group);
  }

  private double rowsMs(ShardScope scope, Direction direction, double elements, DeviceGroup group) {
    double least = Double.POSITIVE_INFINITY;
    for (StepComm wire : wires) {
      least = Math.min(least, wire.rowsMs(evaluator, scope, direction, group, elements));
    }
    return least;
  }

  /** Returns the forward all-to-all of the largest load with any codec. */
  private double forwardMs(int max, int total) {
    double least = Double.POSITIVE_INFINITY;
    for (AllToAllCosts allToAll : forwards) {
      least = Math.min(least, allToAll.ms(max, max, total, AllToAllLoad.LEVELS));
    }
    return least;
  }

  /** Returns the backward all-to-all of a load with any codec. */
  private double backwardMs(int units, int max, int total) {
    double least = Double.POSITIVE_INFINITY;
    for (AllToAllCosts allToAll : backwards) {
      least = Math.min(least, allToAll.ms(units, max, total, AllToAllLoad.LEVELS));
    }
    return least;
  }

  private double msPerElement(ShardScope scope, DoubleUnaryOperator ms) {
    double fewest = Double.POSITIVE_INFINITY;
    double sum = 0;
    for (TablePrediction table : withHotRows()) {
      for (PartTower of : table.parts()) {
        if (of.part().collectives(table.table()) == scope) {
          double elements = elements(table, of.part());
          fewest = Math.min(fewest, elements);
          // Ways of one table are counted several times: more than there are is no less right.
          sum += elements * parts(table, of.part());
        }
      }
    }
    double least = Double.POSITIVE_INFINITY;
    // The first load above the sum, too: a load is between two of these.
    for (double elements = fewest; elements <= sum * GRID; elements *= GRID) {
      least = Math.min(least, ms.applyAsDouble(elements) / elements);
    }
    return least / GRID;
  }

  /** Returns the tables, and those that are there in place of one that is cut by use. */
  private List<TablePrediction> withHotRows() {
    return tables.stream()
        .flatMap(
            table ->
                Stream.concat(
                    Stream.of(table), table.byUse().stream().flatMap(use -> use.both().stream())))
        .toList();
  }

  /** Returns the all-to-all load of a table that is not split, rounded down. */
  private int units(TablePrediction table) {
    double elements = table.table().outputs(cluster.batchSize(), 1) * table.table().columns();
    return (int) (elements / elementsPerUnit);
  }

  /** Returns the load that a part adds to the collectives of its scope. */
  private double elements(TablePrediction table, TablePart part) {
    double perColumn =
        part.scope() == ShardScope.COPIES ? table.table().rows() : cluster.batchSize();
    return perColumn * part.columns();
  }

  private static int parts(TablePrediction table, TablePart part) {
    return part.count(table.table().columns());
  }

  /** Returns the least computation that a table adds which is sharded in one way. */
  private double computeMs(TablePrediction table, PartTower of) {
    int shards = parts(table, of.part()) * of.part().scope().devices(cluster);
    return ms(of.tower()) * shards / cluster.devices();
  }

  /** Returns the least that a table adds to all devices' computation, however it is cut. */
  private double leastMs(TablePrediction table) {
    int units = table.towers().size();
    double[] least = new double[units + 1];
    for (int u = 1; u <= units; u++) {
      float[] tower = table.towers().get(u - 1);
      least[u] = ms(tower);
      for (int part = 1; part <= u / 2; part++) {
        least[u] = Math.min(least[u], least[part] + least[u - part]);
      }
    }
    return least[units];
  }

  private double ms(float[] tower) {
    double ms = 0;
    for (int k = 0; k < factors.length; k++) {
      ms += factors[k] * tower[k];
    }
    return ms;
  }

  /**
   * Returns the value at the mean of the highest line below the backward all-to-all that is as
   * steep as from a device without load to one with the largest.
   */
  private double lineBelowBackward(int max, int total) {
    double slope = (backwardMs(max, max, total) - backwardMs(0, max, total)) / max;
    double least = Double.POSITIVE_INFINITY;
    for (int units = 0; units <= max; units++) {
      least = Math.min(least, backwardMs(units, max, total) - slope * units);
    }
    return least + slope * total / cluster.devices();
  }
}
