package io.shardtide.replay;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Reads the predictions of each generation of a scope. Recorded predictions are checked against the
 * recorded events; without recorded predictions, the events are predicted.
 */
final class GenerationReader {
  private final LogRecords records;
  private final ReplayScope scope;
  private final Map<String, ModelBundle> bundles;
  private final ModelPredictors predictors;
  private final Optional<PredictionDeviation> deviation;
  private final List<String> problems = new ArrayList<>();
  private final List<String> notes = new ArrayList<>();

  /** Called with the predictions of each generation. */
  @FunctionalInterface
  interface GenerationHandler {
    /**
     * Handles a generation.
     *
     * @param group all parts of its predictions
     * @param occurredAt when its event occurred; the epoch if the event is not recorded
     */
    void accept(List<CostPredictions> group, Instant occurredAt);
  }

  /**
   * @param bundles the models by id; the last one of a hardware predicts
   * @param predictors their predictors
   * @param deviation compares recorded predictions with their model's; empty to skip that
   */
  GenerationReader(
      LogRecords records,
      ReplayScope scope,
      Map<String, ModelBundle> bundles,
      ModelPredictors predictors,
      Optional<PredictionDeviation> deviation) {
    this.records = records;
    this.scope = scope;
    this.bundles = bundles;
    this.predictors = predictors;
    this.deviation = deviation;
  }

  /** Returns contradictions between the records, for people. */
  List<String> problems() {
    return problems;
  }

  /** Returns what else a person should know. */
  List<String> notes() {
    return notes;
  }

  /** Reads all generations, in the order of the log. */
  void read(GenerationHandler handler) throws IOException {
    if (records.has(RecordKind.PREDICTIONS)) {
      readRecorded(handler);
    } else {
      notes.addAll(
          ReplayedPredictions.predict(
              records,
              bundles,
              predictors,
              (event, group) -> {
                if (!group.isEmpty() && scope.has(event.workloadId())) {
                  handler.accept(group, event.occurredAt());
                }
              }));
    }
  }

  private void readRecorded(GenerationHandler handler) throws IOException {
    boolean hasEvents = records.has(RecordKind.EVENTS);
    GenerationHistory history = GenerationHistory.read(records, scope::has);
    PredictionGroups groups =
        new PredictionGroups(
            group -> {
              Instant occurredAt = hasEvents ? check(history, group) : Instant.EPOCH;
              deviation.ifPresent(all -> all.add(group));
              handler.accept(group, occurredAt);
            });
    records.read(
        RecordKind.PREDICTIONS,
        part -> {
          if (scope.has(part.workloadId())) {
            groups.accept(part);
          }
        });
    groups.unfinished().ifPresent(problems::add);
    if (history.unmatched() > 0) {
      notes.add(
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
                problems.add(
                    "the predictions of generation %d of %s contradict the events: %s"
                        .formatted(part.generation(), part.workloadId(), problem)));
    return step.applied().isEmpty()
        ? Instant.EPOCH
        : step.applied().get(step.applied().size() - 1).event().occurredAt();
  }
}
