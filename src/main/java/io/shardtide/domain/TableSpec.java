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
   * Widths are multiples of this: 4 floats are the 16 bytes that FBGEMM's kernels load at once, and
   * TorchRec accepts nothing narrower.
   */
  public static final int COLUMN_UNIT = 4;

  /**
   * The widest table. One prediction is recorded for every legal width, so that a record grows with
   * the square of nothing but with columns / 4; at this width it is 128 KiB.
   */
  public static final int MAX_COLUMNS = 4096;

  /**
   * Forty times the largest table that NVIDIA's synthetic models have; keeps bytes within 64 bits.
   */
  public static final long MAX_ROWS = 1L << 36;

  /** Above any bag that a batch could hold. */
  public static final double MAX_POOLING_FACTOR = 1_000_000;

  /** Eight 64-bit numbers per element. */
  public static final double MAX_BYTES_PER_ELEMENT = 64;

  /**
   * @throws RejectedException if a value is outside its legal range
   */
  public TableSpec {
    Names.check(name, "table name", RejectionReason.INVALID_TABLE_NAME);
    Objects.requireNonNull(reuseHistogram, "reuseHistogram");
    if (rows < 1 || rows > MAX_ROWS) {
      throw rejected(RejectionReason.INVALID_ROWS, name, rows + " rows", "1 to " + MAX_ROWS);
    }
    if (columns < COLUMN_UNIT || columns > MAX_COLUMNS || columns % COLUMN_UNIT != 0) {
      throw rejected(
          RejectionReason.INVALID_COLUMNS,
          name,
          columns + " columns",
          "multiples of %d from %d to %d".formatted(COLUMN_UNIT, COLUMN_UNIT, MAX_COLUMNS));
    }
    if (!(poolingFactor >= 0 && poolingFactor <= MAX_POOLING_FACTOR)) {
      throw rejected(
          RejectionReason.INVALID_POOLING_FACTOR,
          name,
          "a pooling factor of " + poolingFactor,
          "0 to %.0f lookups per sample".formatted(MAX_POOLING_FACTOR));
    }
    if (!(bytesPerElement > 0 && bytesPerElement <= MAX_BYTES_PER_ELEMENT)) {
      throw rejected(
          RejectionReason.INVALID_BYTES_PER_ELEMENT,
          name,
          bytesPerElement + " bytes per element",
          "more than 0, at most %.0f".formatted(MAX_BYTES_PER_ELEMENT));
    }
  }

  /** Returns tables by their names, of which no two are alike. */
  public static Map<String, TableSpec> byName(Collection<TableSpec> tables) {
    return tables.stream().collect(Collectors.toMap(TableSpec::name, Function.identity()));
  }

  /** Returns this table with another number of columns. */
  public TableSpec withColumns(int width) {
    return new TableSpec(name, rows, width, poolingFactor, reuseHistogram, bytesPerElement);
  }

  /** Returns this table with another reuse histogram. */
  public TableSpec withReuse(ReuseHistogram reuse) {
    return new TableSpec(name, rows, columns, poolingFactor, reuse, bytesPerElement);
  }

  /** Returns the bytes that {@code width} columns of the table fill, rounded up. */
  public long bytes(int width) {
    return (long) Math.ceil((double) rows * width * bytesPerElement);
  }

  /** Returns the bytes of the whole table. */
  public long bytes() {
    return bytes(columns);
  }

  private static RejectedException rejected(
      RejectionReason reason, String table, String value, String legal) {
    return new RejectedException(
        reason, "Table %s has %s; legal are %s".formatted(Names.quote(table), value, legal));
  }
}
