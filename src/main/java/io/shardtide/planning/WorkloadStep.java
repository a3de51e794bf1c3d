package io.shardtide.planning;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.SourcePosition;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.Workload;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.domain.WorkloadHeader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The first step: applies a change to its workload and predicts the tables that it made new or
 * different.
 *
 * <p>While a workload has no cluster there is nothing to predict with; the event that sets the
 * cluster is followed by predictions of all tables, as is one that changes the batch size or the
 * hardware, and the first one after another model took over.
 */
public final class WorkloadStep {
  private final SortedMap<String, TowerPredictor> predictors;

  /**
   * @param predictors one for each hardware that there is a model for
   */
  public WorkloadStep(Map<String, TowerPredictor> predictors) {
    this.predictors = new TreeMap<>(predictors);
  }

  /**
   * Applies an event.
   *
   * @param store what is remembered; unchanged if the event is rejected
   * @param source where the event lies in the log
   * @param event the event
   * @return the predictions that follow from it, all of one generation; none while there is no
   *     cluster
   * @throws RejectedException if the event is not applied
   */
  public List<CostPredictions> apply(
      WorkloadStore store, SourcePosition source, WorkloadChange event) {
    String id = event.workloadId();
    if (store.wasApplied(id, event.eventId())) {
      throw new RejectedException(
          RejectionReason.DUPLICATE_EVENT,
          "Event %s was applied to workload \"%s\" before; legal is an id that is new"
              .formatted(event.eventId(), id));
    }
    WorkloadHeader header = store.header(id);
    Workload before = new Workload(id, header.generation(), header.cluster(), store.tables(id));
    Workload after = before.apply(event);
    Optional<TowerPredictor> predictor = after.cluster().map(this::predictorOf);
    Optional<String> modelId = predictor.map(TowerPredictor::modelId);
    List<CostPredictions> predictions =
        after.cluster().isEmpty()
            ? List.of()
            : predictions(
                source,
                event,
                before,
                after,
                predictor.get(),
                header.modelId().equals(modelId) && sameBatch(before, after));

    for (TableSpec table : after.tables().values()) {
      if (!table.equals(before.tables().get(table.name()))) {
        store.putTable(id, table);
      }
    }
    for (String table : before.tables().keySet()) {
      if (!after.tables().containsKey(table)) {
        store.removeTable(id, table);
      }
    }
    store.putHeader(id, new WorkloadHeader(after.generation(), after.cluster(), modelId));
    store.putApplied(id, event.eventId(), after.generation());
    return predictions;
  }

  private TowerPredictor predictorOf(ClusterSpec cluster) {
    TowerPredictor predictor = predictors.get(cluster.hardware());
    if (predictor == null) {
      throw new RejectedException(
          RejectionReason.UNKNOWN_HARDWARE,
          "There is no cost model for hardware \"%s\"; legal is hardware with one: %s"
              .formatted(cluster.hardware(), predictors.keySet()));
    }
    return predictor;
  }

  private static boolean sameBatch(Workload before, Workload after) {
    return before
        .cluster()
        .map(c -> c.batchSize() == after.cluster().orElseThrow().batchSize())
        .orElse(false);
  }

  private static List<CostPredictions> predictions(
      SourcePosition source,
      WorkloadChange event,
      Workload before,
      Workload after,
      TowerPredictor predictor,
      boolean onlyChanged) {
    ClusterSpec cluster = after.cluster().orElseThrow();
    List<TableSpec> toPredict =
        after.tables().values().stream()
            .filter(table -> !onlyChanged || !table.equals(before.tables().get(table.name())))
            .toList();
    List<Optional<Update>> updates = new ArrayList<>();
    for (String table : before.tables().keySet()) {
      if (!after.tables().containsKey(table)) {
        updates.add(Optional.of(new Update.Forgotten(table)));
      }
    }
    for (TablePrediction prediction : predictor.predict(toPredict, cluster.batchSize())) {
      updates.add(Optional.of(new Update.Predicted(prediction)));
    }
    if (updates.isEmpty()) {
      updates.add(Optional.empty());
    }
    List<CostPredictions> parts = new ArrayList<>();
    for (int part = 0; part < updates.size(); part++) {
      parts.add(
          new CostPredictions(
              after.id(),
              after.generation(),
              event.eventId(),
              source,
              predictor.modelId(),
              part,
              updates.size(),
              cluster,
              updates.get(part)));
    }
    return parts;
  }
}
