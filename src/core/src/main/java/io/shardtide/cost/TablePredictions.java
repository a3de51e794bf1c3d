package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.ReplicaGroups;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import io.shardtide.option.HotColdTable;
import io.shardtide.option.PredictionInputs;
import io.shardtide.option.TablePart;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;

/** Predicts tables with a model's tower: all shapes of all tables in one call. */
public final class TablePredictions {
  private TablePredictions() {}

  /**
   * The shapes of a table: those of each width on one device, then those of other parts.
   *
   * @param byUse those of the table cut by use
   */
  private record Shapes(
      TableSpec table, List<ShardShape> columns, List<ShardShape> parts, List<UseShapes> byUse) {
    Stream<ShardShape> all() {
      return Stream.of(
              columns.stream(),
              parts.stream(),
              byUse.stream().flatMap(use -> Stream.concat(use.hot().all(), use.others().all())))
          .flatMap(Function.identity());
    }
  }

  /**
   * The shapes of a table on all devices, and in each way to form replica groups.
   *
   * @param ofGroups on the devices of one group of each way
   */
  private record GroupedShapes(Shapes whole, List<Shapes> ofGroups) {
    Stream<ShardShape> all() {
      return Stream.concat(whole.all(), ofGroups.stream().flatMap(Shapes::all));
    }
  }

  private record UseShapes(long hotRows, Shapes hot, Shapes others) {}

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
      throw new RejectedException(
          RejectionReason.INVALID_CLUSTER,
          "replica groups of a cluster must allow 1, since model %s of %s does not predict the all-reduce of several, got %s"
              .formatted(model.bundle().shown(), model.hardware(), cluster.replicaGroups()));
    }
    return of(
        model,
        towers,
        tables,
        cluster.batchSize(),
        model.predictsAllKinds() ? Optional.of(cluster) : Optional.empty());
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
    return of(model, towers, tables, batchSize, Optional.empty());
  }

  private static List<TablePrediction> of(
      CostModel model,
      Towers towers,
      List<TableSpec> tables,
      int batchSize,
      Optional<ClusterSpec> cluster) {
    Optional<PredictionInputs> inputs = cluster.map(PredictionInputs::of);
    Map<ReplicaGroups, Optional<PredictionInputs>> groupings = new LinkedHashMap<>();
    for (ReplicaGroups groups : inputs.map(PredictionInputs::groupings).orElse(List.of())) {
      if (groups.areSeveral()) {
        groupings.put(groups, cluster.map(all -> PredictionInputs.of(all.group(groups))));
      }
    }
    List<GroupedShapes> shapes = new ArrayList<>();
    for (TableSpec table : tables) {
      List<Shapes> ofGroups =
          groupings.values().stream()
              .map(group -> shapes(table, group.orElseThrow().batchSize(), group))
              .toList();
      shapes.add(new GroupedShapes(shapes(table, batchSize, inputs), ofGroups));
    }
    Iterator<float[]> outputs =
        towers.apply(shapes.stream().flatMap(GroupedShapes::all).toList()).iterator();
    List<TablePrediction> predictions = new ArrayList<>();
    for (GroupedShapes of : shapes) {
      TablePrediction whole = prediction(of.whole(), outputs, model, inputs);
      List<GroupPrediction> byGroups = new ArrayList<>();
      groupings.forEach(
          (groups, group) -> {
            Shapes ofGroup = of.ofGroups().get(byGroups.size());
            byGroups.add(new GroupPrediction(groups, prediction(ofGroup, outputs, model, group)));
          });
      predictions.add(whole.withGroups(byGroups));
    }
    return predictions;
  }

  private static Shapes shapes(TableSpec table, int batchSize, Optional<PredictionInputs> inputs) {
    return shapes(table, batchSize, inputs, levels(table, inputs));
  }

  private static List<Long> levels(TableSpec table, Optional<PredictionInputs> inputs) {
    return inputs.map(of -> HotColdTable.levels(table, of)).orElse(List.of());
  }

  private static Shapes shapes(
      TableSpec table, int batchSize, Optional<PredictionInputs> inputs, List<Long> levels) {
    TableShapes shapes = new TableShapes(table, batchSize);
    List<ShardShape> columns = new ArrayList<>();
    for (int width = TableSpec.COLUMN_UNIT;
        width <= table.columns();
        width += TableSpec.COLUMN_UNIT) {
      columns.add(shapes.ofColumns(width));
    }
    List<UseShapes> byUse = new ArrayList<>();
    for (long hotRows : levels) {
      HotColdTable cut = HotColdTable.of(table, hotRows);
      ShardShape copy =
          new TableShapes(cut.hot(), batchSize)
              .ofCopy(table.columns(), inputs.orElseThrow().devices());
      byUse.add(
          new UseShapes(
              hotRows,
              new Shapes(cut.hot(), List.of(), List.of(copy), List.of()),
              shapes(cut.others(), batchSize, inputs, List.of())));
    }
    return new Shapes(
        table,
        columns,
        parts(table, inputs).stream().map(part -> shapes.of(part, inputs.orElseThrow())).toList(),
        byUse);
  }

  private static List<TablePart> parts(TableSpec table, Optional<PredictionInputs> inputs) {
    return inputs.map(of -> TablePart.of(table, of)).orElse(List.of());
  }

  private static TablePrediction prediction(
      Shapes shapes,
      Iterator<float[]> outputs,
      CostModel model,
      Optional<PredictionInputs> inputs) {
    TableSpec table = shapes.table();
    List<float[]> columns = new ArrayList<>();
    for (int i = 0; i < shapes.columns().size(); i++) {
      columns.add(outputs.next());
    }
    List<PartTower> parts = new ArrayList<>();
    for (TablePart part : parts(table, inputs)) {
      parts.add(new PartTower(part, outputs.next()));
    }
    List<HotColdPrediction> byUse = new ArrayList<>();
    for (UseShapes use : shapes.byUse()) {
      TablePrediction hot =
          new TablePrediction(
              use.hot().table(),
              List.of(),
              List.of(
                  new PartTower(new TablePart(ShardScope.COPIES, table.columns()), outputs.next())),
              List.of(),
              List.of(),
              List.of());
      byUse.add(
          new HotColdPrediction(
              use.hotRows(), hot, prediction(use.others(), outputs, model, inputs)));
    }
    ShardShape whole = shapes.columns().get(shapes.columns().size() - 1);
    return new TablePrediction(
        table, columns, parts, byUse, List.of(), model.limits().ofShape(table.name(), whole));
  }

  /** The tower: returns its output for each shape, in their order. */
  public interface Towers extends Function<List<ShardShape>, List<float[]>> {}
}
