package io.shardtide.workload;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * An embedding table and how a training batch uses it.
 *
 * @param name unique in its workload
 * @param rows number of rows (hash size), 1 to {@value #MAX_ROWS}; of a hashed table, its capacity
 *     in slots
 * @param columns number of columns (embedding dimension), a multiple of {@value #COLUMN_UNIT} up to
 *     {@value #MAX_COLUMNS}
 * @param poolingFactor mean number of lookups that a step does for each sample of the cluster's
 *     batch, of all features together; 0 to {@value #MAX_POOLING_FACTOR}
 * @param reuseHistogram how often a batch uses the rows that it touches
 * @param bytesPerElement bytes of an element of the weights, and of the optimizer's state where it
 *     is not told apart; above 0, at most {@value #MAX_BYTES_PER_ELEMENT}
 * @param accessCdf how lookups spread over the rows; used instead of the histogram where both are
 *     known
 * @param optimizerBytesPerElement bytes of the optimizer's state for each element, 0 to {@value
 *     #MAX_BYTES_PER_ELEMENT}; if this and the next are 0, those of {@code optimizer}
 * @param optimizerBytesPerRow bytes of the optimizer's state for each row of each shard, 0 to
 *     {@value #MAX_BYTES_PER_ELEMENT}
 * @param constraints what plans must keep to
 * @param pooled whether the rows of a sample's lookups are summed, as in TorchRec's {@code
 *     EmbeddingBagCollection}; otherwise each lookup has an output, as in its {@code
 *     EmbeddingCollection}
 * @param optimizer what updates the weights; empty: what the cluster names
 * @param enforceHbm whether the state of a named optimizer is in device memory also where rows are
 *     cached (FBGEMM's {@code enforce_hbm}); if not, all of it is in host memory then
 * @param features the features whose ids are looked up in it; empty: one, with the table's pooling
 *     factor, all samples of the batch, and none of them twice. A list of one such feature becomes
 *     an empty one
 * @param idWeights where the weights of its ids come from; empty if ids have none
 * @param kernel how its lookups are computed, where the publisher decides that
 * @param storage the hash table that stores its rows; empty: it has a fixed number of rows. A
 *     hashed table is never copied, as each copy would store other ids: its constraints become ones
 *     that allow neither {@link ShardKind#DATA_PARALLEL} nor hot rows
 * @param distinctShare how ids repeat within a rank's batch, by samples; at most {@value
 *     #MAX_DISTINCT_SHARES}, empty when not measured
 * @param deduplicated whether each rank sends the distinct ids of its batch, of an unpooled table;
 *     empty: a plan decides it if {@code distinctShare} is known, else it is not
 * @param rowSpread how lookups spread over blocks of rows, in each order that the trainer can cut
 *     rows in, the preferred one first; empty: evenly
 */
@RecordBuilder
public record TableSpec(
    String name,
    long rows,
    int columns,
    double poolingFactor,
    ReuseHistogram reuseHistogram,
    double bytesPerElement,
    AccessCdf accessCdf,
    double optimizerBytesPerElement,
    double optimizerBytesPerRow,
    TableConstraints constraints,
    boolean pooled,
    Optional<Optimizer> optimizer,
    boolean enforceHbm,
    List<TableFeature> features,
    Optional<IdWeights> idWeights,
    TableKernel kernel,
    Optional<HashedStorage> storage,
    List<DistinctShare> distinctShare,
    Optional<Boolean> deduplicated,
    List<RowSpread> rowSpread) {

  /**
   * Columns of tables and shards are multiples of this: FBGEMM's kernels load 4 floats (16 bytes)
   * at once, and TorchRec accepts nothing narrower.
   */
  public static final int COLUMN_UNIT = 4;

  /**
   * The widest table. A record of predictions has one tower output for each multiple of 4 columns,
   * 128 KiB in total at this width.
   */
  public static final int MAX_COLUMNS = 4096;

  /** Forty times the largest table of NVIDIA's synthetic models; keeps bytes within 64 bits. */
  public static final long MAX_ROWS = 1L << 36;

  /** Above any bag that a batch could hold. */
  public static final double MAX_POOLING_FACTOR = 1_000_000;

  /** Eight 64-bit numbers per element. */
  public static final double MAX_BYTES_PER_ELEMENT = 64;

  /** More than the powers of 2 of an int. */
  public static final int MAX_DISTINCT_SHARES = 64;

  /** A share is written with a few digits. */
  private static final double DISTINCT_TOLERANCE = 1e-3;

  /**
   * @throws RejectedException if a value is outside its range, or the constraints contradict each
   *     other
   */
  public TableSpec {
    Names.check(name, "table name", RejectionReason.INVALID_TABLE_NAME);
    checkRows(rows, name);
    limits(RejectionReason.INVALID_COLUMNS, name)
        .check(
            columns >= COLUMN_UNIT && columns <= MAX_COLUMNS && columns % COLUMN_UNIT == 0,
            "columns",
            "a multiple of " + COLUMN_UNIT + " between " + COLUMN_UNIT + " and " + MAX_COLUMNS,
            columns);
    limits(RejectionReason.INVALID_POOLING_FACTOR, name)
        .in(" lookups per sample")
        .within("pooling factor", poolingFactor, 0, MAX_POOLING_FACTOR);
    limits(RejectionReason.INVALID_BYTES_PER_ELEMENT, name)
        .above("bytes per element", bytesPerElement, 0, MAX_BYTES_PER_ELEMENT)
        .within("optimizer bytes per element", optimizerBytesPerElement, 0, MAX_BYTES_PER_ELEMENT)
        .within("optimizer bytes per row", optimizerBytesPerRow, 0, MAX_BYTES_PER_ELEMENT);
    if (accessCdf.isKnown() && accessCdf.shares().size() != AccessCdf.size(rows)) {
      throw limits(RejectionReason.INVALID_ACCESS_CDF, name)
          .failure(
              "entries of the access CDF",
              "%s for its %s rows".formatted(AccessCdf.size(rows), rows),
              accessCdf.shares().size());
    }
    if (storage.isPresent()) {
      // Everything that plans follows from constraints: nothing else has to know.
      constraints = constraints.notCopied(name);
    }
    constraints.check(name, pooled);
    features = TableFeature.ofTable(features, name, poolingFactor);
    checkKernel(name, kernel, constraints);
    distinctShare = List.copyOf(distinctShare);
    rowSpread = List.copyOf(rowSpread);
    checkDistinctShare(name, rows, poolingFactor, distinctShare);
    limits(RejectionReason.INVALID_DISTINCT_SHARE, name)
        .check(
            !pooled || !deduplicated.orElse(false),
            "deduplicated",
            "false, since it is pooled",
            true);
    limits(RejectionReason.INVALID_ROW_SPREAD, name)
        .different("orders of row spreads", rowSpread.stream().map(of -> of.order().label()));
  }

  /**
   * A pooled table of which nothing more is known, with the optimizer's state in its elements and
   * without constraints.
   */
  public TableSpec(
      String name,
      long rows,
      int columns,
      double poolingFactor,
      ReuseHistogram reuseHistogram,
      double bytesPerElement) {
    this(
        name,
        rows,
        columns,
        poolingFactor,
        reuseHistogram,
        bytesPerElement,
        AccessCdf.UNKNOWN,
        0,
        0,
        TableConstraints.NONE,
        true,
        Optional.empty(),
        false,
        List.of(),
        Optional.empty(),
        TableKernel.NONE,
        Optional.empty(),
        List.of(),
        Optional.empty(),
        List.of());
  }

  /** Checks a number of rows. */
  static void checkRows(long rows, String table) {
    limits(RejectionReason.INVALID_ROWS, table).whole("rows", rows, 1, MAX_ROWS);
  }

  /** Checks that shares are in the order of samples, and no more ids than rows. */
  private static void checkDistinctShare(
      String name, long rows, double poolingFactor, List<DistinctShare> shares) {
    Limits limits = limits(RejectionReason.INVALID_DISTINCT_SHARE, name);
    limits.whole("distinct shares", shares.size(), 0, MAX_DISTINCT_SHARES);
    int before = 0;
    for (DistinctShare of : shares) {
      limits.whole("samples of a distinct share", of.samples(), before + 1L, Integer.MAX_VALUE);
      double lookups = of.samples() * poolingFactor;
      double distinct = of.share() * lookups;
      limits.check(
          distinct <= rows * (1 + DISTINCT_TOLERANCE)
              && distinct >= Math.min(1, lookups) * (1 - DISTINCT_TOLERANCE),
          "distinct share of %s samples".formatted(of.samples()),
          "of 1 to %s rows, in %s lookups".formatted(rows, lookups),
          of.share());
      before = of.samples();
    }
  }

  /** Checks that some kind that the constraints allow can be computed by the kernel. */
  private static void checkKernel(String name, TableKernel kernel, TableConstraints constraints) {
    if (kernel.computeKernel().isEmpty()) {
      return;
    }
    boolean isCached = kernel.isInHostMemory();
    boolean isPossible =
        Arrays.stream(ShardKind.values())
            .anyMatch(
                kind ->
                    constraints.allows(kind)
                        && kernel.allows(kind.scope(), isCached)
                        && !(isCached && !kind.mayBeCached()));
    if (!isPossible || (isCached && !constraints.mayBeCached())) {
      throw RejectionReason.INVALID_CONSTRAINTS.failure(
          "constraints of table %s must allow %s, since its compute kernel is %s; got %s%s"
              .formatted(
                  Names.quote(name),
                  isCached
                      ? "that it is cached, and a kind other than " + ShardKind.neverCached()
                      : "a kind other than data_parallel",
                  kernel.computeKernel().get().label(),
                  constraints.describeKinds(),
                  constraints.mayBeCached() ? "" : ", mayBeCached false"));
    }
  }

  /** Returns tables by their names, which must be unique. */
  public static Map<String, TableSpec> byName(Collection<TableSpec> tables) {
    return tables.stream().collect(Collectors.toMap(TableSpec::name, Function.identity()));
  }

  /** Returns this table with another number of columns, and without constraints. */
  public TableSpec withColumns(int newColumns) {
    return TableSpecBuilder.builder(this)
        .columns(newColumns)
        .constraints(TableConstraints.NONE)
        .build();
  }

  /**
   * Returns this table with another pooling factor, which its features share as before, and without
   * what was measured of its lookups by samples and by blocks of rows.
   */
  public TableSpec withPoolingFactor(double lookups) {
    return TableSpecBuilder.builder(this)
        .poolingFactor(lookups)
        .distinctShare(List.of())
        .rowSpread(List.of())
        .features(TableFeature.withLookups(features, lookups))
        .build();
  }

  /** Returns this table with the features that a step looks up in it, and their pooling factor. */
  public TableSpec withFeatures(List<TableFeature> others) {
    return TableSpecBuilder.builder(this)
        .poolingFactor(others.isEmpty() ? poolingFactor : TableFeature.lookups(others))
        .features(others)
        .build();
  }

  /** Returns this table with other constraints. */
  public TableSpec withConstraints(TableConstraints others) {
    return TableSpecBuilder.builder(this).constraints(others).build();
  }

  /**
   * Returns a table as an upsert leaves it. One that is hashed before and after keeps its capacity,
   * and why it has it, unless the publisher states a larger one: publishers state the initial
   * capacity, and resizes change it.
   *
   * @param before the table before the upsert, if there is one
   * @param stated the table as its publisher states it
   */
  public static TableSpec upserted(Optional<TableSpec> before, TableSpec stated) {
    Optional<HashedStorage> storage = before.flatMap(TableSpec::storage);
    return storage.isEmpty() || stated.storage.isEmpty() || stated.rows > before.get().rows
        ? stated
        : stated.resized(before.get().rows, storage.get().resizeReason());
  }

  /**
   * Returns this hashed table with another capacity. Its access CDF follows.
   *
   * @param slots its rows from now on
   * @param reason why, for people
   */
  TableSpec resized(long slots, Optional<String> reason) {
    HashedStorage resized =
        HashedStorageBuilder.builder(storage.orElseThrow()).resizeReason(reason).build();
    return TableSpecBuilder.builder(this)
        .rows(slots)
        .accessCdf(accessCdf.resized(slots))
        .distinctShare(distinctIn(slots))
        .storage(Optional.of(resized))
        .build();
  }

  /** Returns the distinct shares that so many rows allow: fewer slots hold fewer distinct ids. */
  private List<DistinctShare> distinctIn(long slots) {
    return distinctShare.stream()
        .map(
            of ->
                new DistinctShare(
                    of.samples(), Math.min(of.share(), slots / (of.samples() * poolingFactor))))
        .toList();
  }

  /**
   * Returns whether its publisher allows parts that get all ids, or distinct ones only; of copies,
   * which get none, whatever was said.
   */
  public boolean mayHave(boolean isDeduplicated, ShardScope scope) {
    return scope == ShardScope.COPIES || deduplicated.orElse(isDeduplicated) == isDeduplicated;
  }

  /** Returns whether a plan may keep its rows in host memory. */
  public boolean mayBeCached() {
    return constraints.mayBeCached() && kernel.mayBeInHostMemory();
  }

  /** Returns this table with its use by a batch unknown. */
  public TableSpec withoutUse() {
    return TableSpecBuilder.builder(this)
        .reuseHistogram(ReuseHistogram.UNKNOWN)
        .accessCdf(AccessCdf.UNKNOWN)
        .distinctShare(List.of())
        .build();
  }

  /** Returns this table with its access CDF unknown. */
  public TableSpec withoutCdf() {
    return TableSpecBuilder.builder(this).accessCdf(AccessCdf.UNKNOWN).build();
  }

  /**
   * Returns how many outputs a step has of a pooled table for each sample of the cluster's batch:
   * one for each sample of each feature, as often as it is looked up.
   */
  public double outputsPerSample() {
    return features.isEmpty() ? 1 : features.stream().mapToDouble(TableFeature::samples).sum();
  }

  /** Returns whether each sample of the batch has one output, as of a pooled table by default. */
  public boolean hasOneOutputPerSample() {
    return pooled && outputsPerSample() == 1;
  }

  /**
   * Returns how many lookups a device does for samples of the cluster's batch. This and {@link
   * #outputs} are all that features change in what a step costs.
   *
   * @param rowShare share of the rows that the device has, as often as they are used over the mean
   */
  public double lookups(double samples, double rowShare) {
    return samples * poolingFactor * rowShare;
  }

  /**
   * Returns how many outputs a device has for samples of the cluster's batch: {@link
   * #outputsPerSample} each, whatever rows the device has, or of an unpooled table one for each
   * lookup in its rows.
   *
   * @param rowShare share of the rows that the device has, as of {@link #lookups}
   */
  public double outputs(double samples, double rowShare) {
    return pooled ? samples * outputsPerSample() : lookups(samples, rowShare);
  }

  /**
   * Returns the block of rows that gets most lookups if the rows are split into so many, in the
   * order in which the hottest block gets the fewest, the preferred one of equal ones; empty if
   * lookups spread evenly.
   *
   * @param blocks number of blocks, at least 1
   */
  public Optional<RowSpread.Hottest> hottest(int blocks) {
    return rowSpread.stream()
        .map(of -> of.hottest(blocks))
        .min(Comparator.comparingDouble(RowSpread.Hottest::share));
  }

  /** Returns the bytes that the weight of a looked-up id takes in a step; 0 without weights. */
  public double weightBytesPerLookup() {
    return idWeights.map(IdWeights::bytesPerLookup).orElse(0);
  }

  /**
   * Returns the bytes of a shard of the table, rounded up: weights, optimizer state, and of a
   * hashed table the keys of its slots, which each shard has of its own rows. Without columns: of
   * the state and the keys of its rows alone.
   */
  public long bytes(long ofRows, int ofColumns) {
    // In this order, tables without optimizer bytes have the bytes that recorded plans give them.
    double ofElements = (double) ofRows * ofColumns * (bytesPerElement + stateBytesPerElement());
    return (long) Math.ceil(ofElements + ofRows * (stateBytesPerRow() + slotBytes()));
  }

  /**
   * Returns the bytes of device memory of a shard of the table, rounded up.
   *
   * @param cacheShare share of its rows that device memory holds, 0 if all are in host memory only;
   *     empty if it holds all
   * @param isAllocated whether as FBGEMM allocates it; if not, as TorchRec estimates it
   */
  public long bytes(long ofRows, int ofColumns, OptionalDouble cacheShare, boolean isAllocated) {
    return cacheShare.isEmpty()
        ? bytes(ofRows, ofColumns)
        : (long) Math.ceil(cacheShare.getAsDouble() * cachedBytes(ofRows, ofColumns))
            + uncachedBytes(ofRows, ofColumns, isAllocated);
  }

  /** Returns the bytes of host memory of a cached shard of the table, rounded up. */
  public long hostBytes(long ofRows, int ofColumns, boolean isAllocated) {
    return bytes(ofRows, ofColumns) - uncachedBytes(ofRows, ofColumns, isAllocated);
  }

  /**
   * Returns the bytes of a shard of the table of which a cache holds a share, rounded up: all but
   * the state of a named optimizer and the keys of a hashed table. Without a named optimizer, its
   * state is not told from weights.
   */
  public long cachedBytes(long ofRows, int ofColumns) {
    return bytes(ofRows, ofColumns)
        - stateBytes(ofRows, ofColumns * stateBytesPerElement())
        - keyBytes(ofRows);
  }

  /**
   * Returns the bytes of device memory of a cached shard of the table beside its cache, rounded up:
   * keys of a hashed table, which lookups search there, and a named optimizer's state, since
   * FBGEMM's caches hold weights only. TorchRec estimates all of it or none, as {@code enforceHbm}
   * says. FBGEMM always has there what is one number a row; of what is one number an element, the
   * first moment with {@code enforceHbm} ({@code construct_split_state}, and {@code enforce_hbm} of
   * {@code momentum1}).
   */
  private long uncachedBytes(long ofRows, int ofColumns, boolean isAllocated) {
    if (!isAllocated && !enforceHbm) {
      return keyBytes(ofRows);
    }
    double most = !isAllocated ? Double.MAX_VALUE : enforceHbm ? Optimizer.NUMBER_BYTES : 0;
    double ofElement = Math.min(stateBytesPerElement(), most);
    return keyBytes(ofRows) + stateBytes(ofRows, ofColumns * ofElement);
  }

  /** Returns the bytes of the keys of a hashed table's slots, rounded up; 0 of any other. */
  private long keyBytes(long ofRows) {
    return (long) Math.ceil(ofRows * slotBytes());
  }

  private double slotBytes() {
    return storage.map(HashedStorage::slotBytes).orElse(0.0);
  }

  /**
   * Returns the bytes of a named optimizer's state, with what is one number an element of a row.
   */
  private long stateBytes(long ofRows, double ofElements) {
    return optimizer.isEmpty()
        ? 0
        : (long) Math.ceil((double) ofRows * (ofElements + stateBytesPerRow()));
  }

  private boolean namesStateBytes() {
    return optimizerBytesPerElement > 0 || optimizerBytesPerRow > 0;
  }

  /** Returns the bytes of the optimizer's state for each element. */
  public double stateBytesPerElement() {
    return namesStateBytes()
        ? optimizerBytesPerElement
        : optimizer.map(Optimizer::bytesPerElement).orElse(0);
  }

  /** Returns the bytes of the optimizer's state for each row of each shard. */
  public double stateBytesPerRow() {
    return namesStateBytes()
        ? optimizerBytesPerRow
        : optimizer.map(Optimizer::bytesPerRow).orElse(0);
  }

  /** Returns this table with the optimizer of its cluster, if it names none. */
  public TableSpec withDefaultOptimizer(Optional<Optimizer> ofCluster) {
    return optimizer.isPresent() || ofCluster.isEmpty()
        ? this
        : TableSpecBuilder.builder(this).optimizer(ofCluster).build();
  }

  /** Returns the bytes of some columns of the table, rounded up. */
  public long bytes(int ofColumns) {
    return bytes(rows, ofColumns);
  }

  /** Returns the bytes of the whole table. */
  public long bytes() {
    return bytes(columns);
  }

  private static Limits limits(RejectionReason reason, String table) {
    return Limits.of(reason, "table", table);
  }
}
