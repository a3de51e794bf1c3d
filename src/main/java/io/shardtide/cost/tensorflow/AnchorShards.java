package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.SampledShard;
import io.shardtide.cost.ShardShape;
import io.shardtide.cost.TableShapes;
import io.shardtide.cost.TrainedRange;
import io.shardtide.cost.TrainedRanges;
import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Draws anchors: shards that were not measured, on which a retrained model is regularized towards
 * its previous predictions. Half of them are of tables in the samples, at any width that a search
 * may choose; half are of random tables within the model's training range. Their rows are split or
 * copied as often as those of the samples.
 */
final class AnchorShards {
  private static final double UNKNOWN_REUSE = 0.2;

  private final List<TrainedRange> ranges;
  private final int batchSize;
  private final List<TableSpec> sampledTables;
  private final List<SampledShard> sampledShards;
  private final Random random;
  private int drawn;

  /**
   * @param champion model whose training ranges limit random tables
   * @param samples samples whose tables are drawn from
   * @param random source of all draws
   */
  AnchorShards(ModelBundle champion, SampleSet samples, Random random) {
    ranges = champion.ranges();
    batchSize = samples.reuseBatchSize();
    this.random = random;
    sampledTables = samples.tables();
    sampledShards = samples.compute().stream().flatMap(sample -> sample.shards().stream()).toList();
  }

  /** Draws shards. */
  List<ShardShape> draw(int count) {
    List<ShardShape> shards = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      boolean isSampled = i % 2 == 0;
      int index = isSampled ? random.nextInt(sampledShards.size()) : i % sampledShards.size();
      SampledShard sampled = sampledShards.get(index);
      TableSpec table = isSampled ? sampledTables.get(sampled.table()) : table();
      shards.add(shape(table, sampled));
    }
    return shards;
  }

  /** Returns a shape of a table whose rows are split or copied like those of another shard. */
  private ShardShape shape(TableSpec table, SampledShard like) {
    TableShapes shapes = new TableShapes(table, batchSize);
    return like.replicated()
        ? shapes.ofCopy(columns(), (int) Math.round(batchSize / like.samples()))
        : shapes.ofRows(columns(), like.rowShare());
  }

  private int columns() {
    int units = (int) Math.round(within(TrainedRanges.COLUMNS) / TableSpec.COLUMN_UNIT);
    return TableSpec.COLUMN_UNIT * Math.max(1, units);
  }

  private TableSpec table() {
    return new TableSpec(
        "drawn-" + drawn++,
        Math.max(1, Math.round(within(TrainedRanges.ROWS))),
        TableSpec.COLUMN_UNIT,
        Math.min(TableSpec.MAX_POOLING_FACTOR, within(TrainedRanges.LOOKUPS) / batchSize),
        random.nextDouble() < UNKNOWN_REUSE ? ReuseHistogram.UNKNOWN : reuse(),
        4);
  }

  /** Draws a value log-uniformly from the training range of a quantity. */
  private double within(String quantity) {
    TrainedRange range =
        ranges.stream().filter(r -> r.quantity().equals(quantity)).findFirst().orElseThrow();
    double low = StrictMath.log(Math.max(1, range.min()));
    double high = StrictMath.log(Math.max(1, range.max()));
    return StrictMath.exp(low + random.nextDouble() * (high - low));
  }

  /** Returns a histogram whose shares form a geometric sequence. */
  private ReuseHistogram reuse() {
    double factor = 0.05 + 1.1 * random.nextDouble();
    double[] shares = new double[ReuseHistogram.SIZE];
    double share = 1;
    double sum = 0;
    for (int k = 0; k < shares.length; k++) {
      shares[k] = share;
      sum += share;
      share *= factor;
    }
    List<Double> normalized = new ArrayList<>();
    for (double s : shares) {
      normalized.add(s / sum);
    }
    return new ReuseHistogram(normalized);
  }
}
