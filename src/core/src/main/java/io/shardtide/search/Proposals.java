package io.shardtide.search;

import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.Tiers;
import io.shardtide.workload.ShardScope;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Draws moves at random: parts that go to another device or node, two that change places, tables
 * that are sharded otherwise, with a larger cache, or more hot rows, and collectives. Devices with
 * much to do give, those with little get.
 */
final class Proposals {
  /** Random places of which the one with the least to do is taken. */
  private static final int CANDIDATES = 3;

  /** Of so many moves of caches, one takes no cache away from a table on the same device. */
  private static final int CACHE_MOVES = 4;

  /** Sizes of caches that a move goes on by at most. */
  private static final int MOST_LEVELS = 3;

  /**
   * Of so many proposals, one shards a table in another way; with many devices fewer, because more
   * of them are evaluated.
   */
  private static final int OTHER_WAY_EVERY = 16;

  /** Of so many proposals, one gives a table a larger cache, where tables may be cached. */
  private static final int CACHE_EVERY = 4;

  /** Of so many proposals, one changes a collective, where there are several candidates. */
  private static final int COLLECTIVE_EVERY = 256;

  /** Of so many proposals, one moves a part that is split over a node, where there are several. */
  private static final int NODE_EVERY = 16;

  private final State state;
  private final Objective objective;
  private final TableWays ways;
  private final Communication communication;
  private final SeededRandom random;
  private final Places places;

  /** Places that the way has already which is being placed: those with the stamp of now. */
  private final int[] takenStamp;

  /** Bytes that a device gains, by tier; written at each look at a place. */
  private final long[] more = new long[Tiers.COUNT];

  private int stamp;
  private final int otherWayEvery;
  private final int[] choices;

  /** Whether the search begins at a running plan: the last device gives more often. */
  private final boolean isRepair;

  Proposals(
      State state,
      Objective objective,
      TableWays ways,
      Communication communication,
      SeededRandom random,
      boolean isRepair) {
    this.state = state;
    this.objective = objective;
    this.ways = ways;
    this.communication = communication;
    this.random = random;
    this.isRepair = isRepair;
    places = state.places;
    takenStamp = new int[places.count()];
    otherWayEvery = Math.max(OTHER_WAY_EVERY, state.devices / 2);
    choices =
        IntStream.range(0, StepCollectives.COUNT)
            .filter(collective -> communication.choices(collective) > 1)
            .toArray();
  }

  /** Fills in a random move; returns false if the draw gives none. */
  boolean propose(Move move) {
    move.begin();
    if (random.below(otherWayEvery) == 0) {
      return proposeOtherWay(move);
    }
    if (ways.cacheable.length > 0 && random.below(CACHE_EVERY) == 0) {
      return proposeCache(move);
    }
    if (choices.length > 0 && random.below(COLLECTIVE_EVERY) == 0) {
      return proposeCollective(move);
    }
    if (places.nodes > 1 && random.below(NODE_EVERY) == 0) {
      return proposeNode(move);
    }
    return proposeParts(move);
  }

  /** Moves a part to another device, or lets two change places. */
  private boolean proposeParts(Move move) {
    boolean isSwap = random.below(12) >= 6;
    int d = donor();
    int count = state.countAt[d];
    if (count == 0) {
      return false;
    }
    int i = random.below(count);
    int e = recipient(d);
    if (!isSwap) {
      return addFrom(move, d, i, e);
    }
    int back = state.countAt[e];
    return back > 0 && addSwap(move, d, i, e, random.below(back));
  }

  /**
   * Moves a part to a device that sends little, or lets it change places with a part there that
   * sends less.
   *
   * @param units the most that the other device may send afterwards
   */
  boolean proposeUnload(Move move, int d, int units) {
    move.begin();
    int count = state.countAt[d];
    if (count == 0) {
      return false;
    }
    int i = random.below(count);
    int own = state.way[state.tableAt[d][i]].units;
    int e = random.below(state.devices);
    for (int c = 1; c < CANDIDATES; c++) {
      int other = random.below(state.devices);
      e = state.units[other] < state.units[e] ? other : e;
    }
    if (state.units[e] + own <= units) {
      return own > 0 && addFrom(move, d, i, e);
    }
    int back = state.countAt[e];
    if (back == 0) {
      return false;
    }
    int j = random.below(back);
    int more = own - state.way[state.tableAt[e][j]].units;
    return more > 0 && state.units[e] + more <= units && addSwap(move, d, i, e, j);
  }

