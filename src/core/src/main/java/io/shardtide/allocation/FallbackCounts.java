package io.shardtide.allocation;

import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Numbers of nodes that respect all limits, found without a search: what the solver begins with,
 * and what tells how far the limits have to give way. The fewest workloads possible change, then as
 * many more as may, toward fair shares.
 */
final class FallbackCounts {
  private final List<Demand> demands;
  private final double[] fair;
  private final double greatestLoss;
  private final int[] choice;
  private final boolean[] changes;
  private int free;

  /** How many running workloads change. */
  int adjusted;

  private FallbackCounts(List<Demand> demands, double[] fair, int nodes, double greatestLoss) {
    this.demands = demands;
    this.fair = fair;
    this.greatestLoss = greatestLoss;
    choice = new int[demands.size()];
    changes = new boolean[demands.size()];
    free = nodes;
  }

  /**
   * Finds the numbers.
   *
   * @param demands the admitted demands
   * @param fair their fair shares in nodes
   * @param nodes number of nodes; at least the least nodes of all
   * @param adjustments running workloads that may change
   * @param greatestLoss the sum of all differences from fair shares, in nodes, that is aimed at
   */
  static FallbackCounts find(
      List<Demand> demands, double[] fair, int nodes, int adjustments, double greatestLoss) {
    FallbackCounts found = new FallbackCounts(demands, fair, nodes, greatestLoss);
    found.begin();
    found.takeBack();
    found.fill();
    found.approachFair(adjustments);
    return found;
  }

  /** Returns the option of each demand. */
  int[] choice() {
    return choice.clone();
  }

  /** Returns the sum of all differences from fair shares, in nodes. */
  double loss() {
    double loss = 0;
    for (int w = 0; w < choice.length; w++) {
      loss += loss(w, choice[w]);
    }
    return loss;
  }

  /** Those that need not change keep what they have, the others get their least. */
  private void begin() {
    for (int w = 0; w < choice.length; w++) {
      Demand demand = demands.get(w);
      changes[w] = !demand.runs() || demand.mustChange();
      choice[w] = changes[w] ? 0 : demand.option(demand.held().size());
      adjusted += demand.mustChange() ? 1 : 0;
      free -= nodes(w, choice[w]);
    }
  }

  /** The fewest workloads that have enough to give fall to their least. */
  private void takeBack() {
    List<Integer> byExcess =
        IntStream.range(0, choice.length)
            .boxed()
            .sorted(Comparator.comparingInt(w -> nodes(w, 0) - nodes(w, choice[w])))
            .toList();
    for (int w : byExcess) {
      if (free >= 0) {
        return;
      }
      change(w);
      set(w, 0);
    }
  }

  /** Free nodes go, a step at a time, where most is missing to a fair share. */
  private void fill() {
    while (true) {
      int neediest = -1;
      double most = 0;
      for (int w = 0; w < choice.length; w++) {
        int next = choice[w] + 1;
        if (changes[w]
            && next < demands.get(w).options().size()
            && nodes(w, next) - nodes(w, choice[w]) <= free
            && loss(w, next) < loss(w, choice[w])
            && fair[w] - nodes(w, choice[w]) > most) {
          neediest = w;
          most = fair[w] - nodes(w, choice[w]);
        }
      }
      if (neediest < 0) {
        return;
      }
      set(neediest, choice[neediest] + 1);
    }
  }

  /** While the loss is too great, the workload changes whose change reduces it most. */
  private void approachFair(int adjustments) {
    while (loss() > greatestLoss && adjusted < adjustments) {
      int best = -1;
      int bestOption = 0;
      double most = 0;
      for (int w = 0; w < choice.length; w++) {
        for (int o = 0; !changes[w] && o < demands.get(w).options().size(); o++) {
          double less = loss(w, choice[w]) - loss(w, o);
          if (nodes(w, o) - nodes(w, choice[w]) <= free && less > most) {
            best = w;
            bestOption = o;
            most = less;
          }
        }
      }
      if (best < 0) {
        return;
      }
      change(best);
      set(best, bestOption);
      fill();
    }
  }

  private void change(int demand) {
    if (!changes[demand]) {
      changes[demand] = true;
      adjusted++;
    }
  }

  private void set(int demand, int option) {
    free += nodes(demand, choice[demand]) - nodes(demand, option);
    choice[demand] = option;
  }

  private int nodes(int demand, int option) {
    return demands.get(demand).options().get(option).nodes();
  }

  private double loss(int demand, int option) {
    return Math.abs(nodes(demand, option) - fair[demand]);
  }
}
