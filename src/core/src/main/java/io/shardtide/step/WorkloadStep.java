package io.shardtide.step;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.CostPredictionsBuilder;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.option.PredictionInputs;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.Workload;
import io.shardtide.workload.WorkloadChange;
import io.shardtide.workload.WorkloadState;
import io.shardtide.workload.WorkloadState.AppliedEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * The first step: applies an event to its workload and predicts the tables that are new or changed.
 *
 * <p>Without a cluster, nothing is predicted. An event that sets the cluster or changes its
 * devices, nodes, batch size, replica groups or hardware is followed by predictions of all tables,
 * and so is the first one after another model took over. One that changes its memory is followed by
 * predictions of the tables that caches may now have, or no longer ({@link PredictionInputs}).
 * Hardware without a model begins with that of the nearest hardware, if the settings say so.
 * Otherwise only the tables that an event names are read. The deletion of a workload is followed by
 * the removal of each table, and a last part that says so.
 *
 * @param predictors the current models
 */
public record WorkloadStep(Predictors predictors) {

  /** Applies an event whose predictions may have any size; see the other method. */
  public List<CostPredictions> apply(Workloads store, SourcePosition source, WorkloadChange event) {
    return apply(store, source, event, part -> {});
  }

  /**
   * Applies an event.
   *
   * @param store state; unchanged if the event is rejected
   * @param source where the event lies in the log
   * @param event the event
   * @param check is called with each prediction before anything is stored; an exception that it
   *     throws refuses the event
   * @return the predictions that follow from it, all of one generation; none without a cluster
   * @throws RejectedException if the event is not applied
   * @throws IllegalStateException if the current model cannot predict the cluster that the workload
   *     has already: no fault of the event, which another model can apply
   */
  public List<CostPredictions> apply(
      Workloads store,
      SourcePosition source,
      WorkloadChange event,
      Consumer<CostPredictions> check) {
    String id = event.workloadId();
    store.applied().check("workload", id, event.eventId());
    event.checkDistinct();
    WorkloadState header = store.header(id);
    Workload before = new Workload(id, header.generation(), header.cluster(), named(store, event));
    Workload after = before.apply(event);
    int added = after.tables().size() - before.tables().size();
    checkTables(store, id, added);
    Optional<TowerPredictor> predictor = after.cluster().map(this::predictorOf);
    WorkloadState next =
        new WorkloadState(
            after.generation(),
            after.cluster(),
            predictor.map(TowerPredictor::modelId),
            Optional.of(new AppliedEvent(event.eventId(), source)));
    List<TableSpec> changed =
        after.tables().values().stream()
            .filter(table -> !table.equals(before.tables().get(table.name())))
            .toList();
    List<String> dropped =
        before.tables().keySet().stream().filter(t -> !after.tables().containsKey(t)).toList();
    List<Update> updates = new ArrayList<>();
    dropped.forEach(name -> updates.add(new Update.Dropped(name)));
    List<CostPredictions> predictions = List.of();
    if (predictor.isPresent()) {
      List<TableSpec> tables = toPredict(header, next, changed, () -> all(store, after, dropped));
      updates.addAll(predict(header, next, tables, predictor.get()));
      predictions = parts(id, next, next, predictor.get().proxyHardware(), updates);
    } else if (header.cluster().isPresent()
        && event.changes().get(0) instanceof Change.WorkloadDeleted deleted) {
      updates.add(new Update.Deleted(deleted.reason()));
      predictions = parts(id, next, header, Optional.empty(), updates);
    }
    predictions.forEach(check);
    changed.forEach(table -> store.tables().put(id, table.name(), table));
    dropped.forEach(table -> store.tables().delete(id, table));
    store.tablesAdded(id, added);
    store.putHeader(id, next);
    store.applied().add(id, event.eventId(), after.generation());
    return predictions;
  }

  /** Returns whether a model other than the current one predicted a workload. */
  public boolean isOutdated(WorkloadState header) {
    return header.modelId().isPresent()
        && header
            .cluster()
            .flatMap(cluster -> predictors.of(cluster.hardware()))
            .map(current -> !current.modelId().equals(header.modelId().get()))
            .orElse(false);
  }

  /**
   * Predicts a workload again if another model than the current one predicted it.
   *
   * @param check as of {@link #apply(Workloads, SourcePosition, WorkloadChange, Consumer)}
   * @return predictions of all tables, of the same generation; none if the model is current
   */
  public List<CostPredictions> repredict(
      Workloads store, String workloadId, Consumer<CostPredictions> check) {
    WorkloadState header = store.header(workloadId);
    if (!isOutdated(header)) {
      return List.of();
    }
    TowerPredictor predictor = predictorOf(header.cluster().orElseThrow());
    WorkloadState next =
        new WorkloadState(
            header.generation(),
            header.cluster(),
            Optional.of(predictor.modelId()),
            header.lastEvent());
    List<TableSpec> tables = List.copyOf(store.tables().range(workloadId).values());
    List<CostPredictions> predictions =
        parts(
            workloadId,
            next,
            next,
            predictor.proxyHardware(),
            predict(header, next, tables, predictor));
    predictions.forEach(check);
    store.putHeader(workloadId, next);
    return predictions;
  }

