package io.shardtide.replay;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.step.Predictors;
import io.shardtide.step.WorkloadStep;
import io.shardtide.step.Workloads;
import io.shardtide.wire.Topics;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.SourcePosition;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiConsumer;

/**
 * Reads the predictions of each generation of a scope. Recorded predictions are checked against the
 * recorded events; without recorded predictions, the events are predicted.
 *
 * @param bundles the models by id; the last one of a hardware predicts
 * @param predictors their predictors
 * @param tally receives contradictions between the records, and notes
 */
record GenerationReader(
    LogRecords records,
    ReplayScope scope,
    Map<String, ModelBundle> bundles,
    ModelPredictors predictors,
    ReplayResult.Tally tally) {

  /**
   * Reads all generations, in the order of the log.
   *
   * @param handler takes all parts of the predictions of a generation, and when its event occurred:
   *     the epoch if the event is not recorded
   */
  void read(BiConsumer<List<CostPredictions>, Instant> handler) throws IOException {
    if (!records.has(COST_PREDICTIONS)) {
      predict(handler);
      return;
    }
    boolean hasEvents = records.has(WORKLOAD_CHANGES);
    GenerationHistory history = GenerationHistory.read(records, scope::has);
    PredictionGroups.read(
            records,
            scope::has,
            group -> handler.accept(group, hasEvents ? check(history, group) : Instant.EPOCH))
        .ifPresent(tally.problems::add);
    if (history.unmatched() > 0) {
      tally.notes.add(
          "%,d events at the end have no recorded predictions: rejected, before a cluster was set, or not applied yet"
              .formatted(history.unmatched()));
    }
  }

  /** Checks predictions against the events; returns when their event occurred. */
  private Instant check(GenerationHistory history, List<CostPredictions> group) {
    GenerationHistory.GenerationStep step = history.advance(group);
    CostPredictions part = group.get(0);
    step.problem()
        .ifPresent(
            problem ->
                tally.problems.add(
                    "the predictions of generation %d of %s contradict the events: %s"
                        .formatted(part.generation(), part.workloadId(), problem)));
    return step.applied().isEmpty()
        ? Instant.EPOCH
        : step.applied().get(step.applied().size() - 1).event().occurredAt();
  }

  private void predict(BiConsumer<List<CostPredictions>, Instant> handler) throws IOException {
    WorkloadStep step = new WorkloadStep(current());
    Workloads store = Workloads.inMemory();
    String topic = Topics.withPrefix(Topics.DEFAULT_PREFIX).of(WORKLOAD_CHANGES).name();
    long[] offset = {0};
    records.read(
        WORKLOAD_CHANGES,
        event -> {
          try {
            SourcePosition source = new SourcePosition(topic, 0, offset[0]++);
            List<CostPredictions> group = step.apply(store, source, event);
            if (!group.isEmpty() && scope.has(event.workloadId())) {
              handler.accept(group, event.occurredAt());
            }
          } catch (RejectedException e) {
            tally.notes.add(
                "event %s was rejected with %s: %s"
                    .formatted(event.eventId(), e.reason(), e.getMessage()));
          }
        });
  }

  private Predictors current() {
    Map<String, String> byHardware = new TreeMap<>();
    bundles.values().forEach(bundle -> byHardware.put(bundle.hardware(), bundle.modelId()));
    return new Predictors() {
      @Override
      public Optional<TowerPredictor> of(String hardware) {
        return Optional.ofNullable(byHardware.get(hardware)).flatMap(predictors::of);
      }

      /** A log has the models that hardware began with; files of events alone have none. */
      @Override
      public Optional<TowerPredictor> begin(ClusterSpec cluster) {
        return Optional.empty();
      }

      @Override
      public SortedSet<String> hardware() {
        return new TreeSet<>(byHardware.keySet());
      }
    };
  }
}
