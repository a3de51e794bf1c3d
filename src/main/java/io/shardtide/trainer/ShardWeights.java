package io.shardtide.trainer;

import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Columns of a table in a device's memory: rows in chunks, so that a shard can be cut, moved and
 * joined chunk by chunk, with never more than one chunk in memory twice. Not thread-safe.
 */
final class ShardWeights {
  private static final int CHUNK_BITS = 12;
  private static final int CHUNK_ROWS = 1 << CHUNK_BITS;
  private static final int MASK = CHUNK_ROWS - 1;

  /** What weights begin within, plus and minus: small against the sums that they are pooled to. */
  private static final float INITIAL = 0.05f;

  private final String table;
  private final int columnOffset;
  private final int columns;
  private final List<float[]> chunks = new ArrayList<>();
  private double bytesPerElement;
  private long rows;

  private ShardWeights(
      String table, double bytesPerElement, int columnOffset, int columns, long rows) {
    this.table = table;
    this.bytesPerElement = bytesPerElement;
    this.columnOffset = columnOffset;
    this.columns = columns;
    this.rows = rows;
  }

  /**
   * Returns columns of a table as they are before any training: a function of table, row and
   * column.
   */
  static ShardWeights fresh(TableSpec table, int columnOffset, int columns) {
    ShardWeights shard =
        new ShardWeights(table.name(), table.bytesPerElement(), columnOffset, columns, 0);
    shard.resize(table.rows());
    return shard;
  }

  String table() {
    return table;
  }

  int columnOffset() {
    return columnOffset;
  }

  int columns() {
    return columns;
  }

  int columnEnd() {
    return columnOffset + columns;
  }

  long rows() {
    return rows;
  }

  /** Returns the bytes that a plan counts for it. */
  double bytes() {
    return (double) rows * columns * bytesPerElement;
  }

  /** Takes over how many bytes an element counts for, and frees rows that are gone. */
  void adapt(TableSpec table) {
    bytesPerElement = table.bytesPerElement();
    resize(Math.min(rows, table.rows()));
  }

  /** Returns a weight. */
  float weight(long row, int column) {
    return chunks
        .get((int) (row >> CHUNK_BITS))[(int) (row & MASK) * columns + column - columnOffset];
  }

  /** Frees rows at the end, or adds rows as they are before any training. */
  void resize(long newRows) {
    int count = (int) ((newRows + MASK) >> CHUNK_BITS);
    while (chunks.size() > count) {
      chunks.remove(chunks.size() - 1);
    }
    long kept = Math.min(rows, newRows);
    rows = newRows;
    for (int c = (int) (kept >> CHUNK_BITS); c < count; c++) {
      int length = rowsIn(c) * columns;
      float[] chunk = c < chunks.size() ? Arrays.copyOf(chunks.get(c), length) : new float[length];
      long first = (long) c << CHUNK_BITS;
      for (long row = Math.max(first, kept); row < first + rowsIn(c); row++) {
        long bits = SplitMixHash.mix(table, row);
        for (int k = 0; k < columns; k++) {
          chunk[(int) (row - first) * columns + k] =
              INITIAL * SplitMixHash.signed(SplitMixHash.mix(bits, columnOffset + k));
        }
      }
      if (c < chunks.size()) {
        chunks.set(c, chunk);
      } else {
        chunks.add(chunk);
      }
    }
  }

  private int rowsIn(int chunk) {
    return (int) Math.min(CHUNK_ROWS, rows - ((long) chunk << CHUNK_BITS));
  }

  /**
   * Takes shards apart and puts their columns together anew, chunk by chunk. The shards that are
   * given are empty afterwards.
   *
   * @param pieces shards of one table with the same rows, which together have all columns that are
   *     asked for
   * @param bounds the columns of each new shard: first, end, first, end ...
   * @return the new shards
   */
  static List<ShardWeights> regroup(List<ShardWeights> pieces, int... bounds) {
    ShardWeights any = pieces.get(0);
    List<ShardWeights> result = new ArrayList<>();
    for (int b = 0; b < bounds.length; b += 2) {
      result.add(
          new ShardWeights(
              any.table, any.bytesPerElement, bounds[b], bounds[b + 1] - bounds[b], any.rows));
    }
    for (int c = 0; c < any.chunks.size(); c++) {
      for (ShardWeights target : result) {
        float[] chunk = new float[any.rowsIn(c) * target.columns];
        for (ShardWeights piece : pieces) {
          copy(piece, c, target, chunk);
        }
        target.chunks.add(chunk);
      }
      for (ShardWeights piece : pieces) {
        piece.chunks.set(c, null);
      }
    }
    return result;
  }

  private static void copy(ShardWeights from, int c, ShardWeights to, float[] target) {
    int first = Math.max(from.columnOffset, to.columnOffset);
    int length = Math.min(from.columnEnd(), to.columnEnd()) - first;
    if (length <= 0) {
      return;
    }
    float[] source = from.chunks.get(c);
    for (int r = 0; r < from.rowsIn(c); r++) {
      System.arraycopy(
          source,
          r * from.columns + first - from.columnOffset,
          target,
          r * to.columns + first - to.columnOffset,
          length);
    }
  }

  /**
   * Pools: writes the sum of each sample's rows.
   *
   * @param lookups the rows
   * @param out a row of numbers for each sample
   * @param stride numbers in a row of {@code out}
   * @param at where this shard's columns begin in a row
   */
  void forward(Lookups lookups, float[] out, int stride, int at) {
    long[] rowsOf = lookups.rows();
    for (int s = 0; s < lookups.samples(); s++) {
      int o = s * stride + at;
      Arrays.fill(out, o, o + columns, 0f);
      for (int i = lookups.begin(s); i < lookups.end(s); i++) {
        long row = rowsOf[i];
        add(chunks.get((int) (row >> CHUNK_BITS)), (int) (row & MASK) * columns, out, o, columns);
      }
    }
  }

  private static void add(float[] weights, int w, float[] out, int o, int length) {
    for (int k = 0; k < length; k++) {
      out[o + k] += weights[w + k];
    }
  }

  /**
   * Updates by stochastic gradient descent, sample after sample: each row that a sample looked up
   * takes a step against the sample's gradient.
   *
   * @param gradients a row of numbers for each sample
   * @param rate the learning rate; 0 does the same work and changes nothing
   */
  void update(Lookups lookups, float[] gradients, int stride, int at, float rate) {
    long[] rowsOf = lookups.rows();
    for (int s = 0; s < lookups.samples(); s++) {
      int g = s * stride + at;
      for (int i = lookups.begin(s); i < lookups.end(s); i++) {
        long row = rowsOf[i];
        step(
            chunks.get((int) (row >> CHUNK_BITS)),
            (int) (row & MASK) * columns,
            gradients,
            g,
            columns,
            rate);
      }
    }
  }

  private static void step(
      float[] weights, int w, float[] gradients, int g, int length, float rate) {
    for (int k = 0; k < length; k++) {
      weights[w + k] -= rate * gradients[g + k];
    }
  }
}
