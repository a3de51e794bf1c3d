package io.shardtide.search.local;

import io.shardtide.domain.ShardScope;
import io.shardtide.search.ShapeCosts;
import java.util.Arrays;
import java.util.List;

/** Moves that shard a table in another way, at places with room for it that have little to do. */
final class OptionMoves {
  /** Random places of which the one with the least to do is taken. */
  private static final int CANDIDATES = 3;

  private final TableOptions options;
  private final Assignment assignment;
  private final Objective objective;
  private final long memoryBytes;
  private final SeededRandom random;
  private final boolean[] taken;

  /** The node of the first part of the way that is proposed, if its parts are on devices. */
  private int nodeOfFirst;

  OptionMoves(
      TableOptions options,
      Assignment assignment,
      Objective objective,
      long memoryBytes,
      SeededRandom random) {
    this.options = options;
    this.assignment = assignment;
    this.objective = objective;
    this.memoryBytes = memoryBytes;
    this.random = random;
    taken = new boolean[assignment.places().count()];
  }

  /**
   * Fills a move that shards a table in a random other way.
   *
   * @return whether the table has another way, and there is room for it
   */
  boolean propose(SearchMove move, int table) {
    List<TableOptions.Option> ways = options.of(table);
    if (ways.size() < 2) {
      return false;
    }
    TableOptions.Option way = ways.get(random.below(ways.size()));
    if (isCurrent(table, way)) {
      return false;
    }
    move.begin();
    move.removeAll(table, assignment);
    Arrays.fill(taken, false);
    for (int i = 0; i < way.shapes().length; i++) {
      int place = place(table, way, i);
      if (place < 0) {
        return false;
      }
      taken[place] = true;
      if (i == 0 && way.scope() == ShardScope.DEVICE) {
        nodeOfFirst = assignment.places().nodeOf(place);
      }
      move.replace(table, place, ShapeCosts.NONE, way.shapes()[i]);
    }
    return true;
  }

  private boolean isCurrent(int table, TableOptions.Option way) {
    return assignment.shardsOfTable(table) == way.shapes().length
        && assignment.places().scope(assignment.place(table, 0)) == way.scope();
  }

  private int place(int table, TableOptions.Option way, int part) {
    Places places = assignment.places();
    long bytes = assignment.costs().load(way.shapes()[part]).bytes();
    if (way.scope() == ShardScope.CLUSTER || way.scope() == ShardScope.COPIES) {
      int all = places.ofAll(way.scope());
      return hasRoom(table, all, bytes) ? all : -1;
    }
    // Parts stay where parts of the table are already, as far as there are enough.
    if (part < assignment.shardsOfTable(table)) {
      int now = assignment.place(table, part);
      boolean isInNode =
          !options.keepsPartsInNode(table)
              || way.scope() != ShardScope.DEVICE
              || part == 0
              || places.nodeOf(now) == nodeOfFirst;
      if (isInNode
          && places.scope(now) == way.scope()
          && !taken[now]
          && hasRoom(table, now, bytes)) {
        return now;
      }
    }
    int first = places.firstOf(way.scope());
    int count = places.countOf(way.scope());
    if (way.scope() == ShardScope.DEVICE && options.keepsPartsInNode(table) && part > 0) {
      int node = places.ofNode(nodeOfFirst);
      first = places.first(node);
      count = places.size(node);
    }
    int best = -1;
    for (int c = 0; c < CANDIDATES; c++) {
      int place = first + random.below(count);
      if (!taken[place]
          && hasRoom(table, place, bytes)
          && (best < 0 || startMs(place) < startMs(best))) {
        best = place;
      }
    }
    int offset = random.below(count);
    for (int i = 0; i < count && best < 0; i++) {
      int place = first + (offset + i) % count;
      best = !taken[place] && hasRoom(table, place, bytes) ? place : -1;
    }
    return best;
  }

  /** Returns when the last device of a place is ready for the forward communication. */
  private double startMs(int place) {
    double last = 0;
    for (int d = assignment.places().first(place); d < assignment.places().end(place); d++) {
      last = Math.max(last, objective.startMs(d));
    }
    return last;
  }

  /** Returns whether a place has room, once the table has left it. */
  private boolean hasRoom(int table, int place, long bytes) {
    Places places = assignment.places();
    for (int d = places.first(place); d < places.end(place); d++) {
      long others = assignment.bytes(d);
      for (int i = 0; i < assignment.shardsOfTable(table); i++) {
        int own = assignment.place(table, i);
        if (places.covers(own, d)) {
          others -= assignment.costs().load(assignment.shapeOfTable(table, i)).bytes();
        }
      }
      if (others + bytes > memoryBytes) {
        return false;
      }
    }
    return true;
  }
}
