package io.shardtide.cli;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TableShapes;
import io.shardtide.plan.CacheMisses;
import io.shardtide.plan.OutOfRange;
import io.shardtide.plan.Shard;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

/**
 * What is to be known of the predictions of tasks: collectives, optimizers and caches that were not
 * measured, caches that are too small, and values outside the cost model's training range.
 */
final class RangeWarnings {
  /** Values that are named of clusters and of tables; the others are counted. */
  private static final int NAMED_PLACES = 3;

  private final Set<String> unmeasured = new TreeSet<>();
  private final Set<String> smallCaches = new TreeSet<>();
  private final Set<OutOfRange> clusters = new LinkedHashSet<>();
  private final Set<OutOfRange> tables = new TreeSet<>(OutOfRange.ORDER);

  /** Adds those of a task. */
  void add(CostModel model, ClusterSpec cluster, List<TablePrediction> predictions) {
    ModelBundle bundle = model.bundle();
    bundle
        .describeLinks()
        .ifPresent(text -> unmeasured.add(text + "; these costs of collectives were not measured"));
    bundle
        .describeOptimizers(predictions.stream().map(TablePrediction::table).toList())
        .ifPresent(unmeasured::add);
    clusters.addAll(model.limits().ofCluster(cluster));
    predictions.forEach(table -> tables.addAll(table.outOfRange()));
  }

  /** Adds those of the shards of a plan. */
  void addShards(CostModel model, List<TableSpec> tables, List<Shard> shards, ClusterSpec cluster) {
    for (CacheMisses misses : TableShapes.cacheMisses(tables, shards, cluster)) {
      if (misses.leastShare().isPresent()) {
        double share =
            Shard.byTable(shards).get(misses.table()).stream()
                .mapToDouble(shard -> shard.cacheShare().orElse(0))
                .max()
                .orElseThrow();
        smallCaches.add(
            String.format(
                Locale.ROOT,
                "the cache of table %s holds %.3g %% of its rows, and at least %.3g %% are needed at once; below that it is worse than no cache",
                misses.table(),
                100 * share,
                100 * misses.leastShare().getAsDouble()));
      }
    }
    model
        .bundle()
        .describeCaches(shards)
        .ifPresent(
            text -> unmeasured.add(text + "; these costs of cached shards were not measured"));
  }

  void print(PrintOption on) {
    unmeasured.forEach(on::warn);
    smallCaches.forEach(on::warn);
    int left = print(on, clusters) + print(on, tables);
    if (left > 0) {
      on.warn("%,d more values are outside the training range".formatted(left));
    }
  }

  /** Names the first values, and returns how many others there are. */
  private static int print(PrintOption on, Collection<OutOfRange> outside) {
    outside.stream()
        .limit(NAMED_PLACES)
        .forEach(
            place ->
                on.warn(
                    "outside the cost model's training range: %s; predicted costs are extrapolated"
                        .formatted(place.describe())));
    return Math.max(0, outside.size() - NAMED_PLACES);
  }
}
