package io.shardtide.search;

import io.shardtide.option.Option;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Transfer;
import io.shardtide.search.problem.TableGroup;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.Map;

/**
 * The price of moving shards away from the running plan, in milliseconds a step, without that of
 * the reshard that moves them: for each table a fixed price for each shard that moves, and one for
 * its bytes. A table of the same kind, with as many parts, moves those whose places did not hold
 * one; of any other, everything moves that its new devices do not hold.
 *
 * <p>Ranks move shards: as long as they keep their positions, each replica group moves what the
 * others move. Otherwise each rank is counted by itself.
 */
final class MovePrice {
  private final List<RunningTable> running;
  private final List<TableGroup> tables;
  private final ClusterSpec cluster;
  private final SearchSettings settings;
  private final double msPerMove;
  private final ReplicaGroups groups;

  /** The price of each table as it was applied last. */
  final double[] ofTable;

  /** The price of all moves, in milliseconds a step. */
  double ms;

  /**
   * @param running the running plan
   * @param tables the tables
   * @param cluster the devices
   * @param settings what moves cost
   * @param groups the replica groups
   */
  MovePrice(
      List<RunningTable> running,
      List<TableGroup> tables,
      ClusterSpec cluster,
      SearchSettings settings,
      ReplicaGroups groups) {
    this.groups = groups;
    this.running = running;
    this.tables = tables;
    this.cluster = cluster;
    this.settings = settings;
    msPerMove = settings.moveOverheadMsPerStep();
    ofTable = new double[tables.size()];
  }

  /** Recomputes the price from a state. */
  void refresh(State state) {
    ms = 0;
    for (int t = 0; t < ofTable.length; t++) {
      if (running.get(t).ran()) {
        ofTable[t] = price(state.places, t, state.way[t], state.at[t], state.count[t]);
        ms += ofTable[t];
      }
    }
  }

  /** Returns by how much a move raises the price. */
  double change(State state, Move move) {
    double more = 0;
    for (int c = 0; c < move.tables; c++) {
      int table = move.table[c];
      if (running.get(table).ran()) {
        more += price(state.places, move, c) - ofTable[table];
      }
    }
    return more;
  }

  /** Updates the price for a move that is about to be applied. */
  void apply(State state, Move move) {
    for (int c = 0; c < move.tables; c++) {
      int table = move.table[c];
      if (running.get(table).ran()) {
        double after = price(state.places, move, c);
        ms += after - ofTable[table];
        ofTable[table] = after;
      }
    }
  }

  private double price(Places places, Move move, int c) {
    return price(places, move.table[c], move.way[c], move.places[c], move.parts(c));
  }

  private double price(Places places, int table, Way way, int[] at, int count) {
    if (count == 0) {
      return 0;
    }
    if (!groups.keepPositions(running.get(table).shards().devices(), cluster.devices())) {
      return priceOfLayout(places, table, way, at, groups);
    }
    boolean areComparable =
        (way.scope == ShardScope.DEVICE || way.scope == ShardScope.NODE)
            && hasSameRowsOnAll(table, way.option)
            && count == way.parts
            && running.get(table).isCutInto(tables.get(table), way.part);
    double ofOneGroup =
        areComparable
            ? priceOfPlaces(places, table, way, at)
            : priceOfLayout(places, table, way, at, ReplicaGroups.ONE);
    return groups.count() * ofOneGroup;
  }

  /** Returns whether all devices have already what all have beside the parts. */
  private boolean hasSameRowsOnAll(int table, Option option) {
    return running.get(table).firstRow() == option.firstRow()
        && (option.hasAllRows() || cluster.devices() <= running.get(table).shards().devices());
  }

  /** Counts what each place holds in addition: exact where the parts are cut as before. */
  private double priceOfPlaces(Places places, int table, Way way, int[] at) {
    double sum = 0;
    for (int i = 0; i < way.parts; i++) {
      int more = way.part.columns() - running.get(table).columns(at[i]);
      if (more > 0) {
        sum +=
            msPerMove * places.size(at[i]) * tables.get(table).tables().size()
                + settings.moveMs((double) tables.get(table).bytes(way.option.firstRow(), more));
      }
    }
    return sum;
  }

  /** Returns the price of what moves between the ranks of some of the groups. */
  private double priceOfLayout(Places places, int table, Way way, int[] at, ReplicaGroups counted) {
    double sum = 0;
    PlanShards plan = running.get(table).shards();
    PlanShards before = new PlanShards(plan.shards(), plan.devices(), counted);
    for (Map.Entry<TableSpec, List<Shard>> of :
        ShardLayout.shards(tables.get(table), way, at, places, running.get(table).parts())
            .entrySet()) {
      TableSpec spec = of.getKey();
      PlanShards next = new PlanShards(of.getValue(), cluster.devices(), counted);
      List<Overlap> overlaps = Overlap.between(before, next);
      for (Transfer move : Overlap.moves(overlaps, Map.of(spec.name(), spec), next)) {
        sum += settings.moveMs(move);
      }
    }
    return sum;
  }
}
