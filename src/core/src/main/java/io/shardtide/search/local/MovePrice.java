package io.shardtide.search.local;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Move;
import io.shardtide.domain.Overlap;
import io.shardtide.domain.PlanShards;
import io.shardtide.domain.ReplicaGroups;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.Sharding;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.ShapeCosts;
import io.shardtide.search.TableGroup;
import java.util.Arrays;
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
  private final CurrentPlan running;
  private final List<TableGroup> tables;
  private final ClusterSpec cluster;
  private final SearchSettings settings;
  private final double msPerMove;
  private final ReplicaGroups groups;

  /** The price of each table as it was applied last. */
  private final double[] ofTable;

  private double ms;

  // The parts of the table that is being priced.
  private int[] place = new int[8];
  private int[] columns = new int[8];
  private int parts;

  /**
   * @param running the running plan
   * @param tables the tables
   * @param cluster the devices
   * @param settings what moves cost
   * @param groups the replica groups
   */
  MovePrice(
      CurrentPlan running,
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

  /** Returns the price of all moves, in milliseconds a step. */
  double ms() {
    return ms;
  }

  /** Returns the price of a table's moves, in milliseconds a step. */
  double ms(int table) {
    return ofTable[table];
  }

  /** Returns a calculator of the same prices, before any assignment. */
  MovePrice copy() {
    return new MovePrice(running, tables, cluster, settings, groups);
  }

  /** Recomputes the price from the assignment. */
  void refresh(Assignment assignment) {
    ms = 0;
    for (int t = 0; t < ofTable.length; t++) {
      if (running.ran(t)) {
        collect(assignment, t);
        ofTable[t] = price(assignment.places(), t);
        ms += ofTable[t];
      }
    }
  }

  /** Returns by how much a move raises the price. */
  double change(Assignment assignment, SearchMove move) {
    double more = 0;
    for (int i = 0; i < move.edits; i++) {
      if (isFirstOfTable(move, i)) {
        more += priceAfter(assignment, move, i) - ofTable[move.table[i]];
      }
    }
    return more;
  }

  /** Updates the price for a move that is about to be applied. */
  void apply(Assignment assignment, SearchMove move) {
    for (int i = 0; i < move.edits; i++) {
      if (isFirstOfTable(move, i)) {
        int table = move.table[i];
        double after = priceAfter(assignment, move, i);
        ms += after - ofTable[table];
        ofTable[table] = after;
      }
    }
  }

  private boolean isFirstOfTable(SearchMove move, int edit) {
    return running.ran(move.table[edit]) && (edit == 0 || move.table[edit - 1] != move.table[edit]);
  }

  /** Returns the price of a table after a move, whose edits of it begin with this one. */
  private double priceAfter(Assignment assignment, SearchMove move, int first) {
    int table = move.table[first];
    collect(assignment, table);
    for (int i = first; i < move.edits && move.table[i] == table; i++) {
      if (move.before[i] != ShapeCosts.NONE) {
        remove(move.place[i], assignment.costs().columns(move.before[i]));
      }
      if (move.after[i] != ShapeCosts.NONE) {
        add(move.place[i], assignment.costs().columns(move.after[i]));
      }
    }
    return price(assignment.places(), table);
  }

  private void collect(Assignment assignment, int table) {
    parts = 0;
    for (int i = 0; i < assignment.shardsOfTable(table); i++) {
      add(assignment.place(table, i), assignment.columnsOfTable(table, i));
    }
  }

  private void add(int atPlace, int ofColumns) {
    if (parts == place.length) {
      place = Arrays.copyOf(place, 2 * parts);
      columns = Arrays.copyOf(columns, 2 * parts);
    }
    place[parts] = atPlace;
    columns[parts++] = ofColumns;
  }

  private void remove(int atPlace, int ofColumns) {
    int i = 0;
    while (place[i] != atPlace || columns[i] != ofColumns) {
      i++;
    }
    place[i] = place[--parts];
    columns[i] = columns[parts];
  }

  private double price(Places places, int table) {
    if (parts == 0) {
      return 0;
    }
    ShardScope scope = places.scope(place[0]);
    if (!groups.keepPositions(running.shards(table).devices(), cluster.devices())) {
      return priceOfLayout(places, table, groups);
    }
    boolean areComparable =
        running.scope(table) == scope
            && (scope == ShardScope.DEVICE || scope == ShardScope.NODE)
            && isCutAsBefore(table);
    double ofOneGroup =
        areComparable
            ? priceOfPlaces(places, table)
            : priceOfLayout(places, table, ReplicaGroups.ONE);
    return groups.count() * ofOneGroup;
  }

  private boolean isCutAsBefore(int table) {
    if (parts != running.partsBefore(table)) {
      return false;
    }
    for (int i = 0; i < parts; i++) {
      if (columns[i] * parts != tables.get(table).columns()) {
        return false;
      }
    }
    return true;
  }

  /** Counts what each place holds in addition: exact where the parts are cut as before. */
  private double priceOfPlaces(Places places, int table) {
    double sum = 0;
    for (int i = 0; i < parts; i++) {
      int held = columnsAt(place[i]);
      int more = isFirstAtPlace(i) ? held - running.columns(table, place[i]) : 0;
      if (more > 0) {
        sum +=
            msPerMove * places.size(place[i]) * tables.get(table).tables().size()
                + settings.moveMs((double) tables.get(table).bytes(more));
      }
    }
    return sum;
  }

  private boolean isFirstAtPlace(int part) {
    for (int i = 0; i < part; i++) {
      if (place[i] == place[part]) {
        return false;
      }
    }
    return true;
  }

  private int columnsAt(int atPlace) {
    int sum = 0;
    for (int i = 0; i < parts; i++) {
      sum += place[i] == atPlace ? columns[i] : 0;
    }
    return sum;
  }

  /** Returns the price of what moves between the ranks of some of the groups. */
  private double priceOfLayout(Places places, int table, ReplicaGroups counted) {
    double sum = 0;
    PlanShards plan = running.shards(table);
    PlanShards before = new PlanShards(plan.shards(), plan.devices(), counted);
    for (Map.Entry<TableSpec, Sharding> of :
        ShardLayout.shardings(
                tables.get(table), places, place, columns, parts, running.parts(table))
            .entrySet()) {
      TableSpec spec = of.getKey();
      PlanShards next =
          new PlanShards(of.getValue().shards(spec, cluster), cluster.devices(), counted);
      List<Overlap> overlaps = Overlap.between(before, next);
      for (Move move : Overlap.moves(overlaps, Map.of(spec.name(), spec), next)) {
        sum += settings.moveMs(move);
      }
    }
    return sum;
  }
}
