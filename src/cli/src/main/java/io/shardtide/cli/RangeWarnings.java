package io.shardtide.cli;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TablePrediction;
import io.shardtide.plan.OutOfRange;
import io.shardtide.plan.Shard;
import io.shardtide.workload.ClusterSpec;
import java.io.PrintWriter;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * What is to be known of the predictions of tasks: collectives, optimizers and caches that were not
 * measured, and values outside the cost model's training range.
 */
final class RangeWarnings {
  /** Values that are named of clusters and of tables; the others are counted. */
  private static final int NAMED_PLACES = 3;

  private final Set<String> unmeasured = new TreeSet<>();
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
  void addShards(CostModel model, List<Shard> shards) {
    model
        .bundle()
        .describeCaches(shards)
        .ifPresent(
            text -> unmeasured.add(text + "; these costs of cached shards were not measured"));
  }

  void print(PrintWriter err) {
    unmeasured.forEach(text -> err.printf("shardtide: warning: %s%n", Printable.of(text)));
    int left = print(err, clusters) + print(err, tables);
    if (left > 0) {
      err.printf("shardtide: warning: %,d more values are outside the training range%n", left);
    }
    err.flush();
  }

  /** Names the first values, and returns how many others there are. */
  private static int print(PrintWriter err, Collection<OutOfRange> outside) {
    outside.stream()
        .limit(NAMED_PLACES)
        .forEach(
            place ->
                err.printf(
                    "shardtide: warning: outside the cost model's training range: %s; predicted costs are extrapolated%n",
                    Printable.of(place.describe())));
    return Math.max(0, outside.size() - NAMED_PLACES);
  }
}
