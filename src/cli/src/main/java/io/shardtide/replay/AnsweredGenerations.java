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

  /**
   * Generations with no outcome, or too many.
   *
   * @param first the first generation
   * @param last the last generation
   * @param isDuplicate whether there are too many
   */
  record Violation(long first, long last, boolean isDuplicate) {}

  private final List<GenerationAnswer> answers = new ArrayList<>();

  /** How many models predicted each generation. */
  private final Map<Long, Integer> predicted = new TreeMap<>();

  /** How often other speeds replanned each generation. */
  private final Map<Long, Integer> replanned = new TreeMap<>();

  private List<DeviceSpeed> slow = List.of();

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
  long last() {
    return answers.stream().mapToLong(GenerationAnswer::last).max().orElse(0);
  }

  /** Returns the latest generation that was predicted, 0 for none. */
  long lastPredicted() {
    return predicted.keySet().stream().mapToLong(Long::longValue).max().orElse(0);
  }

  /** Returns what is wrong up to the last outcome; later generations are still pending. */
  List<Violation> violations() {
    List<Violation> violations = new ArrayList<>();
    long answered = 0;
    Map<Long, Integer> times = new TreeMap<>();
    for (GenerationAnswer answer : answers.stream().sorted(GenerationAnswer.ORDER).toList()) {
      boolean again = answer.last() == answered && (answer.first() == 0 || answer.order() == 2);
      long first =
          answer.first() == 0 || again ? Math.min(answered + 1, answer.last()) : answer.first();
      int count = times.merge(answer.last(), 1, Integer::sum);
      if (first <= answered && !again) {
        violations.add(new Violation(first, Math.min(answered, answer.last()), true));
      } else if (again && count > expected(answer.last())) {
        violations.add(new Violation(answer.last(), answer.last(), true));
      } else if (first > answered + 1) {
        violations.add(new Violation(answered + 1, first - 1, false));
      }
      answered = Math.max(answered, answer.last());
    }
    return violations;
  }
}
