package io.shardtide.workload;

import io.shardtide.plan.HotRows;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * What a plan must keep to when it shards a table. A table that has constraints is cut into column
 * parts of equal width only, on different devices.
 *
 * <p>A table is never cut by columns if only {@code table_wise}, {@code row_wise}, {@code
 * table_row_wise} and {@code data_parallel} are allowed, or if the least width is above half its
 * columns. If column parts are all that is allowed, a table that is too narrow for two is one part,
 * as in TorchRec.
 *
 * @param kinds allowed kinds, in the order of {@link ShardKind}; empty if all are that need not be
 *     named
 * @param leastColumns least width of a column part, 0 to {@value TableSpec#MAX_COLUMNS}; a table
 *     that is narrower stays whole
 * @param sameDevicesAs name of a table that is sharded by the same kind, into equally many parts,
 *     on the same devices. Without effect while the workload does not have it
 * @param mayBeCached whether its rows may be in host memory, with a cache in device memory
 * @param mayHaveHotRows whether each device may have a copy of its most used rows ({@link
 *     HotRows}), if copies are an allowed kind
 */
@RecordBuilder
public record TableConstraints(
    Set<ShardKind> kinds,
    int leastColumns,
    Optional<String> sameDevicesAs,
    boolean mayBeCached,
    boolean mayHaveHotRows) {

  /** No constraints. */
  public static final TableConstraints NONE = new TableConstraints(Set.of(), 0, Optional.empty());

  /**
   * @throws RejectedException if the least width is outside its range, or the name is no name
   */
  public TableConstraints {
    kinds =
        Collections.unmodifiableSet(
            kinds.isEmpty() ? EnumSet.noneOf(ShardKind.class) : EnumSet.copyOf(kinds));
    Limits.of(RejectionReason.INVALID_CONSTRAINTS, "a table's constraints")
        .whole("least columns", leastColumns, 0, TableSpec.MAX_COLUMNS);
    sameDevicesAs.ifPresent(
        name ->
            Names.check(name, "table name in constraints", RejectionReason.INVALID_CONSTRAINTS));
  }

  /** Constraints of a table that may be cached and cut by use. */
  public TableConstraints(Set<ShardKind> kinds, int leastColumns, Optional<String> sameDevicesAs) {
    this(kinds, leastColumns, sameDevicesAs, true, true);
  }

  /**
   * Returns the kinds with TorchRec's names.
   *
   * @throws RejectedException if a name is no kind's
   */
  public static Set<ShardKind> kindsOf(Collection<String> names) {
    String what = "allowed kind of a table's constraints";
    return names.stream()
        .map(name -> Named.parse(ShardKind.class, name, what, RejectionReason.INVALID_CONSTRAINTS))
        .collect(Collectors.toCollection(() -> EnumSet.noneOf(ShardKind.class)));
  }

  /** Returns the allowed kinds as people read them: {@code row_wise, data_parallel}, say. */
  public String describeKinds() {
    return kinds.isEmpty() ? "all kinds" : Named.join(kinds);
  }

  /** Returns whether there are none. */
  public boolean isEmpty() {
    return equals(NONE);
  }

  /** Returns whether a kind is allowed. */
  public boolean allows(ShardKind kind) {
    return kinds.isEmpty() ? kind.isOfTorchRec() : kinds.contains(kind);
  }

  /** Returns the kinds that these exclude and others could allow; none if all kinds are allowed. */
  public Set<ShardKind> excludedKinds() {
    return kinds.isEmpty() ? Set.of() : EnumSet.complementOf(EnumSet.copyOf(kinds));
  }

  /**
   * Returns whether a table may be sharded by a kind, into column parts of equal width.
   *
   * @param columns columns of the table
   * @param parts number of parts, at least 1
   */
  public boolean allows(ShardKind kind, int columns, int parts) {
    boolean isWide = parts == 1 || columns / parts >= leastColumns;
    boolean isCut = parts > 1 || !canBeCut(columns);
    return allows(kind) && isWide && (kind.isCut() ? isCut : parts == 1);
  }

  /** Returns whether a table is wide enough for column parts of equal width. */
  private boolean canBeCut(int columns) {
    int units = columns / TableSpec.COLUMN_UNIT;
    return IntStream.rangeClosed(2, units)
        .filter(parts -> units % parts == 0)
        .limit(1)
        .anyMatch(parts -> columns / parts >= leastColumns);
  }

  /** Returns whether each device must have a copy. */
  public boolean isAlwaysCopied() {
    return kinds.equals(Set.of(ShardKind.DATA_PARALLEL));
  }

  /** Returns whether column parts with all rows must be on devices of one node. */
  public boolean keepsPartsInNode() {
    return !allows(ShardKind.COLUMN_WISE) && allows(ShardKind.TABLE_COLUMN_WISE);
  }

  /** Returns these constraints with other allowed kinds. */
  public TableConstraints withKinds(Set<ShardKind> allowed) {
    return TableConstraintsBuilder.builder(this).kinds(allowed).build();
  }

  /**
   * Returns these constraints of a table that cannot have copies, neither of all rows nor of hot
   * ones.
   *
   * @throws RejectedException if copies are all that is allowed
   */
  TableConstraints notCopied(String table) {
    if (isAlwaysCopied()) {
      throw RejectionReason.INVALID_CONSTRAINTS.failure(
          "constraints of hashed table %s must allow a kind other than %s, since each copy would store other ids; got %s"
              .formatted(Names.quote(table), ShardKind.DATA_PARALLEL.label(), describeKinds()));
    }
    return notCopied().withMayHaveHotRows(false);
  }

  /** Returns these constraints without copies of all rows. */
  public TableConstraints notCopied() {
    return withKinds(
        Arrays.stream(ShardKind.values())
            .filter(kind -> kind != ShardKind.DATA_PARALLEL && allows(kind))
            .collect(Collectors.toSet()));
  }

  /** Returns whether a plan may cut a table by use: into copies of hot rows, and other parts. */
  public boolean mayBeCutByUse() {
    return mayHaveHotRows && allows(ShardKind.DATA_PARALLEL);
  }

  /** Returns these constraints with another least width. */
  public TableConstraints withLeastColumns(int least) {
    return TableConstraintsBuilder.builder(this).leastColumns(least).build();
  }

  /** Returns these constraints without another table's devices. */
  public TableConstraints onAnyDevices() {
    return TableConstraintsBuilder.builder(this).sameDevicesAs(Optional.empty()).build();
  }

  /** Returns these constraints with or without leave to cache. */
  public TableConstraints withMayBeCached(boolean may) {
    return TableConstraintsBuilder.builder(this).mayBeCached(may).build();
  }

  /** Returns these constraints with or without leave to cut by use. */
  public TableConstraints withMayHaveHotRows(boolean may) {
    return TableConstraintsBuilder.builder(this).mayHaveHotRows(may).build();
  }

  /**
   * Returns whether some way to shard a table, on a cluster that is large enough, keeps to these.
   *
   * @param isPooled whether the table is pooled
   */
  public boolean allowSome(boolean isPooled) {
    return Arrays.stream(ShardKind.values())
        .filter(this::allows)
        .anyMatch(kind -> isPooled || !kind.isPooledOnly());
  }

  /** Checks that some way to shard a table, on a cluster that is large enough, keeps to these. */
  void check(String table, boolean isPooled) {
    if (sameDevicesAs.equals(Optional.of(table))) {
      throw RejectionReason.INVALID_CONSTRAINTS.failure(
          "constraints of table %s must name another table for the same devices, got the table itself"
              .formatted(Names.quote(table)));
    }
    if (!allowSome(isPooled)) {
      throw RejectionReason.INVALID_CONSTRAINTS.failure(
          "constraints of unpooled table %s contradict each other: it may only be %s, as only pooled tables can be; expected another kind"
              .formatted(Names.quote(table), describeKinds()));
    }
  }

  /** Checks that a kind is allowed by these constraints and by those of the table they refer to. */
  void checkWith(TableSpec other, String table) {
    boolean haveCommon =
        Arrays.stream(ShardKind.values())
            .anyMatch(kind -> allows(kind) && other.constraints().allows(kind));
    if (!haveCommon) {
      throw RejectionReason.INVALID_CONSTRAINTS.failure(
          "tables %s and %s must be on the same devices and need an allowed kind in common, got %s and %s"
              .formatted(
                  Names.quote(table),
                  Names.quote(other.name()),
                  describeKinds(),
                  other.constraints().describeKinds()));
    }
  }
}
