package io.shardtide.search.local;

import io.shardtide.cost.ShapeLoad;
import io.shardtide.domain.ShardScope;
import io.shardtide.search.ShapeCosts;
import java.util.Arrays;
import java.util.List;

/** Moves that shard a table in another way, at places with room for it that have little to do. */
final class OptionMoves {
  /** Random places of which the one with the least to do is taken. */
  private static final int CANDIDATES = 3;

  /** Of so many moves of caches, one takes no cache away from a table on the same device. */
  private static final int CACHE_MOVES = 4;

  /** Sizes of caches that a move goes on by at most. */
  private static final int MOST_LEVELS = 3;

  private final TableOptions options;
  private final Assignment assignment;
  private final Objective objective;
  private final SeededRandom random;
  private final boolean[] taken;

  /** The node of the first part of the way that is proposed, if its parts are on devices. */
  private int nodeOfFirst;

  OptionMoves(
      TableOptions options, Assignment assignment, Objective objective, SeededRandom random) {
    this.options = options;
    this.assignment = assignment;
    this.objective = objective;
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

  /**
   * Fills a move that gives a random table a larger cache, and mostly takes cache away from another
   * one on one of its devices: what a byte of cache saves becomes equal everywhere.
   *
   * @return whether there are such tables, and room for the caches
   */
  boolean proposeCache(SearchMove move) {
    int[] cacheable = options.cacheable();
    int grown = cacheable[random.below(cacheable.length)];
    int at = assignment.place(grown, random.below(assignment.shardsOfTable(grown)));
    int device = assignment.places().first(at) + random.below(assignment.places().size(at));
    int others = assignment.shardsOfPlace(device);
    int shrunk = grown;
    if (others > 0 && random.below(CACHE_MOVES) > 0) {
      shrunk = assignment.table(device, random.below(others));
    } else if (random.below(2) == 0) {
      shrunk = cacheable[random.below(cacheable.length)];
    }
    beginAt(move, grown, shrunk);
    if (shrunk != grown && !addCache(move, shrunk, false, 1 + random.below(MOST_LEVELS))) {
      return false;
    }
    return addCache(move, grown, true, 1 + random.below(MOST_LEVELS)) && move.fits(assignment);
  }

  /** Begins a local move if the tables have a part each, on single devices. */
  private void beginAt(SearchMove move, int table, int other) {
    int place = assignment.place(table, 0);
    int otherPlace = assignment.place(other, 0);
    boolean isLocal =
        assignment.shardsOfTable(table) == 1
            && assignment.shardsOfTable(other) == 1
            && place < assignment.devices()
            && otherPlace < assignment.devices();
    if (isLocal) {
      move.begin(otherPlace, place);
    } else {
      move.begin();
    }
  }

  /** Adds that all parts of a table get a larger or a smaller cache, by so many levels at most. */
  private boolean addCache(SearchMove move, int table, boolean more, int levels) {
    ShapeCosts costs = assignment.costs();
    for (int i = 0; i < assignment.shardsOfTable(table); i++) {
      int before = assignment.shapeOfTable(table, i);
      int after = before;
      for (int level = 0; level < levels; level++) {
        int next = more ? costs.withMoreCache(after) : costs.withLessCache(after);
        after = next == ShapeCosts.NONE ? after : next;
      }
      if (after == before) {
        return false;
      }
      move.replace(table, assignment.place(table, i), before, after);
    }
    return true;
  }

  private boolean isCurrent(int table, TableOptions.Option way) {
    return assignment.shardsOfTable(table) == way.shapes().length
        && assignment.places().scope(assignment.place(table, 0)) == way.scope()
        && assignment
            .costs()
            .part(assignment.shapeOfTable(table, 0))
            .cacheShare()
            .equals(way.cacheShare());
  }

  private int place(int table, TableOptions.Option way, int part) {
    Places places = assignment.places();
    ShapeLoad load = assignment.costs().load(way.shapes()[part]);
    if (way.scope() == ShardScope.CLUSTER || way.scope() == ShardScope.COPIES) {
      int all = places.ofAll(way.scope());
      return hasRoom(table, all, load) ? all : -1;
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
          && hasRoom(table, now, load)) {
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
          && hasRoom(table, place, load)
          && (best < 0 || startMs(place) < startMs(best))) {
        best = place;
      }
    }
    int offset = random.below(count);
    for (int i = 0; i < count && best < 0; i++) {
      int place = first + (offset + i) % count;
      best = !taken[place] && hasRoom(table, place, load) ? place : -1;
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
  private boolean hasRoom(int table, int place, ShapeLoad added) {
    Places places = assignment.places();
    for (int d = places.first(place); d < places.end(place); d++) {
      long more = added.bytes();
      long moreOnHost = added.hostBytes();
      for (int i = 0; i < assignment.shardsOfTable(table); i++) {
        if (places.covers(assignment.place(table, i), d)) {
          ShapeLoad own = assignment.costs().load(assignment.shapeOfTable(table, i));
          more -= own.bytes();
          moreOnHost -= own.hostBytes();
        }
      }
      if (!assignment.hasRoom(d, more, moreOnHost)) {
        return false;
      }
    }
    return true;
  }
}