  /**
   * Checks that an event does not add more tables than a workload may have. What had more before
   * there was a limit can still change, and drop tables.
   *
   * @param added tables that the event adds, less those that it drops
   */
  private static void checkTables(Workloads store, String id, int added) {
    if (added <= 0) {
      return;
    }
    int tables = store.tableCount(id) + added;
    if (tables > Workload.MAX_TABLES) {
      throw RejectionReason.TOO_MANY_TABLES.failure(
          "tables of workload \"%s\" must be at most %s, got %s with those that the event adds. Maybe drop unused tables, or plan parts of the model as workloads of their own"
              .formatted(id, Workload.MAX_TABLES, tables));
    }
  }

  /**
   * Returns the existing tables that an event names, and those whose devices they must share; a
   * deletion names all.
   */
  private static SortedMap<String, TableSpec> named(Workloads store, WorkloadChange event) {
    if (event.isDeletion()) {
      return store.tables().range(event.workloadId());
    }
    Set<String> names = new TreeSet<>();
    for (Change change : event.changes()) {
      if (change instanceof Change.OfTable of) {
        names.add(of.name());
      }
      if (change instanceof Change.TableUpserted upserted) {
        upserted.table().constraints().sameDevicesAs().ifPresent(names::add);
      }
    }
    SortedMap<String, TableSpec> tables = new TreeMap<>();
    for (String name : names) {
      store.tables().get(event.workloadId(), name).ifPresent(table -> tables.put(name, table));
    }
    return tables;
  }

  /** Returns all tables after an event; {@code after} has only those that the event names. */
  private static List<TableSpec> all(Workloads store, Workload after, List<String> dropped) {
    SortedMap<String, TableSpec> tables = store.tables().range(after.id());
    tables.putAll(after.tables());
    tables.keySet().removeAll(dropped);
    return List.copyOf(tables.values());
  }

  private TowerPredictor predictorOf(ClusterSpec cluster) {
    return predictors
        .of(cluster.hardware())
        .or(() -> predictors.begin(cluster))
        .orElseThrow(
            () ->
                RejectionReason.UNKNOWN_HARDWARE.failure(
                    "hardware must be one with a cost model, %s, got \"%s\"; correct the name, or train a model of this hardware: docs/MODELS.md. With models.unknown.hardware=nearest the planner begins with the nearest model"
                        .formatted(predictors.hardware(), cluster.hardware())));
  }

  /** Returns the tables that changed, and those whose predictions are no longer the same. */
  private static List<TableSpec> toPredict(
      WorkloadState before,
      WorkloadState after,
      List<TableSpec> changed,
      Supplier<List<TableSpec>> all) {
    if (before.cluster().isEmpty() || !before.modelId().equals(after.modelId())) {
      return all.get();
    }
    PredictionInputs then = PredictionInputs.of(before.cluster().get());
    PredictionInputs now = PredictionInputs.of(after.cluster().orElseThrow());
    if (then.equals(now)) {
      return changed;
    }
    Set<TableSpec> isChanged = Set.copyOf(changed);
    return all.get().stream()
        .filter(table -> isChanged.contains(table) || !now.predictAlike(table, then))
        .toList();
  }

  /**
   * Predicts tables.
   *
   * @throws IllegalStateException if the model refuses the cluster that the workload had before:
   *     the model is at fault then, not the event
   */
  private static List<Update> predict(
      WorkloadState before, WorkloadState after, List<TableSpec> tables, TowerPredictor predictor) {
    ClusterSpec cluster = after.cluster().orElseThrow();
    try {
      return predictor
          .predict(
              tables.stream()
                  .map(table -> table.withDefaultOptimizer(cluster.optimizer()))
                  .toList(),
              cluster)
          .stream()
          .<Update>map(Update.Predicted::new)
          .toList();
    } catch (RejectedException e) {
      if (!before.cluster().equals(after.cluster())) {
        throw e;
      }
      throw new IllegalStateException(
          "a model must predict the clusters that workloads have, got one that does not: %s. Maybe promote another one"
              .formatted(e.getMessage()));
    }
  }

  /**
   * Returns the parts of a generation's predictions: one for each update, at least one.
   *
   * @param of has the cluster and the model
   */
  private static List<CostPredictions> parts(
      String workloadId,
      WorkloadState after,
      WorkloadState of,
      Optional<String> proxyHardware,
      List<Update> updates) {
    AppliedEvent event = after.lastEvent().orElseThrow();
    int parts = Math.max(1, updates.size());
    return IntStream.range(0, parts)
        .mapToObj(
            part ->
                CostPredictionsBuilder.builder()
                    .workloadId(workloadId)
                    .generation(after.generation())
                    .eventId(event.eventId())
                    .source(event.source())
                    .modelId(of.modelId().orElseThrow())
                    .part(part)
                    .parts(parts)
                    .cluster(of.cluster().orElseThrow())
                    .proxyHardware(proxyHardware)
                    .update(updates.isEmpty() ? Optional.empty() : Optional.of(updates.get(part)))
                    .build())
        .toList();
  }
}
