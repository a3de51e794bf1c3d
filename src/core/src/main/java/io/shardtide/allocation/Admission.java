package io.shardtide.allocation;

import io.shardtide.allocation.OptionTable.Limit;
import io.shardtide.allocation.choice.ChoiceProblem;
import io.shardtide.allocation.choice.ChoiceResult;
import io.shardtide.pool.AllocationPolicy;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Which workloads have nodes at all, where the least claims exceed the pool. As many as possible of
 * the highest priority, those that run before others, then of the next priority, and so on. Which
 * ones of equal rank is decided by adjustments beyond the bound, then by weighted throughput, then
 * by ids.
 */
final class Admission {
  /** Ranks in which some workloads are refused; those of lower ranks are not chosen among. */
  private static final int MAX_CONTESTED = 8;

  /** A choice must be better by more than rounding to take precedence over the order of ids. */
  private static final double TOLERANCE = 1e-9;

  private static final Comparator<Demand> BY_ID = Comparator.comparing(d -> d.claim().workloadId());

  private final List<Demand> demands;
  private final int nodes;
  private final AllocationPolicy policy;

  /** Workloads that run, with options or without. */
  private final int running;

  /** Workloads that the pool has room for if the smallest of each rank come first. */
  private final Set<String> smallest = new HashSet<>();

  /** In the order of ranks, how many demands of a rank have no room, and how many there are. */
  private final SortedMap<Rank, int[]> refused = new TreeMap<>(Rank.ORDER);

  /**
   * The demands that have nodes.
   *
   * @param demands in the order of their workloads' ids
   * @param bound no choice among demands of equal rank has a greater value, see {@link
   *     Demand#value}; empty if there was none
   */
  record Admitted(List<Demand> demands, OptionalDouble bound) {}

  /** Demands of one rank are served alike; a running workload precedes one that waits. */
  private record Rank(int priority, boolean runs) {
    static final Comparator<Rank> ORDER =
        Comparator.comparingInt((Rank r) -> -r.priority()).thenComparing(r -> !r.runs());

    static Rank of(Demand demand) {
      return new Rank(demand.claim().priority(), demand.runs());
    }
  }

  /**
   * What tells demands apart for the solver; of several that are alike, the first ids have nodes.
   */
  private record EqualDemand(
      Rank rank, double weight, List<NodeCount> options, int before, int held) {
    static EqualDemand of(Demand demand) {
      return new EqualDemand(
          Rank.of(demand),
          demand.claim().weight(),
          demand.options(),
          demand.before(),
          demand.held().size());
    }
  }

  private Admission(List<Demand> demands, int nodes, AllocationPolicy policy) {
    this.demands = demands.stream().filter(d -> !d.options().isEmpty()).sorted(BY_ID).toList();
    this.nodes = nodes;
    this.policy = policy;
    running = (int) demands.stream().filter(Demand::runs).count();
    admitSmallest();
  }

  /**
   * Admits demands.
   *
   * @param demands the demands, in any order; those without options are not admitted
   * @param nodes number of nodes
   * @param policy the policy
   */
  static Admitted admit(List<Demand> demands, int nodes, AllocationPolicy policy) {
    return new Admission(demands, nodes, policy).admit();
  }

  private void admitSmallest() {
    int free = nodes;
    for (Demand demand :
        demands.stream()
            .sorted(
                Comparator.comparing(Rank::of, Rank.ORDER)
                    .thenComparingInt(Demand::leastNodes)
                    .thenComparingDouble(d -> -d.value(d.options().get(0), policy))
                    .thenComparing(BY_ID))
            .toList()) {
      int[] counts = refused.computeIfAbsent(Rank.of(demand), rank -> new int[2]);
      counts[1]++;
      if (demand.leastNodes() <= free) {
        free -= demand.leastNodes();
        smallest.add(demand.claim().workloadId());
      } else {
        counts[0]++;
      }
    }
  }

