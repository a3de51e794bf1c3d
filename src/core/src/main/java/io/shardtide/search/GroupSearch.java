package io.shardtide.search;

import io.shardtide.plan.Explanation;
import io.shardtide.plan.Explanation.Cause;
import io.shardtide.plan.Explanation.ExplainedAction;
import io.shardtide.plan.Insight;
import io.shardtide.plan.InsightBuilder;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.SearchSettingsBuilder;
import io.shardtide.plan.Shortfall;
import io.shardtide.search.bound.PlanBound;
import io.shardtide.search.problem.Feasibility;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.search.problem.SearchResultFoundBuilder;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Searches plans in all groupings that the cluster allows, and returns the one with the shortest
 * step. Groupings whose lower bound exceeds the best step found are pruned. A short search ranks
 * the rest, the best two of which go on, and the best one of those has a whole budget (successive
 * halving: Jamieson and Talwalkar, 2016). The measurements are in RATIONALE.md.
 */
public final class GroupSearch {
  /** The part of a budget that each grouping has. */
  private static final double SHORT = 1.0 / 32;

  /** The part that the best ones have. */
  private static final double MIDDLE = 1.0 / 8;

  /** How many go on to that. */
  private static final int MOST_MIDDLE = 2;

  /**
   * By how much more a whole search improves on a short one if groups have twice the devices, as a
   * share of the step: groups of 8, 16, 32 and 64 devices gained 1, 2, 4 and 5% on average, up to
   * 2, 4, 9 and 13%. Half as much on a middle one.
   */
  private static final double IMPROVEMENT_PER_DOUBLING = 0.02;

  /** Groupings that lack nothing but a kind say least about what would help: they come last. */
  private static final Comparator<SearchResult.NotFound> LEAST_SHORT =
      Comparator.comparing((SearchResult.NotFound failure) -> failure.shortfall().bytesShort() == 0)
          .thenComparingLong(failure -> failure.shortfall().bytesShort());

  private final GroupedProblem problem;
  private final SearchSettings settings;
  private long evaluations;

  /** The least that a way costs which was left out. */
  private double leftOutMs = Double.POSITIVE_INFINITY;

  /** A grouping that may be the best one, and the search of its plans. */
  private final class GroupCandidate {
    final SearchProblem inGroup;
    final double lowerBoundMs;
    private ScratchSearch search;
    private SearchResult result;

    /** The step of its plan and the price of its moves, in milliseconds a step. */
    double totalMs = Double.POSITIVE_INFINITY;

    GroupCandidate(SearchProblem inGroup) {
      this.inGroup = inGroup;
      lowerBoundMs = PlanBound.of(inGroup, 0);
    }

    /** Searches until a part of a budget is spent; returns whether there is a plan. */
    boolean advance(double part) {
      long before = result == null ? 0 : result.evaluations();
      if (!inGroup.reusablePlan().isEmpty() || Feasibility.isRefuted(inGroup)) {
        before = 0; // Begins again at the running plan.
        result = LocalSearch.search(inGroup, withPart(part));
      } else {
        search = search == null ? new ScratchSearch(inGroup, settings) : search;
        search.advance(part);
        result = search.result();
      }
      evaluations += result.evaluations() - before;
      if (result instanceof SearchResult.Found found) {
        totalMs =
            found.predictedMs() + settings.moveMs(found.moves(problem.running(), problem.tables()));
      }
      return result instanceof SearchResult.Found;
    }

    /** Returns its plan with the analysis. */
    SearchResult.Found explained() {
      return (SearchResult.Found) (search == null ? result : search.explained());
    }

    /** Returns what a plan of a part of a budget is expected to cost after a whole one. */
    double expectedMs(double improvementPerDoubling) {
      double doublings = StrictMath.log(inGroup.cluster().devices()) / StrictMath.log(2);
      return totalMs * (1 - improvementPerDoubling * doublings);
    }