  /** Adds that a part of a table goes to another place; returns false if it may not. */
  private boolean add(Move move, int table, int part, int to) {
    boolean mayMove =
        !state.isAt(table, to)
            && (!state.way[table].isInOneNode
                || state.count[table] == 1
                || places.nodeOf[state.at[table][0]] == places.nodeOf[to]);
    if (mayMove) {
      move.shift(state, table, part, to);
    }
    return mayMove;
  }

  /** Adds that part {@code i} of a place goes to another one; returns false if it may not. */
  private boolean addFrom(Move move, int d, int i, int e) {
    return add(move, state.tableAt[d][i], state.partAt[d][i], e);
  }

  /** Adds that parts of two places change places; returns false if they may not. */
  private boolean addSwap(Move move, int d, int i, int e, int j) {
    return state.tableAt[d][i] != state.tableAt[e][j]
        && addFrom(move, d, i, e)
        && addFrom(move, e, j, d);
  }

  /** Moves a part that is split over a node to another node, or lets two change places. */
  private boolean proposeNode(Move move) {
    int from = places.ofNode(places.nodeOf[donor()]);
    int to = places.ofNode(random.below(places.nodes));
    int count = state.countAt[from];
    if (to == from || count == 0) {
      return false;
    }
    int i = random.below(count);
    int back = state.countAt[to];
    boolean isSwap = !state.isAt(state.tableAt[from][i], to) && back > 0 && random.below(2) == 0;
    return isSwap ? addSwap(move, from, i, to, random.below(back)) : addFrom(move, from, i, to);
  }

  /** Shards a table in another way, or moves a part of it to another device. */
  boolean proposeOf(Move move, int table) {
    move.begin();
    if (random.below(2) == 0) {
      return proposeWay(move, table);
    }
    int i = random.below(state.count[table]);
    int d = state.at[table][i];
    return d < state.devices && add(move, table, i, recipient(d));
  }

  /** Shards a table in another way: any one, or one of a highly loaded device. */
  private boolean proposeOtherWay(Move move) {
    int d = donor();
    int count = state.countAt[d];
    int table =
        count == 0 || random.below(2) == 0
            ? random.below(state.tables())
            : state.tableAt[d][random.below(count)];
    return proposeWay(move, table);
  }

  /**
   * Fills a move that shards a table in a random other way, at places with room for it that have
   * little to do.
   *
   * @return whether the table has another way, and there is room for it
   */
  boolean proposeWay(Move move, int table) {
    move.begin();
    Way[] of = ways.of(table);
    if (of.length < 2) {
      return false;
    }
    Way way = of[random.below(of.length)];
    return way != state.way[table] && place(move, table, way);
  }

  /** Fills a move that shards a table in a way; returns whether there is room for it. */
  boolean proposeWay(Move move, int table, Way way) {
    move.begin();
    return place(move, table, way);
  }

  /** Returns the way of a scope with the least work; null if the table has none. */
  Way cheapest(int table, ShardScope scope) {
    return Arrays.stream(ways.of(table)).filter(way -> way.scope == scope).findFirst().orElse(null);
  }

  /** Adds that a table gets a way, with parts where parts are already as far as possible. */
  private boolean place(Move move, int table, Way way) {
    int[] at = move.add(table, way);
    stamp++;
    int nodeOfFirst = -1;
    for (int i = 0; i < way.parts; i++) {
      int place = place(table, way, i, nodeOfFirst);
      if (place < 0) {
        return false;
      }
      takenStamp[place] = stamp;
      if (i == 0 && way.scope == ShardScope.DEVICE) {
        nodeOfFirst = places.nodeOf[place];
      }
      at[i] = place;
    }
    return true;
  }

