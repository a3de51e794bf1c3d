package io.shardtide.bench.service;

import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;

import io.shardtide.client.Endpoint;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.plan.Effort;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.Change;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.WorkloadChange;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.ObjLongConsumer;
import java.util.stream.Stream;

/**
 * Publishes changes, and waits until each is answered: by a quick plan that covers its generation,
 * or by a report that the workload is infeasible. No one else changes these workloads, so that the
 * n-th change of one is generation n.
 */
final class AnsweredChanges implements AutoCloseable {
  private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(120);

  private final WorkloadPublisher publisher;
  private final TopicReader reader;
  private final Map<String, WorkloadAnswers> workloads = new HashMap<>();
  private List<Double> millis = new ArrayList<>();
  private long published;
  private long answered;
  private long plans;
  private RuntimeException failure;

  private static final class WorkloadAnswers {
    private final List<Long> publishedAt = new ArrayList<>();
    private int answered;
  }

  /**
   * Connects, and reads from the ends of the topics.
   *
   * @param registry the endpoint's registry; not closed with this
   * @param more further topics to read
   * @param observer receives each record first, and when it arrived by {@link System#nanoTime}
   */
  AnsweredChanges(
      Endpoint endpoint,
      Registry registry,
      List<TopicType<?>> more,
      ObjLongConsumer<Object> observer) {
    publisher = WorkloadPublisher.connect(endpoint, "bench");
    reader = endpoint.reader(registry).onFailure(this::fail);
    Stream.concat(Stream.of(SHARDING_PLANS, INFEASIBLE_WORKLOADS, REJECTED_EVENTS), more.stream())
        .forEach(type -> read(endpoint.topics().of(type), observer));
    reader.open();
    reader.start("bench-answers");
  }

  private <V> void read(Topic<V> topic, ObjLongConsumer<Object> observer) {
    reader.handle(
        topic,
        StartPosition.END,
        (position, writtenAt, value) -> {
          observer.accept(value, reader.receivedNanos());
          onRecord(value, reader.receivedNanos());
        });
  }

  private synchronized void onRecord(Object value, long nanos) {
    if (value instanceof ShardingPlan plan && plan.origin().effort() == Effort.QUICK) {
      plans++;
      answer(plan.workloadId(), plan.origin().firstGeneration(), plan.generation(), nanos);
    } else if (value instanceof InfeasibleWorkload report) {
      answer(report.workloadId(), 0, report.generation(), nanos);
    } else if (value instanceof RejectedEvent rejected
        && workloads.containsKey(rejected.workloadId().orElse(""))) {
      fail(new IllegalStateException("A change was rejected: " + rejected.message()));
    }
  }

  private synchronized void fail(RuntimeException error) {
    failure = error;
  }

  /** Publishes a change; does not wait for its acknowledgement. */
  @SuppressWarnings("FutureReturnValueIgnored") // A change that is lost has no answer.
  void publish(String workloadId, List<Change> changes) {
    synchronized (this) {
      workloads
          .computeIfAbsent(workloadId, id -> new WorkloadAnswers())
          .publishedAt
          .add(System.nanoTime());
      published++;
    }
    publisher.publish(
        new WorkloadChange(
            UUID.randomUUID(), workloadId, Instant.now(), "bench", OptionalLong.empty(), changes));
  }

  private void answer(String workloadId, long first, long last, long nanos) {
    WorkloadAnswers workload = workloads.get(workloadId);
    if (workload == null) {
      return;
    }
    if (first > workload.answered + 1) {
      fail(
          new IllegalStateException(
              "Generations %d to %d of workload %s were not answered"
                  .formatted(workload.answered + 1, first - 1, workloadId)));
    }
    while (workload.answered < last) {
      millis.add((nanos - workload.publishedAt.get(workload.answered++)) / 1e6);
      answered++;
    }
  }

  /** Returns how many changes more than a number have no answer. */
  private synchronized long openAbove(int most) {
    if (failure != null) {
      throw new IllegalStateException(failure.getMessage(), failure);
    }
    return Math.max(0, published - answered - most);
  }

  /** Returns the number of quick plans. */
  synchronized long plans() {
    return plans;
  }

  /** Returns the latencies of the answers since the last call, in milliseconds. */
  synchronized LatencySample takeMillis() {
    List<Double> taken = millis;
    millis = new ArrayList<>();
    return new LatencySample(taken);
  }

  /**
   * Waits until at most so many changes are not answered.
   *
   * @throws TimeoutException if no change was answered for two minutes
   */
  void await(int most) throws InterruptedException, TimeoutException {
    long last = -1;
    long since = System.nanoTime();
    for (long open = openAbove(most); open > 0; open = openAbove(most)) {
      long now = System.nanoTime();
      if (open != last) {
        last = open;
        since = now;
      } else if (now - since > TIMEOUT_NANOS) {
        throw new TimeoutException("%d changes were not answered".formatted(open));
      }
      Thread.sleep(10);
    }
  }

  @Override
  public void close() {
    publisher.close();
    reader.close();
  }
}
