package io.shardtide.trainer;

import io.shardtide.domain.Region;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * The weights of a shard, a rectangle of a table, and the optimizer's state of each: its sum of
 * squared gradients if the table's optimizer has a state of elements (Adagrad), none otherwise
 * (stochastic gradient descent).
 *
 * <p>Rows are in chunks. Chunks begin at the same rows of the table in each shard, so that shards
 * are cut, moved and joined chunk by chunk, with at most one chunk in memory twice. Not
 * thread-safe.
 */
final class ShardWeights {
  private static final int CHUNK_BITS = 12;
  private static final int CHUNK_ROWS = 1 << CHUNK_BITS;
  private static final int MASK = CHUNK_ROWS - 1;

  /** Initial weights are uniform within plus and minus this. */
  private static final float INITIAL = 0.05f;

  /** Adagrad's epsilon; it also bounds what the rounding of a gradient near 0 changes. */
  private static final float EPSILON = 1e-3f;

  /** Bits of a sample's number. */
  private static final int SAMPLE_BITS = 20;

  private final Region region;
  private final int columns;

  /** Numbers of each element: the weight, and the optimizer's state if there is one. */
  private final int planes;

  /** Number in the table of the first chunk. */
  private final int firstChunk;

  /** Rows of the first chunk that are before this shard. */
  private final int skippedRows;

  /** Weights by rows, then states in the same order. */
  private final List<float[]> chunks = new ArrayList<>();

  private TableSpec table;

  private ShardWeights(TableSpec table, Region region) {
    this.table = table;
    this.region = region;
    columns = region.columns();
    planes = planes(table);
    firstChunk = (int) (region.rowOffset() >> CHUNK_BITS);
    skippedRows = (int) (region.rowOffset() & MASK);
  }

  private static int planes(TableSpec table) {
    return table.optimizerBytesPerElement() > 0 ? 2 : 1;
  }

  String table() {
    return table.name();
  }

  Region region() {
    return region;
  }

  /** Returns the bytes of the elements as a plan accounts them, without the state of rows. */
  long elementBytes() {
    return region.bytes(table) - rowBytes(region.rows());
  }

  /** Returns the bytes of the optimizer's state of some rows of this table. */
  long rowBytes(long rows) {
    return table.bytes(rows, 0);
  }

  /** Returns a weight. */
  float weight(long row, int column) {
    return chunks.get(chunk(row))[index(row) + column - region.columnOffset()];
  }

  /** Returns the optimizer's state of a weight; 0 if it has none. */
  float state(long row, int column) {
    float[] chunk = chunks.get(chunk(row));
    return planes == 1
        ? 0
        : chunk[chunk.length / planes + index(row) + column - region.columnOffset()];
  }

  private int chunk(long row) {
    return (int) (row >> CHUNK_BITS) - firstChunk;
  }

  /** Returns the position of a row in its chunk. */
  private int index(long row) {
    int skipped = row >> CHUNK_BITS == firstChunk ? skippedRows : 0;
    return ((int) (row & MASK) - skipped) * columns;
  }

  private int chunkEnd() {
    return (int) ((region.rowEnd() - 1) >> CHUNK_BITS) + 1;
  }

  /** Returns the part of this shard that is in a chunk, by the chunk's number in the table. */
  private Optional<Region> part(int chunk) {
    return region.intersection(
        new Region(region.columnOffset(), columns, (long) chunk << CHUNK_BITS, CHUNK_ROWS));
  }

  /** Returns a shard with the same weights. */
  ShardWeights copy() {
    ShardWeights copy = new ShardWeights(table, region);
    chunks.forEach(chunk -> copy.chunks.add(chunk.clone()));
    return copy;
  }

  /**
   * Regroups the elements of shards into new shards, chunk by chunk. Elements that none of them has
   * get initial weights, a function of table, row and column. The given shards must not be used
   * afterwards.
   *
   * @param table the table of all shards
   * @param pieces disjoint shards, in any order
   * @param regions the new shards
   */
  static List<ShardWeights> regroup(
      TableSpec table, List<ShardWeights> pieces, List<Region> regions) {
    if (pieces.stream().map(ShardWeights::region).toList().equals(regions)
        && pieces.stream().allMatch(piece -> piece.planes == planes(table))) {
      pieces.forEach(piece -> piece.table = table);
      return pieces;
    }
    List<ShardWeights> targets =
        regions.stream().map(region -> new ShardWeights(table, region)).toList();
    int first = targets.stream().mapToInt(target -> target.firstChunk).min().orElse(0);
    int end = targets.stream().mapToInt(ShardWeights::chunkEnd).max().orElse(0);
    for (int c = first; c < end; c++) {
      int chunk = c;
      for (ShardWeights target : targets) {
        target.part(c).ifPresent(part -> target.chunks.add(target.chunk(part, pieces)));
      }
      pieces.forEach(piece -> piece.part(chunk).ifPresent(part -> piece.free(chunk)));
    }
    return targets;
  }

  private void free(int chunk) {
    chunks.set(chunk - firstChunk, null);
  }

  private float[] chunk(Region part, List<ShardWeights> pieces) {
    float[] chunk = new float[(int) part.rows() * columns * planes];
    double known = 0;
    for (ShardWeights piece : pieces) {
      known += piece.region.intersection(part).map(Region::elements).orElse(0.0);
    }
    if (known < part.elements()) {
      initialize(part, chunk);
    }
    for (ShardWeights piece : pieces) {
      piece.region.intersection(part).ifPresent(common -> copy(piece, common, part, chunk));
    }
    return chunk;
  }

