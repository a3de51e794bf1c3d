package io.shardtide.search.bound;

import io.shardtide.domain.ShardScope;
import io.shardtide.search.bound.CommunicationFloor.Line;
import java.util.Arrays;
import java.util.List;

/** The ways of all tables in arrays, table by table, and what each costs at some prices. */
final class WayList {
  private static final int DEVICE = Scopes.number(ShardScope.DEVICE);

  final TableWay[] ways;

  /** The first way after those of each table. */
  final int[] ends;

  /** Which ways a plan may have. */
  boolean[] isActive;

  /** Mean weight that a way adds to a device. */
  private final double[] weights;

  /**
   * Milliseconds that it adds to other collectives than all-to-alls, and what depends on the mean.
   */
  private final double[] otherMs;

  private final double[] fewest = new double[Scopes.COUNT];
  private final double[] most = new double[Scopes.COUNT];

  WayList(List<List<TableWay>> tables) {
    ways = tables.stream().flatMap(List::stream).toArray(TableWay[]::new);
    ends = new int[tables.size()];
    isActive = new boolean[ways.length];
    Arrays.fill(isActive, true);
    weights = new double[ways.length];
    otherMs = new double[ways.length];
    Arrays.fill(fewest, Double.POSITIVE_INFINITY);
    int end = 0;
    for (int t = 0; t < ends.length; t++) {
      end += tables.get(t).size();
      ends[t] = end;
      for (int s = 0; s < Scopes.COUNT; s++) {
        double mostOfTable = 0;
        for (TableWay way : tables.get(t)) {
          double elements = way.elements()[s];
          if (elements > 0) {
            fewest[s] = Math.min(fewest[s], elements);
          }
          mostOfTable = Math.max(mostOfTable, elements);
        }
        most[s] += mostOfTable;
      }
    }
  }

  /** Returns the fewest elements of a scope that a plan has which has any. */
  double fewest(ShardScope scope) {
    return fewest[Scopes.number(scope)];
  }

  /** Returns the most elements of a scope that a plan has. */
  double most(ShardScope scope) {
    return most[Scopes.number(scope)];
  }

  int tables() {
    return ends.length;
  }

  /** Returns the scopes of all ways, as bits. */
  int scopes() {
    int scopes = 0;
    for (int w = 0; w < ways.length; w++) {
      scopes |= isActive[w] ? ways[w].scopes() : 0;
    }
    return scopes;
  }

  /** Returns whether each table has a way. */
  boolean areAllActive() {
    int w = 0;
    for (int end : ends) {
      boolean isSome = false;
      for (; w < end; w++) {
        isSome |= isActive[w];
      }
      if (!isSome) {
        return false;
      }
    }
    return true;
  }

  /** Returns which parts the ways have. */
  boolean[] parts(int count) {
    boolean[] isThere = new boolean[count];
    for (int w = 0; w < ways.length; w++) {
      for (int i = 0; isActive[w] && i < ways[w].parts().length; i++) {
        isThere[ways[w].parts()[i]] = true;
      }
    }
    return isThere;
  }

  /**
   * Sets what ways cost.
   *
   * @param meanSlope milliseconds for each element of the mean all-to-all load
   */
  void price(ComputeFloor compute, Line[] lines, double meanSlope, int devices) {
    for (int w = 0; w < ways.length; w++) {
      if (isActive[w]) {
        TableWay way = ways[w];
        double weight = 0;
        double ms = meanSlope * way.elements()[DEVICE];
        for (int i = 0; i < way.parts().length; i++) {
          double share = way.devices()[i] / (double) devices;
          weight += share * compute.weight(way.parts()[i]);
          ms += share * compute.copyMs(way.parts()[i]);
        }
        for (int s = 0; s < Scopes.COUNT; s++) {
          ms += lines[s].msPerElement() * way.elements()[s];
        }
        weights[w] = weight;
        otherMs[w] = ms;
      }
    }
  }

  /**
   * Prices.
   *
   * @param load weight for an element of all-to-all load
   * @param other weight for a millisecond of other collectives, a position in {@link
   *     StepFloor#OTHER_PRICES}
   * @param memory weight for a byte
   */
  record Prices(double load, int other, double memory) {}

  /** Returns what a way costs. */
  double price(int w, Prices prices) {
    return weights[w]
        + prices.load() * ways[w].elements()[DEVICE]
        + StepFloor.OTHER_PRICES[prices.other()] * otherMs[w]
        + prices.memory() * ways[w].bytes();
  }

  /** Returns the least price of each table, for each set of scopes that a way needs. */
  double[] leastPrices(Prices prices) {
    double[] least = new double[ends.length * Scopes.SETS];
    Arrays.fill(least, Double.POSITIVE_INFINITY);
    int w = 0;
    for (int t = 0; t < ends.length; t++) {
      for (; w < ends[t]; w++) {
        if (isActive[w]) {
          int at = t * Scopes.SETS + ways[w].scopes();
          least[at] = Math.min(least[at], price(w, prices));
        }
      }
    }
    return least;
  }

  /** Returns the way with the least price of each table that has one. */
  int[] cheapest(Prices prices) {
    int[] cheapest = new int[ends.length];
    int w = 0;
    for (int t = 0; t < ends.length; t++) {
      double least = Double.POSITIVE_INFINITY;
      cheapest[t] = w;
      for (; w < ends[t]; w++) {
        if (isActive[w] && price(w, prices) < least) {
          least = price(w, prices);
          cheapest[t] = w;
        }
      }
    }
    return cheapest;
  }
}
