package io.shardtide.allocation;

import io.shardtide.allocation.OptionTable.Limit;
import io.shardtide.allocation.choice.ChoiceResult;
import io.shardtide.domain.pool.AllocationPolicy;
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
import java.util.stream.IntStream;

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
  private final SortedMap<Rank, int[]> refused = new TreeMap<>();

  /**
   * The demands that have nodes.
   *
   * @param demands in the order of their workloads' ids
   * @param bound no choice among demands of equal rank has a greater value, see {@link
   *     Demand#value}; empty if there was none
   */
  record Admitted(List<Demand> demands, OptionalDouble bound) {}

  /** Demands of one rank are served alike; a running workload precedes one that waits. */
  private record Rank(int priority, boolean runs) implements Comparable<Rank> {
    static Rank of(Demand demand) {
      return new Rank(demand.claim().priority(), demand.runs());
    }

    @Override
    public int compareTo(Rank other) {
      return Comparator.comparingInt((Rank r) -> -r.priority())
          .thenComparing(r -> !r.runs())
          .compare(this, other);
    }
  }

  /**
   * What tells demands apart for the solver; of several that are alike, the first ids have nodes.
   */
  private record EqualDemand(Rank rank, double weight, List<NodeCount> options, int before, int held) {
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
                Comparator.comparing(Rank::of)
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
    Choice choice = new Choice(candidates, chosen);
    int[] fallback = choice.fallback();
    // Those that run and are no candidates stop in any case.
    double mayAdjust =
        policy.adjustedAtOnce() - running + candidates.stream().filter(Demand::runs).count();
    double adjusted = choice.adjusted(fallback);
    if (adjusted > mayAdjust) {
      fallback = choice.fewestAdjusted(fallback).choice();
      adjusted = choice.adjusted(fallback);
    }
    ChoiceResult best = choice.best(fallback, Math.max(mayAdjust, adjusted));
    boolean isBetter =
        best.value() > choice.value(fallback) + TOLERANCE * Math.abs(choice.value(fallback));
    return new Admitted(
        choice.admitted(isBetter ? best.choice() : fallback),
        OptionalDouble.of(
            chosen.size() == contested.size()
                ? best.bound() * choice.unit
                : demands.stream().mapToDouble(this::mostValue).sum()));
  }

  private boolean isSmallest(Demand demand) {
    return smallest.contains(demand.claim().workloadId());
  }

  private double mostValue(Demand demand) {
    return Math.max(
        0, demand.options().stream().mapToDouble(o -> demand.value(o, policy)).max().orElse(0));
  }

  /** The choice among candidates: each has one of its options or, in a contested rank, none. */
  private final class Choice {
    private final List<Demand> candidates;
    private final List<Rank> contested;
    private final OptionTable table;
    private final double[][] values;
    private final double[][] adjustments;

    /** The solver's values are of the size of 1. */
    private final double unit;

    Choice(List<Demand> candidates, List<Rank> contested) {
      this.candidates = candidates;
      this.contested = contested;
      double sum = candidates.stream().mapToDouble(Admission.this::mostValue).sum();
      unit = sum > 0 ? sum : 1;
      table = OptionTable.of(candidates, demand -> contested.contains(Rank.of(demand)));
      values = table.each((c, option) -> value(candidates.get(c), option) / unit);
      adjustments = table.each(table::adjusted);
    }

    private double value(Demand demand, NodeCount option) {
      return option.equals(NodeCount.NONE) ? 0 : demand.value(option, policy);
    }

    /** Returns the choice of {@link #smallest}, with the fewest adjustments that it needs. */
    int[] fallback() {
      List<Demand> admitted = candidates.stream().filter(Admission.this::isSmallest).toList();
      int[] counts =
          FallbackCounts.find(
                  admitted, FairShares.of(admitted, nodes), nodes, 0, Double.POSITIVE_INFINITY)
              .choice();
      return candidates.stream()
          .mapToInt(d -> isSmallest(d) ? counts[admitted.indexOf(d)] : d.options().size())
          .toArray();
    }

    double value(int[] choice) {
      return sum(values, choice);
    }

    double adjusted(int[] choice) {
      return sum(adjustments, choice);
    }

    private double sum(double[][] of, int[] choice) {
      return IntStream.range(0, choice.length).mapToDouble(c -> of[c][choice[c]]).sum();
    }

    ChoiceResult fewestAdjusted(int[] fallback) {
      return solve(
          table.each((c, option) -> 1 - table.adjusted(c, option)), fallback, candidates.size());
    }

    ChoiceResult best(int[] fallback, double mostAdjusted) {
      return solve(values, fallback, mostAdjusted);
    }

    private ChoiceResult solve(double[][] of, int[] fallback, double mostAdjusted) {
      List<Limit> limits = new ArrayList<>();
      limits.add(new Limit(nodes, (c, option) -> option.nodes()));
      limits.add(new Limit(mostAdjusted, table::adjusted));
      for (Rank rank : contested) {
        limits.add(new Limit(refused.get(rank)[0], (c, option) -> refusals(c, option, rank)));
      }
      return table.solve(of, limits, fallback, policy);
    }

    private double refusals(int candidate, NodeCount option, Rank of) {
      return option.equals(NodeCount.NONE) && Rank.of(candidates.get(candidate)).equals(of) ? 1 : 0;
    }

    List<Demand> admitted(int[] choice) {
      Map<EqualDemand, Integer> counts = new HashMap<>();
      for (int c = 0; c < choice.length; c++) {
        if (choice[c] < candidates.get(c).options().size()) {
          counts.merge(EqualDemand.of(candidates.get(c)), 1, Integer::sum);
        }
      }
      List<Demand> admitted = new ArrayList<>();
      for (Demand demand : candidates) {
        if (counts.merge(EqualDemand.of(demand), -1, Integer::sum) >= 0) {
          admitted.add(demand);
        }
      }
      return admitted;
    }
  }
}
