package io.shardtide.bench.soak;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;

import io.shardtide.client.Endpoint;
import io.shardtide.cost.CostPredictions;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.SourcePosition;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Consumer;

/**
 * What publishers are told: reads predictions, rejections and plans as they are committed, finds
 * the event that each answers, and notes the answer and when it came. Thread-safe.
 */
final class SoakAnswers implements AutoCloseable {
  private final Ledger ledger;
  private final Waits waits;
  private final TopicReader reader;

  /** Events without a rejection, by position; and rejections whose event is not known yet. */
  private final Map<SourcePosition, UnansweredEvent> sent = new HashMap<>();

  private final Map<SourcePosition, RejectedEvent> early = new HashMap<>();

  /** By workload, the last generation that is planned, and the latest plan. */
  private final Map<String, Long> planned = new HashMap<>();

  private final Map<String, ShardingPlan> latest = new TreeMap<>();

  /** By workload, the generations of events that wait for a plan. */
  private final Map<String, Map<UUID, Long>> unplanned = new HashMap<>();

  private RuntimeException failure;

  private record UnansweredEvent(UUID eventId, String workloadId) {}

  /**
   * Connects, and starts to read.
   *
   * @param endpoint the cluster, without faults between
   * @param registry looks schemas up; not closed with this
   * @param ledger notes answers
   * @param waits notes when they came
   */
  SoakAnswers(Endpoint endpoint, Registry registry, Ledger ledger, Waits waits) {
    this.ledger = ledger;
    this.waits = waits;
    Topics topics = endpoint.topics();
    reader = endpoint.reader(registry).onFailure(this::fail);
    handle(topics.of(COST_PREDICTIONS), this::predicted);
    handle(topics.of(SHARDING_PLANS), this::plan);
    handle(topics.of(INFEASIBLE_WORKLOADS), this::infeasible);
    handle(topics.of(REJECTED_EVENTS), this::rejected);
    reader.open();
    reader.start("soak-answers");
  }

  private <V> void handle(Topic<V> topic, Consumer<V> handler) {
    reader.handle(
        topic, StartPosition.BEGINNING, (position, writtenAt, value) -> handler.accept(value));
  }

  private synchronized void fail(RuntimeException error) {
    failure = error;
  }

  /** Throws what ended the reading. */
  synchronized void check() {
    if (failure != null) {
      throw new IllegalStateException("Answers cannot be read: " + failure.getMessage(), failure);
    }
  }

  /** Returns the latest plan of each workload. */
  synchronized Map<String, ShardingPlan> latest() {
    return new TreeMap<>(latest);
  }

  /** Returns the id of the latest plan of each workload. */
  synchronized Map<String, String> latestIds() {
    Map<String, String> ids = new TreeMap<>();
    latest.forEach((workload, plan) -> ids.put(workload, plan.planId()));
    return ids;
  }

  /** An event is on the log. */
  synchronized void acknowledged(UUID eventId, String workloadId, SourcePosition position) {
    UnansweredEvent event = new UnansweredEvent(eventId, workloadId);
    RejectedEvent rejection = early.remove(position);
    if (rejection == null) {
      sent.put(position, event);
    } else {
      reject(event, rejection);
    }
  }

  private void reject(UnansweredEvent event, RejectedEvent rejection) {
    waits.answered(event.eventId(), System.nanoTime());
    ledger.add(
        new Ledger.ToldRejected(
            event.eventId().toString(),
            event.workloadId(),
            rejection.source(),
            rejection.reason()));
  }

  private synchronized void rejected(RejectedEvent rejection) {
    UnansweredEvent event = sent.remove(rejection.source());
    if (event == null) {
      early.put(rejection.source(), rejection);
    } else {
      reject(event, rejection);
    }
  }

  private synchronized void predicted(CostPredictions part) {
    // Models that follow predict generations again that are planned.
    if (part.generation() > planned.getOrDefault(part.workloadId(), 0L)
        && unplanned
                .computeIfAbsent(part.workloadId(), w -> new HashMap<>())
                .putIfAbsent(part.eventId(), part.generation())
            == null) {
      ledger.add(
          new Ledger.ToldAccepted(
              part.eventId().toString(), part.workloadId(), OptionalLong.of(part.generation())));
    }
  }

  private synchronized void plan(ShardingPlan plan) {
    latest.put(plan.workloadId(), plan);
    covered(plan.workloadId(), plan.generation(), Optional.of(plan.planId()));
  }

  private synchronized void infeasible(InfeasibleWorkload infeasible) {
    covered(infeasible.workloadId(), infeasible.generation(), Optional.empty());
  }

  private void covered(String workload, long generation, Optional<String> planId) {
    planned.merge(workload, generation, Math::max);
    long now = System.nanoTime();
    Iterator<Map.Entry<UUID, Long>> open =
        unplanned.getOrDefault(workload, new HashMap<>()).entrySet().iterator();
    while (open.hasNext()) {
      Map.Entry<UUID, Long> event = open.next();
      if (event.getValue() <= generation) {
        open.remove();
        waits.answered(event.getKey(), now);
        planId.ifPresent(
            id ->
                ledger.add(
                    new Ledger.ToldPlan(event.getKey().toString(), workload, id, generation)));
      }
    }
  }

  @Override
  public void close() {
    reader.close();
  }
}
