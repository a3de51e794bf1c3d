package io.shardtide.client;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;

import io.shardtide.cost.CostPredictions;
import io.shardtide.log.EndOffsets;
import io.shardtide.log.StartPosition;
import io.shardtide.wire.Causes;
import io.shardtide.wire.EventHeaders;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import io.shardtide.workload.SourcePosition;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.header.Headers;

/**
 * Finds the outcomes of events that were sent. The planner writes predictions after it applied an
 * event of a workload with a cluster, and a rejection after it rejected one. After an event of a
 * workload without a cluster it writes nothing: such an event is accepted if the planner's consumer
 * group has passed it and no rejection is among the records written until then.
 */
final class PendingOutcomes extends OutcomeReader {
  /** Interval at which the planner's committed offsets are compared with the pending events. */
  private static final Duration OFFSETS_INTERVAL = Duration.ofMillis(250);

  /** Longest wait for an answer about offsets; the next interval tries again. */
  private static final int OFFSETS_TIMEOUT_MS = 5_000;

  private final EndOffsets endOffsets;
  private final String group;

  /**
   * Ends of the planner's topics when its group had passed an event. On the reader's thread only.
   */
  private final Map<UUID, Map<TopicPartition, Long>> ends = new HashMap<>();

  private volatile boolean closing;

  PendingOutcomes(Endpoint endpoint, Registry registry) {
    super(endpoint, registry);
    Topic<CostPredictions> predictions = endpoint.topics().of(COST_PREDICTIONS);
    group = endpoint.prefix() + Topics.WORKLOAD_APPLICATION;
    endOffsets = new EndOffsets(endpoint.clients(Map.of(), Map.of()));
    reader
        .handle(predictions, StartPosition.END, this::predicted)
        .skip(predictions, this::isOfOthers)
        .every(OFFSETS_INTERVAL, this::compareOffsets);
    start(endpoint);
  }

  /** A model that takes over predicts all workloads again, and each has many tables. */
  private boolean isOfOthers(Headers headers) {
    return EventHeaders.eventId(headers).filter(id -> !pending.contains(id)).isPresent();
  }

  private void predicted(SourcePosition position, Instant writtenAt, CostPredictions part) {
    pending.accept(
        part.eventId(),
        new Outcome.Accepted(OptionalLong.of(part.generation()), part.proxyHardware()));
  }

  private void compareOffsets() {
    Map<UUID, SourcePosition> written = pending.written();
    ends.keySet().retainAll(written.keySet());
    if (written.isEmpty()) {
      return;
    }
    try {
      compareOffsets(written);
    } catch (RuntimeException e) {
      // While the cluster does not answer, events stay pending; a closed client fails in many ways.
      if (!closing && Causes.find(e, RetriableException.class).isEmpty()) {
        throw new IllegalStateException(
            "The planner's offsets cannot be read: " + Causes.root(e).getMessage(), e);
      }
    }
  }

  private void compareOffsets(Map<UUID, SourcePosition> written) {
    Map<TopicPartition, OffsetAndMetadata> committed =
        endOffsets.committed(group, OFFSETS_TIMEOUT_MS);
    List<UUID> passed =
        written.keySet().stream().filter(id -> isPast(committed, written.get(id))).toList();
    if (!ends.keySet().containsAll(passed)) {
      // Uncommitted ends: a transaction can be visible in the group's offsets before it is here.
      Map<TopicPartition, OffsetSpec> latest = new HashMap<>();
      reader.partitions().forEach(p -> latest.put(p, OffsetSpec.latest()));
      Map<TopicPartition, Long> now = new HashMap<>();
      endOffsets
          .list(latest, new ListOffsetsOptions())
          .forEach((p, info) -> now.put(p, info.offset()));
      passed.forEach(id -> ends.putIfAbsent(id, now));
    }
    passed.stream()
        .filter(id -> reader.isPast(ends.get(id)))
        .forEach(
            id -> pending.accept(id, new Outcome.Accepted(OptionalLong.empty(), Optional.empty())));
  }

  private static boolean isPast(
      Map<TopicPartition, OffsetAndMetadata> committed, SourcePosition position) {
    OffsetAndMetadata next =
        committed.get(new TopicPartition(position.topic(), position.partition()));
    return next != null && next.offset() > position.offset();
  }

  @Override
  public void close() {
    closing = true;
    // Ends a request that the reader's thread waits for.
    endOffsets.close();
    super.close();
  }
}
