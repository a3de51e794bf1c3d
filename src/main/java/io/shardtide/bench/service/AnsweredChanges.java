package io.shardtide.bench.service;

import io.shardtide.domain.Effort;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.ShardingPlan;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Which changes were published when, and which of them were answered: by a quick plan that covers
 * their generation, or by the report that there is none that fits. A workload's changes are
 * published by one client, so that the n-th makes generation n.
 */
final class AnsweredChanges {
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(120);

  private final Map<String, WorkloadAnswers> workloads = new HashMap<>();
  private Optional<LatencySample> sample = Optional.empty();
  private long published;
  private long answered;
  private long plans;
  private long infeasible;
  private String fault;

  private static final class WorkloadAnswers {
    private long[] publishedAt = new long[16];
    private int generation;
    private int answered;

    void publish(long nanos) {
      generation++;
      if (generation == publishedAt.length) {
        publishedAt = Arrays.copyOf(publishedAt, 2 * generation);
      }
      publishedAt[generation] = nanos;
    }
  }

  /** From now on, how long each answer takes is added to a sample, in milliseconds. */
  synchronized void measure(LatencySample into) {
    sample = Optional.of(into);
  }

  /** Hears that a change is about to be published. */
  synchronized void published(String workloadId, long nanos) {
    workloads.computeIfAbsent(workloadId, id -> new WorkloadAnswers()).publish(nanos);
    published++;
  }

  /** Hears what a topic of answers held, and when it could be read. */
  synchronized void take(Object value, long nanos) {
    if (value instanceof ShardingPlan plan && plan.effort() == Effort.QUICK) {
      plans++;
      answer(plan.workloadId(), plan.firstGeneration(), plan.generation(), nanos);
    } else if (value instanceof InfeasibleWorkload none) {
      infeasible++;
      answer(none.workloadId(), 0, none.generation(), nanos);
    } else if (value instanceof RejectedEvent rejected) {
      fault = "A change was rejected: " + rejected.message();
    }
  }

  private void answer(String workloadId, long first, long last, long nanos) {
    WorkloadAnswers workload = workloads.get(workloadId);
    if (first > workload.answered + 1) {
      fault =
          "Generations %d to %d of workload %s have no answer"
              .formatted(workload.answered + 1, first - 1, workloadId);
    }
    while (workload.answered < last) {
      workload.answered++;
      answered++;
      double millis = (nanos - workload.publishedAt[workload.answered]) / 1e6;
      sample.ifPresent(s -> s.add(millis));
    }
  }

  /** Returns how many changes have no answer yet. */
  synchronized long open() {
    if (fault != null) {
      throw new IllegalStateException(fault);
    }
    return published - answered;
  }

  /** Returns how many changes were answered. */
  synchronized long answered() {
    return answered;
  }

  /** Returns how many quick plans there were. */
  synchronized long plans() {
    return plans;
  }

  /** Returns how many workloads were reported not to fit. */
  synchronized long infeasible() {
    return infeasible;
  }

  /**
   * Waits until every change is answered.
   *
   * @throws TimeoutException if nothing more was answered for two minutes: then something is lost
   */
  void await(BenchmarkListener listener, String what, StepReporter steps)
      throws InterruptedException, TimeoutException {
    long last = -1;
    long since = System.nanoTime();
    for (long open = open(); open > 0; open = open()) {
      listener.check();
      long now = System.nanoTime();
      if (answered() != last) {
        last = answered();
        since = now;
      } else if (now - since > PATIENCE_NANOS) {
        throw new TimeoutException(
            "%d of %d changes were not answered: lost".formatted(open, open + last));
      }
      steps.at(what, last, last + open);
      Thread.sleep(10);
    }
  }
}
