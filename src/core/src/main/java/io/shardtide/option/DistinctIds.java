package io.shardtide.option;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.DistinctShare;
import io.shardtide.workload.RowSpread;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.List;
import java.util.Optional;

/**
 * How many distinct ids the lookups of a rank's batch have, and what is left of a table's lookups
 * once each rank sends the distinct ones alone: TorchRec's {@code use_index_dedup}. An owner then
 * looks up each id once for each rank that has it. Blocks of rows that are hotter than the mean are
 * so by ids that repeat: of the excess, the share of distinct ids is taken to be left, nothing if
 * all repeat and all if none does.
 */
public final class DistinctIds {
  private DistinctIds() {}

  /**
   * Returns the share of a rank's lookups that are of distinct ids, above 0 and at most 1.
   *
   * <p>Between two measured numbers of samples, the logarithm of the share is taken to be linear in
   * the logarithm of the samples. Beyond them the share changes as the use of rows says, and
   * without any it is what the use of rows says, of lookups that do not depend on each other.
   *
   * @param table a table with lookups
   * @param samples samples of the rank
   * @param batchSize samples of all ranks, of which the table's reuse histogram is
   */
  public static double share(TableSpec table, double samples, int batchSize) {
    return share(table, RowUse.of(table, batchSize), samples);
  }

  private static double share(TableSpec table, RowUse use, double samples) {
    List<DistinctShare> known = table.distinctShare();
    for (int i = 1; i < known.size(); i++) {
      DistinctShare before = known.get(i - 1);
      DistinctShare after = known.get(i);
      if (before.samples() <= samples && samples <= after.samples()) {
        double along =
            StrictMath.log(samples / before.samples())
                / StrictMath.log((double) after.samples() / before.samples());
        return before.share() * StrictMath.pow(after.share() / before.share(), along);
      }
    }
    double estimate = estimate(table, use, samples);
    if (!known.isEmpty()) {
      DistinctShare nearest =
          samples < known.get(0).samples() ? known.get(0) : known.get(known.size() - 1);
      estimate *= nearest.share() / estimate(table, use, nearest.samples());
    }
    return Math.min(estimate, Math.min(1, table.rows() / table.lookups(samples, 1)));
  }

  private static double estimate(TableSpec table, RowUse use, double samples) {
    double lookups = table.lookups(samples, 1);
    return use.distinctRows(lookups) / lookups;
  }

  /**
   * Returns a table as it is looked up once ids are deduplicated, if a plan may do that: fewer
   * lookups for each sample, spread as distinct ids are.
   */
  static Optional<TableSpec> deduplicated(TableSpec table, PredictionInputs inputs) {
    boolean isPossible = !table.pooled() && inputs.devices() > 0 && table.poolingFactor() > 0;
    return isPossible && table.deduplicated().orElse(!table.distinctShare().isEmpty())
        ? Optional.of(deduplicated(table, inputs.devices(), inputs.batchSize()))
        : Optional.empty();
  }

  /** Returns an unpooled table with lookups as it is looked up once ids are deduplicated. */
  static TableSpec deduplicated(TableSpec table, ClusterSpec cluster) {
    return deduplicated(table, cluster.devices(), cluster.batchSize());
  }

  private static TableSpec deduplicated(TableSpec table, int devices, int batchSize) {
    double samples = (double) batchSize / devices;
    RowUse use = RowUse.of(table, batchSize);
    double share = share(table, use, samples);
    RowUse distinct = use.deduplicated(table.lookups(samples, 1));
    return TableSpecBuilder.builder(
            table.withoutUse().withPoolingFactor(table.poolingFactor() * share))
        .accessCdf(HotColdTable.cdf(distinct, 0, table.rows(), 1))
        .rowSpread(table.rowSpread().stream().map(of -> flattened(of, share)).toList())
        .deduplicated(Optional.empty())
        .build();
  }

  /** Returns a spread with so much of each block's difference from the mean, 0 to 1. */
  private static RowSpread flattened(RowSpread spread, double left) {
    double mean = 1.0 / spread.shares().size();
    return new RowSpread(
        spread.order(), spread.shares().stream().map(of -> mean + left * (of - mean)).toList());
  }
}