  private int place(int table, Way way, int part, int nodeOfFirst) {
    if (way.scope == ShardScope.CLUSTER || way.scope == ShardScope.COPIES) {
      int all = places.firstOf(way.scope);
      return hasRoom(table, all, way) ? all : -1;
    }
    boolean isInNode = way.isInOneNode && part > 0;
    if (part < state.count[table]) {
      int now = state.at[table][part];
      if (places.scope[now] == way.scope
          && (!isInNode || places.nodeOf[now] == nodeOfFirst)
          && takenStamp[now] != stamp
          && hasRoom(table, now, way)) {
        return now;
      }
    }
    int first = places.firstOf(way.scope);
    int count = places.countOf(way.scope);
    if (isInNode) {
      int node = places.ofNode(nodeOfFirst);
      first = places.first[node];
      count = places.size(node);
    }
    int best = -1;
    for (int c = 0; c < CANDIDATES; c++) {
      int place = first + random.below(count);
      if (takenStamp[place] != stamp
          && (best < 0 || startMs(place) < startMs(best))
          && hasRoom(table, place, way)) {
        best = place;
      }
    }
    int offset = random.below(count);
    for (int i = 0; i < count && best < 0; i++) {
      int place = first + (offset + i) % count;
      best = takenStamp[place] != stamp && hasRoom(table, place, way) ? place : -1;
    }
    return best;
  }

  /** Returns when the last device of a place is ready for the forward communication. */
  private double startMs(int place) {
    double last = 0;
    for (int d = places.first[place]; d < places.end[place]; d++) {
      last = Math.max(last, objective.startMs[d]);
    }
    return last;
  }

  /** Returns whether a place has room, once the table has left it. */
  private boolean hasRoom(int table, int place, Way way) {
    Way before = state.way[table];
    for (int d = places.first[place]; d < places.end[place]; d++) {
      System.arraycopy(way.memory, 0, more, 0, Tiers.COUNT);
      if (before != null && before.onAll != null) {
        Tiers.add(more, before.onAll.load.memory(), -1);
      }
      for (int i = 0; i < state.count[table]; i++) {
        if (places.covers(state.at[table][i], d)) {
          Tiers.add(more, before.load.memory(), -1);
        }
      }
      if (!state.hasRoom(d, more)) {
        return false;
      }
    }
    return true;
  }

  /**
   * Gives a random table a larger cache, and mostly takes cache away from another one on one of its
   * devices: what a byte of cache saves becomes equal everywhere.
   */
  private boolean proposeCache(Move move) {
    int grown = ways.cacheable[random.below(ways.cacheable.length)];
    int at = state.at[grown][random.below(state.count[grown])];
    int device = places.first[at] + random.below(places.size(at));
    int others = state.countAt[device];
    int shrunk = grown;
    if (others > 0 && random.below(CACHE_MOVES) > 0) {
      shrunk = state.tableAt[device][random.below(others)];
    } else if (random.below(2) == 0) {
      shrunk = ways.cacheable[random.below(ways.cacheable.length)];
    }
    return (shrunk == grown || addCache(move, shrunk, false)) && addCache(move, grown, true);
  }

  /** Adds that all parts of a table get a larger or a smaller cache. */
  private boolean addCache(Move move, int table, boolean more) {
    Way before = state.way[table];
    Way after = before;
    for (int level = 1 + random.below(MOST_LEVELS); level > 0; level--) {
      Way next = more ? after.moreCache : after.lessCache;
      after = next == null ? after : next;
    }
    if (after == before) {
      return false;
    }
    move.change(state, table, after);
    return true;
  }

  private boolean proposeCollective(Move move) {
    int collective = choices[random.below(choices.length)];
    int candidate = random.below(communication.choices(collective));
    move.begin(collective, candidate);
    return candidate != state.collectives.chosen[collective];
  }

  /** Returns a device to take load from: often the last one, or the later of two. */
  int donor() {
    int which = random.below(isRepair ? 3 : 8);
    if (which == 0) {
      return objective.lastDevice();
    }
    if (which == 1) {
      return objective.largestSender();
    }
    int a = random.below(state.devices);
    if (which < 4) {
      return a;
    }
    int b = random.below(state.devices);
    return objective.startMs[a] >= objective.startMs[b] ? a : b;
  }

  /** Returns a device to give load to: the earlier of two. */
  private int recipient(int not) {
    int a = random.below(state.devices);
    int b = random.below(state.devices);
    if (a == not) {
      return b;
    }
    return b == not || objective.startMs[a] <= objective.startMs[b] ? a : b;
  }
}
