package io.shardtide.trainer;

import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The weights of a shard: a range of columns of a table, with rows in chunks. Shards are cut, moved
 * and joined chunk by chunk, so that at most one chunk is in memory twice. Not thread-safe.
 */
final class ShardWeights {
  private static final int CHUNK_BITS = 12;
  private static final int CHUNK_ROWS = 1 << CHUNK_BITS;
  private static final int MASK = CHUNK_ROWS - 1;

  /** Initial weights are uniform within plus and minus this. */
  private static final float INITIAL = 0.05f;

  private final int columnOffset;
  private final int columns;
  private final List<float[]> chunks = new ArrayList<>();
  private TableSpec table;
  private long rows;

  private ShardWeights(TableSpec table, int columnOffset, int columns, long rows) {
    this.table = table;
    this.columnOffset = columnOffset;
    this.columns = columns;
    this.rows = rows;
  }

  /** Returns a shard with initial weights, which are a function of table, row and column. */
  static ShardWeights initial(TableSpec table, int columnOffset, int columns) {
    ShardWeights shard = new ShardWeights(table, columnOffset, columns, 0);
    shard.resize(table.rows());
    return shard;
  }

  String table() {
    return table.name();
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

  /** Returns the bytes of this shard as a plan accounts them. */
  long bytes() {
    return table.bytes(rows, columns);
  }

  /** Returns those of its bytes that do not grow with its columns: the state of its rows. */
  long rowBytes() {
    return table.bytes(rows, 0);
  }

  /** Adopts a changed table, and frees rows that it no longer has. */
  void shrinkTo(TableSpec changed) {
    table = changed;
    resize(Math.min(rows, changed.rows()));
  }

  /** Returns a weight. */
  float weight(long row, int column) {
    return chunks
        .get((int) (row >> CHUNK_BITS))[(int) (row & MASK) * columns + column - columnOffset];
  }

  /** Removes rows at the end, or adds rows with initial weights. */
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
        long bits = SplitMixHash.mix(table.name(), row);
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
   * Regroups the columns of shards into new shards, chunk by chunk. The given shards are empty
   * afterwards.
   *
   * @param pieces shards of one table with the same rows that cover all requested columns
   * @param bounds column ranges of the new shards: first, end, first, end ...
   * @return the new shards
   */
  static List<ShardWeights> regroup(List<ShardWeights> pieces, int... bounds) {
    ShardWeights any = pieces.get(0);
    List<ShardWeights> result = new ArrayList<>();
    for (int b = 0; b < bounds.length; b += 2) {
      result.add(new ShardWeights(any.table, bounds[b], bounds[b + 1] - bounds[b], any.rows));
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
   * Sum-pools the rows of each sample.
   *
   * @param lookups the rows
   * @param out receives the sums, one row per sample
   * @param stride length of a row of {@code out}
   * @param offset position of this shard's columns in a row
   */
  void forward(Lookups lookups, float[] out, int stride, int offset) {
    long[] lookupRows = lookups.rows();
    for (int s = 0; s < lookups.samples(); s++) {
      int o = s * stride + offset;
      Arrays.fill(out, o, o + columns, 0f);
      for (int i = lookups.begin(s); i < lookups.end(s); i++) {
        long row = lookupRows[i];
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
   * Updates the rows of each sample by stochastic gradient descent, in the order of samples.
   *
   * @param lookups the rows
   * @param gradients one row per sample
   * @param stride length of a row of {@code gradients}
   * @param offset position of this shard's columns in a row
   * @param learningRate the learning rate; with 0 the same work is done but no weight changes
   */
  void update(Lookups lookups, float[] gradients, int stride, int offset, float learningRate) {
    long[] lookupRows = lookups.rows();
    for (int s = 0; s < lookups.samples(); s++) {
      int g = s * stride + offset;
      for (int i = lookups.begin(s); i < lookups.end(s); i++) {
        long row = lookupRows[i];
        step(
            chunks.get((int) (row >> CHUNK_BITS)),
            (int) (row & MASK) * columns,
            gradients,
            g,
            columns,
            learningRate);
      }
    }
  }

  private static void step(
      float[] weights, int w, float[] gradients, int g, int length, float learningRate) {
    for (int k = 0; k < length; k++) {
      weights[w + k] -= learningRate * gradients[g + k];
    }
  }
}
