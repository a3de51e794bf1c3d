package io.shardtide.search;

import io.shardtide.cost.SplitTower;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ByteSizes;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shortfall;
import io.shardtide.domain.Shortfall.TableBytes;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Explains why a workload does not fit, and names the tables to blame. */
public final class Feasibility {
  /** As many as a person reads; sizes fall off quickly after the first few. */
  private static final int MAX_BLAMED = 20;

  private static final Comparator<TableSpec> LARGEST_FIRST =
      Comparator.comparingLong((TableSpec t) -> -t.bytes()).thenComparing(TableSpec::name);

  private Feasibility() {}

  /**
   * The smallest part of a table that is on one device.
   *
   * @param bytes its bytes, without what a step needs beside them
   * @param shown what it is, for people
   */
  private record SmallestPart(TableSpec table, long bytes, String shown) {
    static final Comparator<SmallestPart> LARGEST_LAST =
        Comparator.comparingLong(SmallestPart::bytes)
            .thenComparing(
                Comparator.comparing((SmallestPart part) -> part.table().name()).reversed());

    static SmallestPart ofColumns(TableSpec table) {
      return new SmallestPart(
          table,
          table.bytes(TableSpec.COLUMN_UNIT),
          "The narrowest shard of table %s, %d columns"
              .formatted(table.name(), TableSpec.COLUMN_UNIT));
    }

    static SmallestPart of(TablePrediction prediction, ClusterSpec cluster) {
      SmallestPart smallest = ofColumns(prediction.table());
      for (SplitTower split : prediction.splits()) {
        long rows = split.rows(prediction.table(), cluster);
        long bytes = prediction.table().bytes(rows, split.columns());
        if (bytes < smallest.bytes()) {
          smallest =
              new SmallestPart(
                  prediction.table(),
                  bytes,
                  "The smallest shard of table %s, %,d rows of %d columns"
                      .formatted(prediction.table().name(), rows, split.columns()));
        }
      }
      return smallest;
    }
  }

  /**
   * Returns why no plan of columns can exist, or null if that is not proved.
   *
   * @param tables tables that are cut by columns only
   */
  public static Shortfall refute(List<TableSpec> tables, ClusterSpec cluster) {
    return refute(tables, tables.stream().map(SmallestPart::ofColumns).toList(), cluster);
  }

  /** Returns why no plan of predicted parts can exist, or null if that is not proved. */
  public static Shortfall refutePredicted(List<TablePrediction> tables, ClusterSpec cluster) {
    return refute(
        tables.stream().map(TablePrediction::table).toList(),
        tables.stream().map(table -> SmallestPart.of(table, cluster)).toList(),
        cluster);
  }

  private static Shortfall refute(
      List<TableSpec> tables, List<SmallestPart> parts, ClusterSpec cluster) {
    long memory = cluster.usableBytesPerDevice();
    List<SmallestPart> tooTall = parts.stream().filter(part -> part.bytes() > memory).toList();
    if (!tooTall.isEmpty()) {
      SmallestPart worst = tooTall.stream().max(SmallestPart.LARGEST_LAST).orElseThrow();
      return new Shortfall(
          worst.bytes() - memory,
          true,
          blame(tooTall.stream().map(SmallestPart::table).toList(), tooTall.size()),
          "%s, needs %s, and a device has %s. Maybe use fewer rows or fewer bytes per element"
              .formatted(
                  worst.shown(), ByteSizes.describe(worst.bytes()), ByteSizes.describe(memory)));
    }
    // In double first: the sum of very many tables may not fit a long.
    double roughly = tables.stream().mapToDouble(TableSpec::bytes).sum();
    long needed =
        roughly < 0x1p62 ? tables.stream().mapToLong(TableSpec::bytes).sum() : Long.MAX_VALUE;
    long available = cluster.usableBytes();
    if (needed <= available) {
      return null;
    }
    return new Shortfall(
        needed - available,
        true,
        blame(tables, countToFit(tables, needed - available)),
        "The tables need %s, and %d devices of %s have %s"
            .formatted(
                ByteSizes.describe(needed),
                cluster.devices(),
                ByteSizes.describe(memory),
                ByteSizes.describe(available)));
  }

  /** Returns the result of a search that left so many bytes without a device. */
  public static Shortfall notFound(
      List<TableSpec> tables, ClusterSpec cluster, long unplacedBytes) {
    return new Shortfall(
        unplacedBytes,
        false,
        blame(tables, countToFit(tables, unplacedBytes)),
        ("No placement was found: the best attempt left %s without a device of the %d with %s each."
                + " That none exists is not proved")
            .formatted(
                ByteSizes.describe(unplacedBytes),
                cluster.devices(),
                ByteSizes.describe(cluster.usableBytesPerDevice())));
  }

  /** Returns how many of the largest tables together have the missing bytes. */
  private static int countToFit(List<TableSpec> tables, long bytesShort) {
    long freed = 0;
    int count = 0;
    for (TableSpec table : tables.stream().sorted(LARGEST_FIRST).toList()) {
      if (freed >= bytesShort) {
        break;
      }
      freed += table.bytes();
      count++;
    }
    return count;
  }

  private static List<TableBytes> blame(List<TableSpec> tables, int count) {
    List<TableBytes> blamed = new ArrayList<>();
    tables.stream()
        .sorted(LARGEST_FIRST)
        .limit(Math.min(count, MAX_BLAMED))
        .forEach(t -> blamed.add(new TableBytes(t.name(), t.bytes())));
    return blamed;
  }
}
