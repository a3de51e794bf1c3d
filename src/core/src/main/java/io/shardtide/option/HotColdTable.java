package io.shardtide.option;

import io.shardtide.plan.HotRows;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * A table that is cut by use, as two tables: each has its own lookups, and its own part of the
 * access CDF.
 *
 * @param hot the most used rows, always copied
 * @param others all other rows, under the table's name
 */
public record HotColdTable(TableSpec hot, TableSpec others) {
  /** Fewer hot rows save too little; a power of 4, as entries of an access CDF. */
  private static final long LEAST_ROWS = 256;

  /**
   * More bytes of hot rows take too long: in an all-reduce at 100 GB/s, 1.3 ms a step. Of four
   * tasks on 8 to 128 devices, no table had more than a sixteenth of it.
   */
  private static final double MOST_BYTES = 1L << 26;

  /** Hot rows with a smaller share of the lookups save too little. */
  private static final double LEAST_LOOKUPS = 0.02;

  /** All other rows have at least this share of the lookups: a whole copy is another way. */
  private static final double LEAST_OTHER_LOOKUPS = 1e-6;

  private static final TableConstraints COPIED =
      TableConstraints.NONE.withKinds(Set.of(ShardKind.DATA_PARALLEL)).withMayBeCached(false);

  /**
   * Cuts a table by use.
   *
   * @param table a table whose access CDF is known
   * @param hotRows rows of the first of the two, above 0 and less than all
   */
  public static HotColdTable of(TableSpec table, long hotRows) {
    RowUse use = RowUse.of(table, 1);
    double share = use.lookupShare((double) hotRows);
    return new HotColdTable(
        part(table, use, 0, hotRows, share)
            .name(HotRows.name(table.name()))
            .constraints(COPIED)
            .build(),
        part(table, use, hotRows, table.rows(), 1 - share)
            .constraints(table.constraints().notCopied())
            .build());
  }

  private static TableSpecBuilder part(
      TableSpec table, RowUse use, long first, long end, double lookupShare) {
    TableSpec used = table.withoutUse().withPoolingFactor(table.poolingFactor() * lookupShare);
    return TableSpecBuilder.builder(used)
        .rows(end - first)
        .accessCdf(cdf(use, first, end, lookupShare));
  }

  static AccessCdf cdf(RowUse use, long first, long end, double lookupShare) {
    double before = use.lookupShare((double) first);
    List<Double> shares = new ArrayList<>();
    for (long rows = 1; rows < end - first; rows *= AccessCdf.FACTOR) {
      double share = (use.lookupShare((double) (first + rows)) - before) / lookupShare;
      double last = shares.isEmpty() ? Double.MIN_NORMAL : shares.get(shares.size() - 1);
      shares.add(Math.min(1, Math.max(last, share)));
    }
    shares.add(1.0);
    return new AccessCdf(shares);
  }

  /**
   * Returns the numbers of hot rows that a plan may choose among: powers of 4, for which the access
   * CDF says the lookups.
   *
   * <p>Only unpooled tables have some: of a pooled one, each device still sends and receives an
   * output for each sample, and a copy computes no less.
   */
  static List<Long> levels(TableSpec table, PredictionInputs inputs) {
    List<Long> levels = new ArrayList<>();
    TableConstraints constraints = table.constraints();
    boolean mayBeCut =
        !table.pooled()
            && inputs.devices() > 1
            && table.accessCdf().isKnown()
            && constraints.mayBeCutByUse()
            && table.kernel().computeKernel().isEmpty()
            && !constraints.isAlwaysCopied()
            && constraints.notCopied().allowSome(table.pooled())
            && constraints.sameDevicesAs().isEmpty()
            && !table.deduplicated().orElse(false)
            && HotRows.canBeNamed(table.name());
    if (!mayBeCut) {
      return levels;
    }
    RowUse use = RowUse.of(table, 1);
    double bytesPerRow = (double) table.columns() * Float.BYTES;
    for (long rows = LEAST_ROWS;
        rows * AccessCdf.FACTOR <= table.rows() && rows * bytesPerRow <= MOST_BYTES;
        rows *= AccessCdf.FACTOR) {
      double share = use.lookupShare((double) rows);
      if (share >= LEAST_LOOKUPS && 1 - share >= LEAST_OTHER_LOOKUPS) {
        levels.add(rows);
      }
    }
    return levels;
  }
}
