package io.shardtide.bench.soak;

import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.CURRENT_PREDICTIONS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.replay.LogRecords;
import io.shardtide.testing.RandomEvents;
import io.shardtide.wire.PredictionKey;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import io.shardtide.wire.Topics;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.WorkloadChange;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;

/** A log in memory, of one partition per topic, made by the real steps. Records may be changed. */
final class MemorySoakLog implements SoakLog {
  /** Offsets of records that a test adds begin here. */
  private static final long ADDED = 1_000_000;

  final Topics topics = Topics.withPrefix("");
  final Ledger ledger = new Ledger();
  private final Map<String, List<CommittedRecord<?>>> records = new HashMap<>();
  private final Map<String, ModelBundle> models;

  MemorySoakLog(RandomEvents events) {
    models = events.records().models();
    for (TopicType<?> kind : LogRecords.NAMES.keySet()) {
      addAll(kind, events);
    }
    events.rejected().forEach(rejected -> append(topics.of(REJECTED_EVENTS), rejected));
    for (CostPredictions part : events.records().all(TopicType.COST_PREDICTIONS)) {
      addCurrent(part);
    }
    addCurrentPlans(events);
    addTo(events);
  }

  private <V> void addAll(TopicType<V> kind, RandomEvents events) {
    events.records().all(kind).forEach(value -> append(topics.of(kind), value));
  }

  private void addCurrent(CostPredictions part) {
    String key = PredictionKey.of(part).text();
    if (part.isDeletion() || part.update().orElse(null) instanceof CostPredictions.Update.Dropped) {
      tombstone(topics.of(CURRENT_PREDICTIONS), key);
    } else if (part.update().isPresent()) {
      append(topics.of(CURRENT_PREDICTIONS), part);
    }
    if (part.isLast() && !part.isDeletion()) {
      append(topics.of(CURRENT_PREDICTIONS), part.withoutTable());
    }
  }

  /** A deletion comes after the plans of earlier generations, and before those of later ones. */
  private void addCurrentPlans(RandomEvents events) {
    List<CostPredictions> deletions =
        new ArrayList<>(
            events.records().all(TopicType.COST_PREDICTIONS).stream()
                .filter(CostPredictions::isDeletion)
                .toList());
    for (ShardingPlan plan : events.records().all(TopicType.SHARDING_PLANS)) {
      deletions.removeIf(
          deletion -> {
            boolean isBefore =
                deletion.workloadId().equals(plan.workloadId())
                    && deletion.generation() < plan.generation();
            if (isBefore) {
              tombstone(topics.of(CURRENT_PLANS), plan.workloadId());
            }
            return isBefore;
          });
      append(topics.of(CURRENT_PLANS), plan);
    }
    deletions.forEach(deletion -> tombstone(topics.of(CURRENT_PLANS), deletion.workloadId()));
  }

  /** What the publisher of these events was told: everything that is true. */
  private void addTo(RandomEvents events) {
    Map<SourcePosition, RejectedEvent> rejected = new HashMap<>();
    events.rejected().forEach(each -> rejected.put(each.source(), each));
    for (CommittedRecord<WorkloadChange> record : all(topics.of(WORKLOAD_CHANGES))) {
      WorkloadChange event = ((CommittedRecord.Stored<WorkloadChange>) record).value();
      String id = event.eventId().toString();
      ledger.add(
          new Ledger.Delivery(
              Ledger.InputKind.EVENT,
              id,
              event.workloadId(),
              Ledger.Validity.VALID,
              Optional.of(record.position())));
      Optional.ofNullable(rejected.get(record.position()))
          .ifPresentOrElse(
              why ->
                  ledger.add(
                      new Ledger.ToldRejected(
                          id, event.workloadId(), record.position(), why.reason())),
              () ->
                  ledger.add(
                      new Ledger.ToldAccepted(id, event.workloadId(), OptionalLong.empty())));
    }
    Set<String> answered = new HashSet<>();
    for (CostPredictions part : events.records().all(TopicType.COST_PREDICTIONS)) {
      String id = part.eventId().toString();
      if (answered.add(part.workloadId() + id)) {
        ledger.add(
            new Ledger.ToldAccepted(id, part.workloadId(), OptionalLong.of(part.generation())));
        events.records().all(TopicType.SHARDING_PLANS).stream()
            .filter(
                plan ->
                    plan.workloadId().equals(part.workloadId())
                        && plan.generation() >= part.generation())
            .findFirst()
            .ifPresent(
                plan ->
                    ledger.add(
                        new Ledger.ToldPlan(
                            id, part.workloadId(), plan.planId(), plan.generation())));
      }
    }
  }

  /** Returns the records of a topic, to be changed. */
  @SuppressWarnings({"unchecked", "rawtypes"}) // Only values of its topic are added.
  <V> List<CommittedRecord<V>> all(Topic<V> topic) {
    return (List) records.computeIfAbsent(topic.name(), name -> new ArrayList<>());
  }

  /** Adds a record at the end. */
  <V> void append(Topic<V> topic, V value) {
    all(topic).add(new CommittedRecord.Stored<>(next(topic), value));
  }

  private void tombstone(Topic<?> topic, String key) {
    all(topic).add(new CommittedRecord.Tombstone<>(next(topic), key));
  }

  private SourcePosition next(Topic<?> topic) {
    return new SourcePosition(topic.name(), 0, all(topic).size() + 1L);
  }

  /** Inserts a copy of a record after it. */
  <V> void repeat(Topic<V> topic, int index) {
    SourcePosition position = new SourcePosition(topic.name(), 0, ADDED + index);
    all(topic).add(index + 1, new CommittedRecord.Stored<>(position, value(topic, index)));
  }

  /** Exchanges the values of two records. */
  <V> void swap(Topic<V> topic, int one, int other) {
    V first = value(topic, one);
    replace(topic, one, value(topic, other));
    replace(topic, other, first);
  }

  /** Gives a record another value. */
  <V> void replace(Topic<V> topic, int index, V value) {
    all(topic).set(index, new CommittedRecord.Stored<>(all(topic).get(index).position(), value));
  }

  /** Returns a value of a topic. */
  <V> V value(Topic<V> topic, int index) {
    return ((CommittedRecord.Stored<V>) all(topic).get(index)).value();
  }

  @Override
  public Topics topics() {
    return topics;
  }

  @Override
  public <V> void read(Topic<V> topic, Consumer<CommittedRecord<V>> each) {
    all(topic).forEach(each);
  }

  @Override
  public Map<String, ModelBundle> models() {
    return models;
  }
}
