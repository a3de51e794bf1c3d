package io.shardtide.cost;

import io.shardtide.cost.SplitTower.SplitPart;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;

/** Predicts tables with a model's tower: all shapes of all tables in one call. */
public final class TablePredictions {
  private TablePredictions() {}

  /** The shapes of a table: those of each width on one device, then those of split parts. */
  private record Shapes(TableSpec table, List<ShardShape> columns, List<ShardShape> splits) {}

  /**
   * Returns the predictions of tables for parts of all kinds that the model covers, in their order.
   *
   * @param model the model
   * @param towers returns the tower's output for each shape, in their order
   * @param tables the tables
   * @param cluster the devices and the batch
   */
  public static List<TablePrediction> ofAllKinds(
      CostModel model, Towers towers, List<TableSpec> tables, ClusterSpec cluster) {
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
    List<Shapes> shapes =
        tables.stream().map(table -> shapes(new TableShapes(table, batchSize), cluster)).toList();
    Iterator<float[]> outputs =
        towers
            .apply(
                shapes.stream()
                    .flatMap(of -> Stream.concat(of.columns().stream(), of.splits().stream()))
                    .toList())
            .iterator();
    return shapes.stream().map(of -> prediction(of, outputs, model, cluster)).toList();
  }

  private static Shapes shapes(TableShapes shapes, Optional<ClusterSpec> cluster) {
    TableSpec table = shapes.table();
    List<ShardShape> columns = new ArrayList<>();
    for (int width = TableSpec.COLUMN_UNIT;
        width <= table.columns();
        width += TableSpec.COLUMN_UNIT) {
      columns.add(shapes.ofColumns(width));
    }
    return new Shapes(
        table,
        columns,
        parts(table, cluster).stream()
            .map(part -> shapes.of(part, cluster.orElseThrow()))
            .toList());
  }

  private static List<SplitPart> parts(TableSpec table, Optional<ClusterSpec> cluster) {
    return cluster.map(devices -> SplitTower.parts(table, devices)).orElse(List.of());
  }

  private static TablePrediction prediction(
      Shapes shapes, Iterator<float[]> outputs, CostModel model, Optional<ClusterSpec> cluster) {
    TableSpec table = shapes.table();
    List<float[]> columns = new ArrayList<>();
    for (int i = 0; i < shapes.columns().size(); i++) {
      columns.add(outputs.next());
    }
    List<SplitTower> splits = new ArrayList<>();
    for (SplitPart part : parts(table, cluster)) {
      splits.add(new SplitTower(part.scope(), part.columns(), outputs.next()));
    }
    ShardShape whole = shapes.columns().get(shapes.columns().size() - 1);
    return new TablePrediction(table, columns, splits, model.limits().ofShape(table.name(), whole));
  }

  /** The tower: returns its output for each shape, in their order. */
  public interface Towers extends Function<List<ShardShape>, List<float[]>> {}
}
