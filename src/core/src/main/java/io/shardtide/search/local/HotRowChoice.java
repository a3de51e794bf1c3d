package io.shardtide.search.local;

import io.shardtide.cost.BufferCollective;
import io.shardtide.cost.CommunicationCost;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.HotColdPrediction;
import io.shardtide.cost.PartTower;
import io.shardtide.cost.StepComm;
import io.shardtide.cost.TablePart;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.SearchProblem;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Chooses how many hot rows each table has, before it is known where its other rows are: the
 * predicted step of devices that are equally loaded is least.
 *
 * <p>Of an unpooled table, an all-to-all carries its lookups times its columns, wherever its rows
 * are. So an option to cut it is what it adds to the computation of a device, to the all-to-all and
 * to the all-reduce of copies. Tables are chosen in turn, the others unchanged, until no one
 * changes.
 */
final class HotRowChoice {
  /** Rounds over all tables at most; four are enough for the tasks at hand. */
  private static final int MAX_ROUNDS = 8;

  private final ClusterSpec cluster;
  private final StepComm wire;
  private final CostEvaluator evaluator;

  /** What all tables together add to each device. */
  private final double[] towerSum;

  private double elements;
  private double copyElements;

  /**
   * An option to cut a table by use.
   *
   * @param hotRows its hot rows, 0 if it is not cut
   * @param tower what it adds to the tower sum of each device
   * @param elements numbers that a device contributes to the all-to-all
   * @param copyElements numbers of its copies
   */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  private record HotColdOption(
      long hotRows, double[] tower, double elements, double copyElements) {}

  private HotRowChoice(SearchProblem problem) {
    cluster = problem.cluster();
    wire = problem.wire();
    evaluator = problem.model().evaluator();
    towerSum = new double[evaluator.sumSize()];
  }

  /**
   * Returns the hot rows of tables that are cut, by name.
   *
   * @param names tables that may be cut; all others are not
   */
  static Map<String, Long> of(SearchProblem problem, Set<String> names) {
    return new HotRowChoice(problem).choose(problem.tables(), names);
  }

  private Map<String, Long> choose(List<TablePrediction> tables, Set<String> names) {
    List<String> free = new ArrayList<>();
    List<List<HotColdOption>> options = new ArrayList<>();
    List<HotColdOption> chosen = new ArrayList<>();
    for (TablePrediction table : tables) {
      List<HotColdOption> ofTable = new ArrayList<>();
      ofTable.add(option(table));
      if (names.contains(table.table().name())) {
        table.byUse().forEach(use -> ofTable.add(option(use)));
        free.add(table.table().name());
        options.add(ofTable);
        // The all-reduce is paid for once: a table that is cut alone does not gain.
        chosen.add(ofTable.get(ofTable.size() - 1));
      }
      add(ofTable.get(ofTable.size() - 1), 1);
    }
    boolean hasChanged = true;
    for (int round = 0; round < MAX_ROUNDS && hasChanged; round++) {
      hasChanged = false;
      for (int t = 0; t < free.size(); t++) {
        HotColdOption before = chosen.get(t);
        add(before, -1);
        HotColdOption best = best(options.get(t));
        add(best, 1);
        chosen.set(t, best);
        hasChanged |= best.hotRows() != before.hotRows();
      }
    }
    Map<String, Long> hotRows = new HashMap<>();
    for (int t = 0; t < free.size(); t++) {
      if (chosen.get(t).hotRows() > 0) {
        hotRows.put(free.get(t), chosen.get(t).hotRows());
      }
    }
    return hotRows;
  }

  private HotColdOption best(List<HotColdOption> options) {
    HotColdOption best = null;
    double bestMs = Double.POSITIVE_INFINITY;
    for (HotColdOption option : options) {
      add(option, 1);
      double ms = stepMs();
      add(option, -1);
      if (ms < bestMs) {
        best = option;
        bestMs = ms;
      }
    }
    return best;
  }

  private void add(HotColdOption option, int sign) {
    for (int k = 0; k < towerSum.length; k++) {
      towerSum[k] += sign * option.tower()[k];
    }
    elements += sign * option.elements();
    copyElements += sign * option.copyElements();
  }

  /** Returns the predicted step if all devices are equally loaded. */
  private double stepMs() {
    double[] ofDevices = new double[cluster.devices()];
    Arrays.fill(ofDevices, elements);
    CommunicationCost allToAll = evaluator.allToAll(wire, ofDevices);
    double copyMs =
        copyElements > 0
            ? evaluator.bufferMs(BufferCollective.ofCopies(copyElements), DeviceGroup.of(cluster))
            : 0;
    return evaluator.computeMs(towerSum)
        + allToAll.forwardMs()[0]
        + allToAll.backwardMs()[0]
        + copyMs;
  }

  private HotColdOption option(HotColdPrediction use) {
    HotColdOption others = option(use.others());
    TablePrediction hot = use.hot();
    double[] tower = others.tower().clone();
    double[] copy =
        evaluator.addend(
            hot.tower(new TablePart(ShardScope.COPIES, hot.table().columns())).orElseThrow(),
            true,
            hot.table().bytesPerElement());
    for (int k = 0; k < tower.length; k++) {
      tower[k] += copy[k];
    }
    return new HotColdOption(
        use.hotRows(),
        tower,
        others.elements(),
        (double) hot.table().rows() * hot.table().columns());
  }

  /** A table on one device, or on all of them by rows, whichever is less work. */
  private HotColdOption option(TablePrediction table) {
    int columns = table.table().columns();
    double[] tower = share(table.table(), table.tower(columns), 1.0 / cluster.devices());
    for (PartTower of : table.parts()) {
      if (of.part().scope() == ShardScope.CLUSTER && of.part().cacheShare().isEmpty()) {
        double[] byRows = share(table.table(), of.tower(), 1);
        if (evaluator.computeMs(byRows) < evaluator.computeMs(tower)) {
          tower = byRows;
        }
      }
    }
    double outputs = table.table().outputs(cluster.batchSize(), 1);
    return new HotColdOption(0, tower, outputs * columns / cluster.devices(), 0);
  }

  private double[] share(TableSpec table, float[] tower, double share) {
    double[] shared = evaluator.addend(tower, false, table.bytesPerElement());
    for (int k = 0; k < shared.length; k++) {
      shared[k] *= share;
    }
    return shared;
  }
}