    private SearchSettings withPart(double part) {
      return SearchSettingsBuilder.builder(settings)
          .evaluationsPerTable(Math.max(1, (long) (settings.evaluationsPerTable() * part)))
          .repairEvaluations((long) (settings.repairEvaluations() * part))
          .build();
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
    List<TableSpec> hashed = problem.hashed();
    if (groupings.isEmpty() && !hashed.isEmpty()) {
      return new SearchResult.NotFound(
          new Shortfall(
              0,
              true,
              hashed.stream()
                  .sorted(Feasibility.LARGEST_FIRST)
                  .map(table -> new Shortfall.TableBytes(table.name(), table.bytes()))
                  .toList(),
              "Replica groups of a workload with hashed tables must be 1, since each copy would store other ids; got %s and table %s"
                  .formatted(problem.cluster().replicaGroups(), hashed.get(0).name())),
          0);
    }
    if (groupings.isEmpty()) {
      throw new IllegalArgumentException(
          "tables must have predictions for replica groups of %s, got none"
              .formatted(problem.cluster().replicaGroups()));
    }
    if (groupings.size() == 1) {
      return LocalSearch.search(problem.inGroup(groupings.get(0)), settings);
    }
    ReplicaGroups running = problem.running().groups();
    if (problem.keepsGroups() && !problem.running().isEmpty() && groupings.contains(running)) {
      SearchResult result = LocalSearch.search(problem.inGroup(running), settings);
      if (result instanceof SearchResult.Found) {
        return result;
      }
    }
    return choose(groupings);
  }

  private SearchResult choose(List<ReplicaGroups> groupings) {
    List<GroupCandidate> candidates =
        new ArrayList<>(
            groupings.stream()
                .map(groups -> new GroupCandidate(problem.inGroup(groups)))
                .sorted(Comparator.comparingDouble(candidate -> candidate.lowerBoundMs))
                .toList());
    List<GroupCandidate> planned = new ArrayList<>();
    double bestMs = Double.POSITIVE_INFINITY;
    for (GroupCandidate candidate : candidates) {
      if (candidate.lowerBoundMs >= bestMs) {
        leftOutMs = Math.min(leftOutMs, candidate.lowerBoundMs);
      } else if (candidate.advance(SHORT)) {
        planned.add(candidate);
        bestMs = Math.min(bestMs, candidate.totalMs);
      }
    }
    if (planned.isEmpty()) {
      return candidates.stream()
          .filter(candidate -> candidate.result != null)
          .map(candidate -> (SearchResult.NotFound) candidate.result)
          .min(LEAST_SHORT)
          .map(least -> new SearchResult.NotFound(least.shortfall(), evaluations))
          .orElseThrow();
    }
    planned.sort(Comparator.comparingDouble(c -> c.expectedMs(IMPROVEMENT_PER_DOUBLING)));
    List<GroupCandidate> promising = planned.subList(0, Math.min(MOST_MIDDLE, planned.size()));
    if (promising.size() > 1) {
      promising.forEach(candidate -> candidate.advance(MIDDLE));
      promising.sort(Comparator.comparingDouble(c -> c.expectedMs(IMPROVEMENT_PER_DOUBLING / 2)));
    }
    promising.get(0).advance(1);
    planned.sort(Comparator.comparingDouble(candidate -> candidate.totalMs));
    return explained(planned);
  }

  /**
   * Returns the best plan with the reason for its groups: all others take longer, moves included.
   */
  private SearchResult explained(List<GroupCandidate> plans) {
    double bestMs = plans.get(0).totalMs;
    SearchResult.Found best = plans.get(0).explained();
    Insight insight = best.insight().orElseThrow();
    double otherMs =
        plans.stream().skip(1).mapToDouble(plan -> plan.totalMs).reduce(leftOutMs, Math::min);
    Stream<Explanation> reason =
        Stream.of(otherMs)
            .filter(Double::isFinite)
            .map(
                ms ->
                    new Explanation(
                        ExplainedAction.GROUPS, "", -1, -1, Cause.COMMUNICATION, ms - bestMs));
    List<Explanation> explanations =
        Stream.concat(reason, insight.explanations().stream())
            .sorted(Explanation.ORDER)
            .limit(Insight.MAX_EXPLANATIONS)
            .toList();
    return SearchResultFoundBuilder.builder(best)
        .insight(Optional.of(InsightBuilder.builder(insight).explanations(explanations).build()))
        .evaluations(evaluations)
        .build();
  }
}
