package io.shardtide.bench.service;

import io.shardtide.plan.Effort;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.workload.RejectedEvent;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Tracks published changes until each is answered: by a quick plan that covers its generation, or
 * by a report that the workload is infeasible. One client publishes all changes of a workload, so
 * that its n-th change is generation n.
 */
final class AnsweredChanges {
  private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(120);

  private final Map<String, WorkloadAnswers> workloads = new HashMap<>();
  private Optional<LatencySample> sample = Optional.empty();
  private long published;
  private long answered;
  private long plans;
  private long infeasible;
  private String failure;

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

  /** Adds the latency of each following answer to a sample, in milliseconds. */
  synchronized void measure(LatencySample target) {
    sample = Optional.of(target);
  }

  /** Records that a change is about to be published. */
  synchronized void published(String workloadId, long nanos) {
    workloads.computeIfAbsent(workloadId, id -> new WorkloadAnswers()).publish(nanos);
    published++;
  }

  /** Processes a record of an output topic, read at {@code nanos}. */
  synchronized void onRecord(Object value, long nanos) {
    if (value instanceof ShardingPlan plan && plan.origin().effort() == Effort.QUICK) {
      plans++;
      answer(plan.workloadId(), plan.origin().firstGeneration(), plan.generation(), nanos);
    } else if (value instanceof InfeasibleWorkload report) {
      infeasible++;
      answer(report.workloadId(), 0, report.generation(), nanos);
    } else if (value instanceof RejectedEvent rejected) {
      failure = "A change was rejected: " + rejected.message();
    }
  }

  private void answer(String workloadId, long first, long last, long nanos) {
    WorkloadAnswers workload = workloads.get(workloadId);
    if (first > workload.answered + 1) {
      failure =
          "Generations %d to %d of workload %s were not answered"
              .formatted(workload.answered + 1, first - 1, workloadId);
    }
    while (workload.answered < last) {
      workload.answered++;
      answered++;
      double millis = (nanos - workload.publishedAt[workload.answered]) / 1e6;
      sample.ifPresent(s -> s.add(millis));
    }
  }

  /** Returns the number of changes without an answer. */
  synchronized long open() {
    if (failure != null) {
      throw new IllegalStateException(failure);
    }
    return published - answered;
  }

  /** Returns the number of answered changes. */
  synchronized long answered() {
    return answered;
  }

  /** Returns the number of quick plans. */
  synchronized long plans() {
    return plans;
  }

  /** Returns the number of reports that a workload is infeasible. */
  synchronized long infeasible() {
    return infeasible;
  }

  /**
   * Waits until all changes are answered.
   *
   * @throws TimeoutException if no change was answered for two minutes
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
      } else if (now - since > TIMEOUT_NANOS) {
        throw new TimeoutException(
            "%d of %d changes were not answered".formatted(open, open + last));
      }
      steps.at(what, last, last + open);
      Thread.sleep(10);
    }
  }
}
