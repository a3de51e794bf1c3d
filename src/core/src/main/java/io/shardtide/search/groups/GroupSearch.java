package io.shardtide.search.groups;

import io.shardtide.domain.Explanation;
import io.shardtide.domain.Explanation.Cause;
import io.shardtide.domain.Explanation.ExplainedAction;
import io.shardtide.domain.Insight;
import io.shardtide.domain.ReplicaGroups;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.SearchSettingsBuilder;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.SearchResult;
import io.shardtide.search.local.LocalSearch;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Searches plans in all ways to form replica groups that the cluster allows, and returns the one
 * with the shortest step. A way whose lower bound is above the best step found is left out; of all
 * others, a short search tells which two are worth a whole one (successive halving: Jamieson and
 * Talwalkar, 2016). The measurements are in RATIONALE.md.
 */
public final class GroupSearch {
  /** A short search has this part of the budget. */
  private static final int SHORT = 32;

  /** Ways with a whole search at most. */
  private static final int MOST_WHOLE = 2;

  /** A whole search improves on a short one by less, as a share of the step. */
  private static final double IMPROVEMENT = 0.08;

  /**
   * By how much more a whole search improves on a short one if groups have twice the devices, as a
   * share of the step: groups of 8, 16, 32 and 64 devices gained 1, 2, 4 and 5% on average, up to
   * 2, 4, 9 and 13%.
   */
  private static final double IMPROVEMENT_PER_DOUBLING = 0.02;

  private static final Comparator<GroupCandidate> MOST_PROMISING =
      Comparator.comparingDouble(GroupCandidate::lowerBoundMs);

  private static final Comparator<PricedPlan> CHEAPEST =
      Comparator.comparingDouble(PricedPlan::totalMs);

  /** Groupings that lack nothing but a kind say least about what would help: they come last. */
  private static final Comparator<SearchResult.NotFound> LEAST_SHORT =
      Comparator.comparing((SearchResult.NotFound failure) -> failure.shortfall().bytesShort() == 0)
          .thenComparingLong(failure -> failure.shortfall().bytesShort());

  private final GroupedProblem problem;
  private final SearchSettings settings;
  private long evaluations;

  /** The least that a way costs which was left out. */
  private double leftOutMs = Double.POSITIVE_INFINITY;

  /**
   * A way to form groups that may be the best one.
   *
   * @param groups the groups
   * @param problem the problem of one group
   * @param lowerBoundMs no plan with these groups has a shorter step
   */
  private record GroupCandidate(ReplicaGroups groups, SearchProblem problem, double lowerBoundMs) {}

  /**
   * A plan, and what it costs to go there.
   *
   * @param found the plan
   * @param totalMs its step and the price of its moves, in milliseconds a step
   */
  private record PricedPlan(GroupCandidate candidate, SearchResult.Found found, double totalMs) {
    /** Returns what a plan of a short search is expected to cost after a whole one. */
    double expectedMs() {
      double doublings = StrictMath.log(found.deviceCosts().size()) / StrictMath.log(2);
      return totalMs * (1 - IMPROVEMENT_PER_DOUBLING * doublings);
    }
  }

  private GroupSearch(GroupedProblem problem, SearchSettings settings) {
    this.problem = problem;
    this.settings = settings;
  }

  /**
   * Searches a problem.
   *
   * @param problem what is to be sharded
   * @param settings the budget, and the price of moves
   */
  public static SearchResult search(GroupedProblem problem, SearchSettings settings) {
    return new GroupSearch(problem, settings).search();
  }

  private SearchResult search() {
    List<ReplicaGroups> groupings = problem.groupings();
    if (groupings.isEmpty()) {
      throw new IllegalArgumentException(
          "tables must have predictions for replica groups of %s, got none"
              .formatted(problem.cluster().replicaGroups()));
    }
    if (groupings.size() == 1) {
      return LocalSearch.search(problem.inGroup(groupings.get(0)), settings);
    }
    ReplicaGroups running = problem.running().groups();
    if (problem.keepsGroups() && problem.runs(running) && groupings.contains(running)) {
      SearchResult result = LocalSearch.search(problem.inGroup(running), settings);
      if (result instanceof SearchResult.Found) {
        return result;
      }
    }
    return choose(groupings);
  }

