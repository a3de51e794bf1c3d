package io.shardtide.domain;

import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * An embedding table and how a training batch uses it.
 *
 * @param name unique in its workload
 * @param rows number of rows (hash size), 1 to {@value #MAX_ROWS}
 * @param columns number of columns (embedding dimension), a multiple of {@value #COLUMN_UNIT} up to
 *     {@value #MAX_COLUMNS}
 * @param poolingFactor mean number of lookups per sample, 0 to {@value #MAX_POOLING_FACTOR}
 * @param reuseHistogram how often a batch uses the rows that it touches
 * @param bytesPerElement bytes that one element needs on its device, the weight plus the
 *     optimizer's state; above 0, at most {@value #MAX_BYTES_PER_ELEMENT}
 */
public record TableSpec(
    String name,
    long rows,
    int columns,
    double poolingFactor,
    ReuseHistogram reuseHistogram,
    double bytesPerElement) {

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

  /**
   * @throws RejectedException if a value is outside its range
   */
  public TableSpec {
    Names.check(name, "table name", RejectionReason.INVALID_TABLE_NAME);
    Objects.requireNonNull(reuseHistogram, "reuseHistogram");
    if (rows < 1 || rows > MAX_ROWS) {
      throw rejected(RejectionReason.INVALID_ROWS, "rows", name, "between 1 and 2^36", rows);
    }
    if (columns < COLUMN_UNIT || columns > MAX_COLUMNS || columns % COLUMN_UNIT != 0) {
      throw rejected(
          RejectionReason.INVALID_COLUMNS,
          "columns",
          name,
          "a multiple of %d between %d and %d".formatted(COLUMN_UNIT, COLUMN_UNIT, MAX_COLUMNS),
          columns);
    }
    if (!(poolingFactor >= 0 && poolingFactor <= MAX_POOLING_FACTOR)) {
      throw rejected(
          RejectionReason.INVALID_POOLING_FACTOR,
          "pooling factor",
          name,
          "between 0 and %.0f lookups per sample".formatted(MAX_POOLING_FACTOR),
          poolingFactor);
    }
    if (!(bytesPerElement > 0 && bytesPerElement <= MAX_BYTES_PER_ELEMENT)) {
      throw rejected(
          RejectionReason.INVALID_BYTES_PER_ELEMENT,
          "bytes per element",
          name,
          "above 0 and at most %.0f".formatted(MAX_BYTES_PER_ELEMENT),
          bytesPerElement);
    }
  }

  /** Returns tables by their names, which must be unique. */
  public static Map<String, TableSpec> byName(Collection<TableSpec> tables) {
    return tables.stream().collect(Collectors.toMap(TableSpec::name, Function.identity()));
  }

  /** Returns this table with another number of columns. */
  public TableSpec withColumns(int newColumns) {
    return new TableSpec(name, rows, newColumns, poolingFactor, reuseHistogram, bytesPerElement);
  }

  /** Returns this table with another reuse histogram. */
  public TableSpec withReuse(ReuseHistogram reuse) {
    return new TableSpec(name, rows, columns, poolingFactor, reuse, bytesPerElement);
  }

  /** Returns the bytes of some columns of the table, rounded up. */
  public long bytes(int ofColumns) {
    return (long) Math.ceil((double) rows * ofColumns * bytesPerElement);
  }

  /** Returns the bytes of the whole table. */
  public long bytes() {
    return bytes(columns);
  }

  private static RejectedException rejected(
      RejectionReason reason, String what, String table, String expected, Object value) {
    return new RejectedException(
        reason,
        "%s of table %s must be %s, got %s".formatted(what, Names.quote(table), expected, value));
  }
}