  private Admitted admit() {
    List<Rank> contested =
        refused.entrySet().stream()
            .filter(rank -> rank.getValue()[0] > 0 && rank.getValue()[0] < rank.getValue()[1])
            .map(Map.Entry::getKey)
            .toList();
    if (contested.isEmpty()) {
      return new Admitted(
          demands.stream().filter(this::isSmallest).toList(), OptionalDouble.empty());
    }
    List<Rank> chosen = contested.subList(0, Math.min(MAX_CONTESTED, contested.size()));
    List<Demand> candidates =
        demands.stream().filter(d -> isSmallest(d) || chosen.contains(Rank.of(d))).toList();
    OptionTable table = OptionTable.of(candidates, d -> chosen.contains(Rank.of(d)));
    double sum = candidates.stream().mapToDouble(this::mostValue).sum();
    // The solver's values are of the size of 1.
    double unit = sum > 0 ? sum : 1;
    double[][] values = table.each((c, option) -> value(candidates.get(c), option) / unit);
    double[][] adjustments = table.each(table::adjusted);
    int[] choice = fallback(candidates);
    // Those that run and are no candidates stop in any case.
    double mayAdjust =
        policy.adjustedAtOnce() - running + candidates.stream().filter(Demand::runs).count();
    double adjusted = ChoiceProblem.sum(adjustments, choice);
    if (adjusted > mayAdjust) {
      double[][] kept = table.each((c, option) -> 1 - table.adjusted(c, option));
      choice = table.solve(kept, limits(table, chosen, values.length), choice, policy).choice();
      adjusted = ChoiceProblem.sum(adjustments, choice);
    }
    ChoiceResult best =
        table.solve(values, limits(table, chosen, Math.max(mayAdjust, adjusted)), choice, policy);
    double value = ChoiceProblem.sum(values, choice);
    boolean isBetter = best.value() > value + TOLERANCE * Math.abs(value);
    return new Admitted(
        admitted(candidates, isBetter ? best.choice() : choice),
        OptionalDouble.of(
            chosen.size() == contested.size()
                ? best.bound() * unit
                : demands.stream().mapToDouble(this::mostValue).sum()));
  }

  private boolean isSmallest(Demand demand) {
    return smallest.contains(demand.claim().workloadId());
  }

  private double mostValue(Demand demand) {
    return Math.max(
        0, demand.options().stream().mapToDouble(o -> demand.value(o, policy)).max().orElse(0));
  }

  private double value(Demand demand, NodeCount option) {
    return option.equals(NodeCount.NONE) ? 0 : demand.value(option, policy);
  }

  /** Returns the choice of {@link #smallest}, with the fewest adjustments that it needs. */
  private int[] fallback(List<Demand> candidates) {
    List<Demand> admitted = candidates.stream().filter(this::isSmallest).toList();
    int[] counts =
        FallbackCounts.find(
                admitted, FairShares.of(admitted, nodes), nodes, 0, Double.POSITIVE_INFINITY)
            .choice();
    return candidates.stream()
        .mapToInt(d -> isSmallest(d) ? counts[admitted.indexOf(d)] : d.options().size())
        .toArray();
  }

  /** Nodes, adjustments, and for each contested rank those refused. */
  private List<Limit> limits(OptionTable table, List<Rank> contested, double mostAdjusted) {
    List<Limit> limits = new ArrayList<>();
    limits.add(new Limit(nodes, (c, option) -> option.nodes()));
    limits.add(new Limit(mostAdjusted, table::adjusted));
    for (Rank rank : contested) {
      limits.add(
          new Limit(
              refused.get(rank)[0],
              (c, option) ->
                  option.equals(NodeCount.NONE) && Rank.of(table.demands().get(c)).equals(rank)
                      ? 1
                      : 0));
    }
    return limits;
  }

  private static List<Demand> admitted(List<Demand> candidates, int[] choice) {
    Map<EqualDemand, Integer> counts = new HashMap<>();
    for (int c = 0; c < choice.length; c++) {
      if (choice[c] < candidates.get(c).options().size()) {
        counts.merge(EqualDemand.of(candidates.get(c)), 1, Integer::sum);
      }
    }
    return candidates.stream()
        .filter(demand -> counts.merge(EqualDemand.of(demand), -1, Integer::sum) >= 0)
        .toList();
  }
}
