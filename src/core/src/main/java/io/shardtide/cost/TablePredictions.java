package io.shardtide.cost;

import io.shardtide.option.Option;
import io.shardtide.option.Options;
import io.shardtide.option.PredictionInputs;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Predicts tables with a model's tower: all shapes of all tables in one call. */
public final class TablePredictions {
  private TablePredictions() {}

  /**
   * The shapes of a table's options.
   *
   * @param shapes one for each option, in their order
   */
  private record Shapes(Options options, List<ShardShape> shapes) {
    static Shapes of(TableSpec table, PredictionInputs inputs) {
      Options options = Options.of(table, inputs);
      IdentityHashMap<TableSpec, TableShapes> ofTables = new IdentityHashMap<>();
      List<ShardShape> shapes = new ArrayList<>();
      for (Option option : options.all()) {
        shapes.add(
            ofTables
                .computeIfAbsent(
                    options.derived().of(table, option),
                    t -> new TableShapes(t, inputs.batchSize()))
                .of(option.part(), inputs));
      }
      return new Shapes(options, shapes);
    }

    TablePrediction prediction(TableSpec table, CostModel model, Iterator<float[]> outputs) {
      Map<Option, float[]> towers = new LinkedHashMap<>();
      options.all().forEach(option -> towers.put(option, outputs.next()));
      ShardShape whole = shapes.get(table.columns() / TableSpec.COLUMN_UNIT - 1);
      return new TablePrediction(
          table, towers, options.derived(), Map.of(), model.limits().ofShape(table.name(), whole));
    }
  }

  /**
   * Returns the predictions of tables for parts of all kinds that the model covers, in their order.
   *
   * @param model the model
   * @param towers returns the tower's output for each shape, in their order
   * @param tables the tables
   * @param cluster the devices and the batch
   * @throws RejectedException if there must be several replica groups, and the model does not
   *     predict their collectives
   */
  public static List<TablePrediction> ofAllKinds(
      CostModel model, Towers towers, List<TableSpec> tables, ClusterSpec cluster) {
    if (!model.predictsAllKinds() && !cluster.replicaGroups().contains(1)) {
      throw RejectionReason.INVALID_CLUSTER.failure(
          "replica groups of a cluster must allow 1, since model %s of %s does not predict the all-reduce of several, got %s"
              .formatted(model.bundle().shown(), model.hardware(), cluster.replicaGroups()));
    }
    if (!model.predictsAllKinds()) {
      return ofColumns(model, towers, tables, cluster.batchSize());
    }
    Map<ReplicaGroups, PredictionInputs> inputs = new LinkedHashMap<>();
    inputs.put(ReplicaGroups.ONE, PredictionInputs.of(cluster));
    for (ReplicaGroups groups : cluster.groupings()) {
      inputs.putIfAbsent(groups, PredictionInputs.of(cluster.group(groups)));
    }
    return of(model, towers, tables, inputs);
  }

  /**
   * Returns the predictions of tables for parts on one device, in their order.
   *
   * @param model the model
   * @param towers returns the tower's output for each shape, in their order
   * @param tables the tables
   * @param batchSize samples in a batch, over all devices
   */
  public static List<TablePrediction> ofColumns(
      CostModel model, Towers towers, List<TableSpec> tables, int batchSize) {
    return of(
        model, towers, tables, Map.of(ReplicaGroups.ONE, PredictionInputs.ofColumns(batchSize)));
  }

  private static List<TablePrediction> of(
      CostModel model,
      Towers towers,
      List<TableSpec> tables,
      Map<ReplicaGroups, PredictionInputs> inputs) {
    List<Shapes> shapes =
        tables.stream()
            .flatMap(table -> inputs.values().stream().map(of -> Shapes.of(table, of)))
            .toList();
    Iterator<Shapes> next = shapes.iterator();
    Iterator<float[]> outputs =
        towers.apply(shapes.stream().flatMap(of -> of.shapes().stream()).toList()).iterator();
    List<TablePrediction> predictions = new ArrayList<>();
    for (TableSpec table : tables) {
      Map<ReplicaGroups, TablePrediction> byGroups = new LinkedHashMap<>();
      for (ReplicaGroups groups : inputs.keySet()) {
        byGroups.put(groups, next.next().prediction(table, model, outputs));
      }
      predictions.add(byGroups.remove(ReplicaGroups.ONE).withGroups(byGroups));
    }
    return predictions;
  }

  /** The tower: returns its output for each shape, in their order. */
  public interface Towers extends Function<List<ShardShape>, List<float[]>> {}
}