  private SearchResult choose(List<ReplicaGroups> groupings) {
    List<SearchResult.NotFound> failures = new ArrayList<>();
    List<PricedPlan> plans = new ArrayList<>();
    for (GroupCandidate candidate : candidates(groupings)) {
      if (plans.isEmpty() || candidate.lowerBoundMs() < plans.get(0).totalMs()) {
        plan(candidate, SHORT, failures).ifPresent(plans::add);
        plans.sort(CHEAPEST);
      } else {
        leftOutMs = Math.min(leftOutMs, candidate.lowerBoundMs());
      }
    }
    if (plans.isEmpty()) {
      return failures.stream()
          .min(LEAST_SHORT)
          .map(least -> new SearchResult.NotFound(least.shortfall(), evaluations))
          .orElseThrow();
    }
    plans.sort(Comparator.comparingDouble(PricedPlan::expectedMs));
    List<PricedPlan> promising = plans.subList(0, Math.min(MOST_WHOLE, plans.size()));
    double bestMs = Double.POSITIVE_INFINITY;
    for (int i = 0; i < promising.size(); i++) {
      PricedPlan plan = promising.get(i);
      if (plan.totalMs() * (1 - IMPROVEMENT) < bestMs) {
        promising.set(i, plan(plan.candidate(), 1, failures).orElse(plan));
        bestMs = Math.min(bestMs, promising.get(i).totalMs());
      }
    }
    plans.sort(CHEAPEST);
    return explained(plans);
  }

  /** Returns the ways to form groups, the most promising one first. */
  private List<GroupCandidate> candidates(List<ReplicaGroups> groupings) {
    return groupings.stream()
        .map(
            groups -> {
              SearchProblem inGroup = problem.inGroup(groups);
              return new GroupCandidate(groups, inGroup, LocalSearch.lowerBoundMs(inGroup));
            })
        .sorted(MOST_PROMISING)
        .toList();
  }

  private Optional<PricedPlan> plan(
      GroupCandidate candidate, int part, List<SearchResult.NotFound> failures) {
    SearchSettings ofPart =
        SearchSettingsBuilder.builder(settings)
            .evaluationsPerTable(Math.max(1, settings.evaluationsPerTable() / part))
            .repairEvaluations(settings.repairEvaluations() / part)
            .build();
    SearchResult result = LocalSearch.search(candidate.problem(), ofPart);
    evaluations += result.evaluations();
    if (result instanceof SearchResult.Found found) {
      double moveMs = settings.moveMs(found.moves(problem.running(), problem.tables()));
      return Optional.of(new PricedPlan(candidate, found, found.predictedMs() + moveMs));
    }
    failures.add((SearchResult.NotFound) result);
    return Optional.empty();
  }

  /**
   * Returns the best plan with the reason for its groups: all others take longer, moves included.
   */
  private SearchResult explained(List<PricedPlan> plans) {
    double bestMs = plans.get(0).totalMs();
    SearchResult.Found best = plans.get(0).found();
    Insight insight = best.insight().orElseThrow();
    double otherMs =
        plans.stream().skip(1).mapToDouble(PricedPlan::totalMs).reduce(leftOutMs, Math::min);
    Stream<Explanation> reason =
        Stream.of(otherMs)
            .filter(Double::isFinite)
            .map(
                ms ->
                    new Explanation(
                        ExplainedAction.GROUPS, "", -1, -1, Cause.COMMUNICATION, ms - bestMs));
    return new SearchResult.Found(
        best.shards(),
        best.deviceCosts(),
        best.replication(),
        best.codecs(),
        best.predictedMs(),
        Optional.of(
            new Insight(
                insight.lowerBoundMs(),
                insight.uncertaintyMs(),
                insight.bottleneck(),
                Stream.concat(reason, insight.explanations().stream())
                    .sorted(Explanation.ORDER)
                    .limit(Insight.MAX_EXPLANATIONS)
                    .toList())),
        evaluations);
  }
}
