package io.shardtide.cost;

import java.util.Arrays;

/**
 * The functions of a shard's shape that a {@link LogCorrection} of its computation is linear in:
 * kinds of shards, and ramps over the logarithms of columns, the table's lookups of an output,
 * rows, distinct rows and missed rows. Also coarse ramps for both columns and lookups, and for
 * columns of copies and of cached shards.
 */
public final class ShapeBasis {
  private static final Ramps COLUMNS = new Ramps(2, 0.5, 16);
  private static final Ramps LOOKUPS = new Ramps(-1, 0.25, 34);
  private static final Ramps ROWS = new Ramps(4, 2, 15);
  private static final Ramps DISTINCT = new Ramps(4, 1, 22);
  private static final Ramps MISSED = new Ramps(6, 2, 10);
  private static final Ramps WIDTHS = new Ramps(3, 2, 3);
  private static final Ramps BAGS = new Ramps(0, 2, 3);
  private static final int KINDS = 5;

  /** The number of functions. */
  public static final int SIZE =
      KINDS
          + COLUMNS.count()
          + LOOKUPS.count()
          + ROWS.count()
          + DISTINCT.count()
          + MISSED.count()
          + WIDTHS.count() * BAGS.count()
          + 2 * WIDTHS.count();

  private ShapeBasis() {}

  /**
   * Returns the functions of a shape. The first one is 1.
   *
   * @param phase where the knots lie, as a share of their distance, 0 to below 1
   */
  public static double[] of(ShardShape shape, double phase) {
    double[] basis = new double[SIZE];
    boolean isCached = shape.isCached();
    basis[0] = 1;
    basis[1] = shape.replicated() ? 1 : 0;
    basis[2] = isCached ? 1 : 0;
    basis[3] = shape.rowShare() < 1 ? 1 : 0;
    basis[4] = shape.weightBytes() < 4 ? 1 : 0;
    double columns = ShardFeatures.log2(shape.columns());
    double bag = ShardFeatures.log2(Math.max(1e-6, shape.tableLookupsPerOutput()));
    int at = COLUMNS.write(columns, phase, basis, KINDS);
    at = LOOKUPS.write(bag, phase, basis, at);
    at = ROWS.write(ShardFeatures.log2((double) shape.rows()), phase, basis, at);
    at = DISTINCT.write(ShardFeatures.log2(1 + shape.distinctRows()), phase, basis, at);
    at = MISSED.write(ShardFeatures.log2(1 + shape.missedRows()), phase, basis, at);
    double[] widths = new double[WIDTHS.count()];
    double[] bags = new double[BAGS.count()];
    WIDTHS.write(columns, phase, widths, 0);
    BAGS.write(bag, phase, bags, 0);
    for (double width : widths) {
      for (double lookups : bags) {
        basis[at++] = width * lookups;
      }
    }
    for (double width : widths) {
      basis[at++] = isCached ? width : 0;
    }
    for (double width : widths) {
      basis[at++] = shape.replicated() ? width : 0;
    }
    return basis;
  }

  /**
   * Returns how likely each function is a reason of what a model is off by, and how large its
   * weight is if it is none, relative to one another: kinds of shards, columns and lookups are more
   * likely reasons than rows and both together.
   */
  public static double[] scales() {
    double[] scales = new double[SIZE];
    Arrays.fill(scales, 0.15);
    Arrays.fill(scales, 0, KINDS, 0.7);
    scales[0] = 0.3;
    int at = KINDS + COLUMNS.count() + LOOKUPS.count();
    Arrays.fill(scales, KINDS, at, 0.3);
    at += ROWS.count() + DISTINCT.count();
    Arrays.fill(scales, at, at + MISSED.count(), 0.1);
    return scales;
  }
}
