package io.shardtide.search.local;

import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Says which columns of each table lie on which device. A device's columns lie side by side; of
 * those that run somewhere already, as many as possible stay.
 */
final class ShardLayout {
  private ShardLayout() {}

  /** Columns of a table for a device. */
  private record Piece(int device, int width) {}

  /** Returns the shards of an assignment, by table and column. */
  static List<Shard> of(Assignment assignment, List<TableSpec> tables, CurrentPlan running) {
    List<Shard> shards = new ArrayList<>();
    for (int t = 0; t < tables.size(); t++) {
      int offset = 0;
      for (Piece piece : order(assignment, t, running)) {
        shards.add(Shard.ofColumns(tables.get(t), offset, piece.width(), piece.device()));
        offset += piece.width();
      }
    }
    return shards;
  }

  /**
   * Devices that hold columns already keep their order; each other one is put where most columns
   * stay.
   */
  private static List<Piece> order(Assignment assignment, int table, CurrentPlan running) {
    List<Piece> pieces = new ArrayList<>();
    for (int i = 0; i < assignment.shardsOfTable(table); i++) {
      pieces.add(new Piece(assignment.device(table, i), assignment.widthOfTable(table, i)));
    }
    pieces.sort(Comparator.comparingInt(Piece::device).thenComparing(Piece::width));
    List<Shard> before = running.shards(table);
    if (before.isEmpty()) {
      return pieces;
    }
    List<Piece> order = new ArrayList<>();
    for (Shard shard : before) {
      // The widest of the device's that is left: most of the columns that run there stay in it.
      pieces.stream()
          .filter(piece -> piece.device() == shard.device())
          .reduce((narrower, wider) -> wider)
          .ifPresent(
              piece -> {
                order.add(piece);
                pieces.remove(piece);
              });
    }
    for (Piece piece : pieces) {
      int best = 0;
      int bestKept = -1;
      for (int at = 0; at <= order.size(); at++) {
        order.add(at, piece);
        int kept = kept(order, before);
        order.remove(at);
        if (kept > bestKept) {
          bestKept = kept;
          best = at;
        }
      }
      order.add(best, piece);
    }
    return order;
  }

  /** Returns how many columns are where they were. */
  private static int kept(List<Piece> order, List<Shard> before) {
    int kept = 0;
    int offset = 0;
    for (Piece piece : order) {
      int end = offset + piece.width();
      for (Shard shard : before) {
        if (shard.device() == piece.device()) {
          int from = Math.max(offset, shard.columnOffset());
          int to = Math.min(end, shard.columnOffset() + shard.columns());
          kept += Math.max(0, to - from);
        }
      }
      offset = end;
    }
    return kept;
  }
}
