package io.shardtide.replay;

import io.shardtide.domain.Effort;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.ShardingPlan;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Which generations of a workload were answered: each by one quick plan, alone or with those before
 * it, or by a report that it does not fit; once more for each model that predicted it anew.
 */
final class AnsweredGenerations {
  /**
   * An answer, in the order in which answers of one generation can be told apart: a plan that
   * answers generations before it was first, one that begins with its own may be another model's.
   */
  private record GenerationAnswer(long first, long last, int order) {
    static final Comparator<GenerationAnswer> ORDER =
        Comparator.comparingLong(GenerationAnswer::last).thenComparingInt(GenerationAnswer::order);
  }

  /**
   * Generations that were not answered, or more than once.
   *
   * @param first the first of them
   * @param last the last
   * @param isTwice whether there was an answer too many, not one too few
   */
  record Flaw(long first, long last, boolean isTwice) {}

  private final List<GenerationAnswer> answers = new ArrayList<>();

  /** How often each generation was predicted. */
  private final Map<Long, Integer> predicted = new TreeMap<>();

  void add(ShardingPlan plan) {
    if (plan.effort() == Effort.QUICK) {
      boolean isAlone = plan.firstGeneration() == plan.generation();
      answers.add(new GenerationAnswer(plan.firstGeneration(), plan.generation(), isAlone ? 2 : 0));
    }
  }

  void add(InfeasibleWorkload infeasible) {
    answers.add(new GenerationAnswer(0, infeasible.generation(), 1));
  }

  void predicted(long generation) {
    predicted.merge(generation, 1, Integer::sum);
  }

  /** Returns the latest generation that was answered, 0 for none. */
  long last() {
    return answers.stream().mapToLong(GenerationAnswer::last).max().orElse(0);
  }

  /** Returns the latest generation that was predicted, 0 for none. */
  long lastPredicted() {
    return predicted.keySet().stream().mapToLong(Long::longValue).max().orElse(0);
  }

  /** Returns what is wrong up to the last answer; what comes after it still waits. */
  List<Flaw> flaws() {
    List<Flaw> flaws = new ArrayList<>();
    long answered = 0;
    Map<Long, Integer> times = new TreeMap<>();
    for (GenerationAnswer answer : answers.stream().sorted(GenerationAnswer.ORDER).toList()) {
      boolean again = answer.last() == answered && (answer.first() == 0 || answer.order() == 2);
      long first =
          answer.first() == 0 || again ? Math.min(answered + 1, answer.last()) : answer.first();
      int count = times.merge(answer.last(), 1, Integer::sum);
      if (first <= answered && !again) {
        flaws.add(new Flaw(first, Math.min(answered, answer.last()), true));
      } else if (again && count > predicted.getOrDefault(answer.last(), 1)) {
        flaws.add(new Flaw(answer.last(), answer.last(), true));
      } else if (first > answered + 1) {
        flaws.add(new Flaw(answered + 1, first - 1, false));
      }
      answered = Math.max(answered, answer.last());
    }
    return flaws;
  }
}
