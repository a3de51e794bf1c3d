package io.shardtide.replay;

import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.Effort;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.ShardingPlan;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Which generations of a workload have a recorded outcome. Expected is one quick plan, which may
 * cover several generations, or one infeasible workload, or the deletion of the workload; one more
 * for each further model that predicted the generation.
 */
final class AnsweredGenerations {
  /**
   * An outcome. Of one generation, a plan that covers earlier generations comes first; a plan of
   * this generation alone may be another model's and comes last.
   */
  private record GenerationAnswer(long first, long last, int order) {
    static final Comparator<GenerationAnswer> ORDER =
        Comparator.comparingLong(GenerationAnswer::last).thenComparingInt(GenerationAnswer::order);
  }

  private static final String NONE = "neither a plan nor an infeasible workload is recorded";
  private static final String SEVERAL = "more than one plan is recorded, expected one";

  private final String workloadId;
  private final ReplayScope scope;
  private final ReplayResult.Tally tally;
  private final List<GenerationAnswer> answers = new ArrayList<>();

  /** How many models predicted each generation. */
  private final TreeMap<Long, Integer> predicted = new TreeMap<>();

  /** How often other speeds replanned each generation. */
  private final Map<Long, Integer> replanned = new TreeMap<>();

  private List<DeviceSpeed> slow = List.of();

  /**
   * @param workloadId the workload
   * @param scope generations of others are not reported
   * @param tally receives what is wrong
   */
  AnsweredGenerations(String workloadId, ReplayScope scope, ReplayResult.Tally tally) {
    this.workloadId = workloadId;
    this.scope = scope;
    this.tally = tally;
  }

  void add(ShardingPlan plan) {
    if (plan.origin().effort() == Effort.QUICK) {
      if (plan.generation() == last() && !plan.origin().slow().equals(slow)) {
        replanned.merge(plan.generation(), 1, Integer::sum);
      }
      slow = plan.origin().slow();
      boolean isAlone = plan.origin().firstGeneration() == plan.generation();
      answers.add(
          new GenerationAnswer(
              plan.origin().firstGeneration(), plan.generation(), isAlone ? 2 : 0));
    }
  }

  private int expected(long generation) {
    return predicted.getOrDefault(generation, 1) + replanned.getOrDefault(generation, 0);
  }

  void add(InfeasibleWorkload infeasible) {
    answers.add(new GenerationAnswer(0, infeasible.generation(), 1));
  }

  /** Adds the deletion of the workload, which answers the changes before it that have no plan. */
  void addDeletion(long generation) {
    answers.add(new GenerationAnswer(0, generation, 1));
  }

  void predicted(long generation) {
    predicted.merge(generation, 1, Integer::sum);
  }

  /** Returns the latest generation with an outcome, 0 for none. */
  private long last() {
    return answers.stream().mapToLong(GenerationAnswer::last).max().orElse(0);
  }

  /** Reports what is wrong up to the last outcome; later generations are still pending. */
  void report() {
    long answered = 0;
    Map<Long, Integer> times = new TreeMap<>();
    for (GenerationAnswer answer : answers.stream().sorted(GenerationAnswer.ORDER).toList()) {
      boolean again = answer.last() == answered && (answer.first() == 0 || answer.order() == 2);
      long first =
          answer.first() == 0 || again ? Math.min(answered + 1, answer.last()) : answer.first();
      int count = times.merge(answer.last(), 1, Integer::sum);
      if (first <= answered && !again) {
        report(first, Math.min(answered, answer.last()), SEVERAL);
      } else if (again && count > expected(answer.last())) {
        report(answer.last(), answer.last(), SEVERAL);
      } else if (first > answered + 1) {
        report(answered + 1, first - 1, NONE);
      }
      answered = Math.max(answered, answer.last());
    }
    long first = Math.max(scope.from(), answered + 1);
    long last = Math.min(scope.to(), predicted.isEmpty() ? 0 : predicted.lastKey());
    if (first <= last) {
      tally.notes.add(
          "%s of %s: not planned yet when the records were read"
              .formatted(generations(first, last), workloadId));
      tally.rows.add(new ReplayRow(workloadId, first, last, Verdict.NOT_RECORDED));
    }
  }

  private void report(long first, long last, String problem) {
    if (last >= scope.from() && first <= scope.to()) {
      tally.problems.add("%s of %s: %s".formatted(generations(first, last), workloadId, problem));
      if (problem.equals(NONE)) {
        tally.rows.add(new ReplayRow(workloadId, first, last, Verdict.NOT_RECORDED));
      }
    }
  }

  static String generations(long first, long last) {
    return first == last ? "generation " + first : "generations %d to %d".formatted(first, last);
  }
}