  private void initialize(Region part, float[] chunk) {
    int next = 0;
    for (long row = part.rowOffset(); row < part.rowEnd(); row++) {
      long bits = SplitMixHash.mix(table.name(), row);
      for (int column = part.columnOffset(); column < part.columnEnd(); column++) {
        chunk[next++] = INITIAL * SplitMixHash.signed(SplitMixHash.mix(bits, column));
      }
    }
  }

  private void copy(ShardWeights piece, Region common, Region part, float[] target) {
    float[] source = piece.chunks.get(piece.chunk(common.rowOffset()));
    int from =
        piece.index(common.rowOffset()) + common.columnOffset() - piece.region.columnOffset();
    int to =
        (int) (common.rowOffset() - part.rowOffset()) * columns
            + common.columnOffset()
            - part.columnOffset();
    for (int plane = 0; plane < Math.min(planes, piece.planes); plane++) {
      int sourcePlane = plane * (source.length / piece.planes) + from;
      int targetPlane = plane * (target.length / planes) + to;
      for (int r = 0; r < common.rows(); r++) {
        System.arraycopy(
            source,
            sourcePlane + r * piece.columns,
            target,
            targetPlane + r * columns,
            common.columns());
      }
    }
  }

  /**
   * Sum-pools the rows of each sample.
   *
   * @param lookups rows of this shard
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
        add(chunks.get(chunk(row)), index(row), out, o, columns);
      }
    }
  }

  private static void add(float[] values, int v, float[] sums, int s, int length) {
    for (int k = 0; k < length; k++) {
      sums[s + k] += values[v + k];
    }
  }

  /**
   * Updates the rows that samples look up: by stochastic gradient descent in the order of samples,
   * or by Adagrad with each row's gradients added in that order.
   *
   * @param lookups rows of this shard
   * @param gradients one row per sample
   * @param stride length of a row of {@code gradients}
   * @param offset position of this shard's columns in a row
   * @param learningRate the learning rate; with 0 the same work is done but nothing changes
   */
  void update(Lookups lookups, float[] gradients, int stride, int offset, float learningRate) {
    if (planes > 1) {
      updateByAdagrad(lookups, gradients, stride, offset, learningRate);
      return;
    }
    long[] lookupRows = lookups.rows();
    for (int s = 0; s < lookups.samples(); s++) {
      int g = s * stride + offset;
      for (int i = lookups.begin(s); i < lookups.end(s); i++) {
        long row = lookupRows[i];
        step(chunks.get(chunk(row)), index(row), gradients, g, columns, learningRate);
      }
    }
  }

  private static void step(
      float[] weights, int w, float[] gradients, int g, int length, float learningRate) {
    for (int k = 0; k < length; k++) {
      weights[w + k] -= learningRate * gradients[g + k];
    }
  }

  private void updateByAdagrad(
      Lookups lookups, float[] gradients, int stride, int offset, float learningRate) {
    long[] uses = lookups.rowsWithSamples(SAMPLE_BITS);
    float[] sum = new float[columns];
    for (int i = 0; i < uses.length; ) {
      long row = uses[i] >> SAMPLE_BITS;
      Arrays.fill(sum, 0f);
      for (; i < uses.length && uses[i] >> SAMPLE_BITS == row; i++) {
        int sample = (int) (uses[i] & ((1 << SAMPLE_BITS) - 1));
        add(gradients, sample * stride + offset, sum, 0, columns);
      }
      adagrad(chunks.get(chunk(row)), index(row), sum, columns, learningRate);
    }
  }

  private static void adagrad(
      float[] chunk, int first, float[] gradients, int length, float learningRate) {
    int states = chunk.length / 2 + first;
    float kept = learningRate == 0 ? 0 : 1;
    for (int k = 0; k < length; k++) {
      float state = chunk[states + k] + kept * gradients[k] * gradients[k];
      chunk[states + k] = state;
      chunk[first + k] -= learningRate * gradients[k] / ((float) Math.sqrt(state) + EPSILON);
    }
  }

  /** Returns gradients of 0 for all elements, in chunks as the weights. */
  List<float[]> zeroGradients() {
    return chunks.stream().map(chunk -> new float[chunk.length / planes]).toList();
  }

  /**
   * Replaces the gradients of all elements by the sums of the gradients of the samples that look
   * them up, added in the order of samples.
   *
   * @param lookups rows of this shard
   * @param gradients one row per sample
   * @param stride length of a row of {@code gradients}
   * @param offset position of this shard's columns in a row
   * @param sums receives the sums, as {@link #zeroGradients}
   */
  void sumGradients(
      Lookups lookups, float[] gradients, int stride, int offset, List<float[]> sums) {
    sums.forEach(chunk -> Arrays.fill(chunk, 0f));
    long[] lookupRows = lookups.rows();
    for (int s = 0; s < lookups.samples(); s++) {
      int g = s * stride + offset;
      for (int i = lookups.begin(s); i < lookups.end(s); i++) {
        long row = lookupRows[i];
        add(gradients, g, sums.get(chunk(row)), index(row), columns);
      }
    }
  }

  /** Updates all elements by their gradients, with a learning rate as above. */
  void update(List<float[]> gradients, float learningRate) {
    for (int c = 0; c < chunks.size(); c++) {
      float[] sums = gradients.get(c);
      if (planes > 1) {
        adagrad(chunks.get(c), 0, sums, sums.length, learningRate);
      } else {
        step(chunks.get(c), 0, sums, 0, sums.length, learningRate);
      }
    }
  }
}
