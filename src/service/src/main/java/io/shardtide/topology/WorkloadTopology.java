package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_PREDICTIONS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.step.WorkloadStep;
import io.shardtide.step.Workloads;
import io.shardtide.wire.EventHeaders;
import io.shardtide.wire.PredictionKey;
import io.shardtide.wire.Topic;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Names;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.WorkloadChange;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.stream.Stream;
import org.apache.kafka.common.header.Headers;

/**
 * workload-changes to cost-predictions and, compacted, current-predictions: decodes and validates
 * events, applies them to workloads, and predicts the costs of new and changed tables. Events that
 * cannot be applied go to rejected-events with their original bytes.
 */
final class WorkloadTopology extends KeyedProcessor {
  private final WorkloadStep step;
  private final ArrivingModels models;
  private final SizeLimit<CostPredictions> sizes;
  private final Deque<String> outdated = new ArrayDeque<>();
  private Workloads store;

  /**
   * @param step applies events
   * @param models events wait for those of their hardware; a change triggers new predictions
   */
  WorkloadTopology(Skeleton skeleton, WorkloadStep step, ArrivingModels models) {
    super(skeleton);
    this.step = step;
    this.models = models;
    // The compacted topic takes the same records.
    sizes =
        new SizeLimit<>(
            skeleton.registry(),
            Stream.of(COST_PREDICTIONS, CURRENT_PREDICTIONS)
                .map(skeleton.topics()::of)
                .min(Comparator.comparingInt(Topic::maxMessageBytes))
                .orElseThrow());
    on(WORKLOAD_CHANGES, this::apply)
        .deletedBy(WorkloadChange::isDeletion)
        .when(event -> clusters(event).allMatch(models::isDecided));
  }

  @Override
  void open(KeyedStore.Opener stores) {
    store =
        new Workloads(
            stores.open(StoreName.WORKLOAD_HEADERS),
            stores.open(StoreName.WORKLOAD_TABLES),
            stores.open(StoreName.APPLIED_EVENTS));
  }

  private static Stream<ClusterSpec> clusters(WorkloadChange event) {
    return event.changes().stream()
        .filter(Change.ClusterSet.class::isInstance)
        .map(change -> ((Change.ClusterSet) change).cluster());
  }

  private void apply(WorkloadChange event, SourcePosition source, long timestamp) {
    forward(retry.call(() -> step.apply(store, source, event, this::checkSize)), timestamp);
    metrics.count(Metric.EVENTS_APPLIED);
  }

  /** Refuses predictions that are larger than a record may be, of a table with many shapes. */
  private void checkSize(CostPredictions part) {
    if (part.update().orElse(null) instanceof Update.Predicted predicted) {
      sizes
          .excess(part, Float.BYTES * predicted.prediction().numbers())
          .ifPresent(
              excess -> {
                throw RejectionReason.RECORD_TOO_LARGE.failure(
                    "The predictions of table %s are too large: %s. Maybe constrain its kinds, use fewer columns or groupings, or raise max.message.bytes of both topics of predictions"
                        .formatted(Names.quote(predicted.prediction().table().name()), excess));
              });
    }
  }

  @Override
  void resume(String workloadId) {
    if (step.isOutdated(store.header(workloadId))) {
      outdated.add(workloadId);
    }
  }

  @Override
  void work() {
    if (changed(models)) {
      outdated.clear();
      store.workloads().forEach(this::resume);
    }
    if (!outdated.isEmpty()) {
      String workloadId = outdated.removeFirst();
      isolate(
          workloadId,
          "prediction under a new model",
          () -> forward(step.repredict(store, workloadId, this::checkSize), nowMs()));
    }
  }

  private void forward(List<CostPredictions> predictions, long timestamp) {
    for (CostPredictions part : predictions) {
      Headers headers = EventHeaders.of(part.eventId(), part.generation());
      forward(part.workloadId(), part, timestamp, headers, COST_PREDICTIONS);
      if (part.update().isPresent()) {
        forwardCurrent(part, timestamp);
      }
      if (part.isLast()) {
        if (!part.isDeletion()) {
          forwardCurrent(part.withoutTable(), timestamp);
        }
        written();
      }
    }
  }

  /** Writes the latest predictions of a key; a tombstone for a dropped table or a deletion. */
  private void forwardCurrent(CostPredictions part, long timestamp) {
    boolean isGone = part.isDeletion() || part.update().orElse(null) instanceof Update.Dropped;
    forward(PredictionKey.of(part).text(), isGone ? null : part, timestamp, CURRENT_PREDICTIONS);
  }
}
