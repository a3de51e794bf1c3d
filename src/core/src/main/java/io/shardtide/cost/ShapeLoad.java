package io.shardtide.cost;

import io.shardtide.option.TablePart;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.OutputType;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * What a shard of a shape adds to the load of its device. Holds its arrays without copies.
 *
 * @param tower what it adds to the device's sum of towers: {@link CostEvaluator#addend}
 * @param elements numbers that the shard contributes to the collectives of each scope in which it
 *     takes part: outputs times columns, scaled by {@link #sentShare}, or rows times columns of a
 *     copy; whole numbers, so that sums are exact in any order
 * @param memory bytes by {@linkplain Tiers tier}
 */
@SuppressWarnings("ArrayRecordComponent") // One for each shape of a search, never compared.
public record ShapeLoad(double[] tower, Map<ShardScope, Double> elements, long[] memory) {

  private static ShapeLoad of(
      double[] tower,
      ShardScope scope,
      double elements,
      ShardMemory memory,
      TableSpec table,
      ClusterSpec cluster) {
    return new ShapeLoad(tower, Map.of(scope, Math.rint(elements)), memory.tiers(table, cluster));
  }

  /**
   * Returns the load of a shard of a table.
   *
   * @param evaluator of the model whose tower it is
   * @param tower the tower's output for its shape
   */
  public static ShapeLoad of(
      CostEvaluator evaluator,
      float[] tower,
      TableSpec table,
      ShardShape shape,
      ShardScope scope,
      ClusterSpec cluster) {
    return of(
        evaluator.addend(
            tower,
            shape.replicated(),
            shape.weightBytes(),
            evaluator.hostMs(shape, table, cluster)),
        new TablePart(scope, shape.columns(), shape.cacheShare()).collectives(table),
        scope == ShardScope.COPIES
            ? (double) shape.rows() * shape.columns()
            : shape.outputElements() * sentShare(table, cluster),
        new ShardMemory(
            shape.rows(),
            shape.columns(),
            shape.outputs(),
            shape.lookups(),
            shape.replicated(),
            shape.cacheShare()),
        table,
        cluster);
  }

  /**
   * Returns the load of a part of a table on each of its devices.
   *
   * @param evaluator of the model whose tower it is
   * @param tower the tower's output for the part
   */
  public static ShapeLoad of(
      CostEvaluator evaluator,
      float[] tower,
      TablePart part,
      TableSpec table,
      ClusterSpec cluster) {
    boolean copied = part.scope() == ShardScope.COPIES;
    long rows = part.rows(table, cluster);
    double samples =
        copied ? (double) cluster.batchSize() / cluster.devices() : cluster.batchSize();
    double rowShare = rows / (double) table.rows();
    double lookupShare =
        rowShare * part.hotFactor(table, cluster.devices(), cluster.devicesPerNode());
    double outputs = table.outputs(samples, lookupShare);
    double lookups = table.lookups(samples, lookupShare);
    return of(
        evaluator.addend(
            tower, copied, table.bytesPerElement(), evaluator.hostMs(part, table, cluster)),
        part.collectives(table),
        (copied ? rows : outputs * sentShare(table, cluster)) * part.columns(),
        new ShardMemory(rows, part.columns(), outputs, lookups, copied, part.cacheShare()),
        table,
        cluster);
  }

  /**
   * Returns the bytes of an output on the wire as a share of those in single precision. Collectives
   * send outputs, and their gradients, in the format of the table that looked them up, as TorchRec
   * does; but where the cluster's collectives are quantized, in their format, whatever the table's
   * is.
   */
  public static double sentShare(TableSpec table, ClusterSpec cluster) {
    return cluster.areCollectivesQuantized()
        ? 1
        : table.kernel().outputBytes() / (double) OutputType.DEFAULT.bytes();
  }

  /** Returns several loads together. */
  public static ShapeLoad sum(List<ShapeLoad> loads) {
    ShapeLoad sum = loads.get(0);
    for (ShapeLoad more : loads.subList(1, loads.size())) {
      sum = sum.plus(more);
    }
    return sum;
  }

  private ShapeLoad plus(ShapeLoad other) {
    double[] sum = tower.clone();
    TowerSums.add(sum, other.tower);
    Map<ShardScope, Double> sent = new EnumMap<>(ShardScope.class);
    sent.putAll(elements);
    other.elements.forEach((scope, more) -> sent.merge(scope, more, Double::sum));
    long[] all = memory.clone();
    Tiers.add(all, other.memory, 1);
    return new ShapeLoad(sum, sent, all);
  }

  /** Returns the numbers that the shard contributes to the collectives of a scope. */
  public double elements(ShardScope scope) {
    return elements.getOrDefault(scope, 0.0);
  }

  /** Returns the bytes of device memory. */
  public long bytes() {
    return memory[Tiers.DEVICE];
  }
}
