package io.shardtide.option;

import io.shardtide.domain.ComputeKernel;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.Region;
import io.shardtide.domain.TableConstraints;
import io.shardtide.domain.TableKernel;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * All that a plan may choose among for a table: what is predicted of it.
 *
 * @param cuts the table cut by use, for each number of hot rows
 * @param all the options: without hot rows, and then for each number of them their copies and the
 *     options of all other rows. Each begins with the parts in the memory of one device, the
 *     narrowest first
 */
public record Options(Map<Long, HotColdTable> cuts, List<Option> all) {
  /** So many devices or fewer: each number of blocks is predicted. */
  private static final int FEW_DEVICES = 16;

  /** On more devices, each number of blocks is about so many times the one before. */
  private static final double BLOCKS_RATIO = 1.25;

  /**
   * Shares of the rows that a cache may hold: from the least that samples have, each half as much
   * again as the one before.
   */
  private static final double[] CACHE_SHARES = {
    0.01, 0.015, 0.0225, 0.034, 0.051, 0.076, 0.114, 0.171, 0.256, 0.384, 0.577, 0.865
  };

  /** Returns the options of a table. */
  public static Options of(TableSpec table, PredictionInputs inputs) {
    Map<Long, HotColdTable> cuts = new LinkedHashMap<>();
    List<Option> all = new ArrayList<>();
    add(all, 0, table, inputs);
    for (long hotRows : HotColdTable.levels(table, inputs)) {
      HotColdTable cut = HotColdTable.of(table, hotRows);
      cuts.put(hotRows, cut);
      all.add(new Option(hotRows, new TablePart(ShardScope.COPIES, table.columns())));
      add(all, hotRows, cut.others(), inputs);
    }
    return new Options(cuts, all);
  }

  /** Adds the options of a table, or of its rows that are not hot: these are not copied. */
  private static void add(
      List<Option> all, long hotRows, TableSpec table, PredictionInputs inputs) {
    for (int units = 1; units <= table.columns() / TableSpec.COLUMN_UNIT; units++) {
      Option option = Option.ofColumns(units * TableSpec.COLUMN_UNIT);
      all.add(hotRows == 0 ? option : new Option(hotRows, option.part()));
    }
    parts(table, inputs).stream()
        .filter(part -> part.isComputedBy(table.kernel()))
        .filter(part -> hotRows == 0 || part.scope() != ShardScope.COPIES)
        .forEach(part -> all.add(new Option(hotRows, part)));
  }

  /**
   * Returns the parts that a plan may have of a table beside those in the memory of one device:
   *
   * <ul>
   *   <li>split over a node: parts of equal width, at most one for each node. Only where there are
   *       several nodes of equally many devices, more than one: in a single node a split over all
   *       devices is the same, and not of unpooled tables, as TorchRec has it;
   *   <li>split over all devices, and copies: whole tables, as TorchRec has them;
   *   <li>on the only device of a cluster, where all kinds are one thing: the table as one that is
   *       split or copied, if it may not be table-wise, or only as another table is;
   *   <li>where the cluster has host memory: parts of equal width on one device, and split parts,
   *       with caches of various sizes, or of the one that the table's kernel names;
   *   <li>if constraints name that kind: blocks of rows on two devices or more; of several devices
   *       some numbers of blocks. Not of unpooled tables, and without caches.
   * </ul>
   *
   * A table is only split over devices that all get {@link Sharding#hasRowsForEach rows} of it.
   */
  private static List<TablePart> parts(TableSpec table, PredictionInputs inputs) {
    List<TablePart> parts = new ArrayList<>(split(table, inputs));
    if (inputs.areCachesPredicted(table)) {
      List<TablePart> cached = new ArrayList<>();
      addEqual(cached, table, ShardScope.DEVICE, inputs.devices());
      parts.stream().filter(part -> part.scope() != ShardScope.COPIES).forEach(cached::add);
      for (TablePart part : cached) {
        for (double share : cacheShares(table.kernel())) {
          parts.add(new TablePart(part.scope(), part.columns(), 1, OptionalDouble.of(share)));
        }
      }
    }
    if (table.pooled() && table.constraints().allows(ShardKind.PARTIAL_ROW_WISE)) {
      addBlocks(parts, table, inputs.devices());
    }
    return parts;
  }

  private static double[] cacheShares(TableKernel kernel) {
    if (kernel.computeKernel().equals(Optional.of(ComputeKernel.FUSED_UVM))) {
      return new double[] {TableKernel.NO_CACHE};
    }
    return kernel.cacheLoadFactor().isPresent()
        ? new double[] {kernel.cacheLoadFactor().getAsDouble()}
        : CACHE_SHARES;
  }

  private static void addBlocks(List<TablePart> parts, TableSpec table, int devices) {
    for (int blocks = 2; blocks <= devices; blocks = moreBlocks(blocks, devices)) {
      if (Region.hasRowsForEach(table.rows(), blocks)) {
        parts.add(
            new TablePart(ShardScope.DEVICE, table.columns(), blocks, OptionalDouble.empty()));
      }
    }
  }

  private static int moreBlocks(int blocks, int devices) {
    boolean isNext = devices <= FEW_DEVICES || blocks == devices;
    return isNext
        ? blocks + 1
        : Math.min(devices, Math.max(blocks + 1, (int) Math.round(BLOCKS_RATIO * blocks)));
  }

  private static List<TablePart> split(TableSpec table, PredictionInputs inputs) {
    if (inputs.areColumnsOnly()) {
      return List.of();
    }
    if (inputs.devices() == 1) {
      return onOneDevice(table);
    }
    List<TablePart> parts = new ArrayList<>();
    int nodes = inputs.nodes();
    int devices = inputs.devicesPerNode();
    boolean areEqual = nodes > 1 && devices > 1 && inputs.devices() % devices == 0;
    if (table.pooled() && areEqual && Region.hasRowsForEach(table.rows(), devices)) {
      addEqual(parts, table, ShardScope.NODE, nodes);
    }
    if (Region.hasRowsForEach(table.rows(), inputs.devices())) {
      parts.add(new TablePart(ShardScope.CLUSTER, table.columns()));
    }
    parts.add(new TablePart(ShardScope.COPIES, table.columns()));
    return parts;
  }

  private static List<TablePart> onOneDevice(TableSpec table) {
    TableConstraints constraints = table.constraints();
    if (constraints.allows(ShardKind.TABLE_WISE) && constraints.sameDevicesAs().isEmpty()) {
      return List.of();
    }
    return Arrays.stream(ShardKind.values())
        .filter(constraints::allows)
        .map(ShardKind::scope)
        .filter(scope -> scope != ShardScope.DEVICE && (table.pooled() || scope != ShardScope.NODE))
        .distinct()
        .map(scope -> new TablePart(scope, table.columns()))
        .toList();
  }

  /** Adds each way to cut a table into so many parts of equal width at most. */
  private static void addEqual(
      List<TablePart> parts, TableSpec table, ShardScope scope, int mostParts) {
    int units = table.columns() / TableSpec.COLUMN_UNIT;
    for (int count = 1; count <= Math.min(mostParts, units); count++) {
      if (units % count == 0) {
        parts.add(new TablePart(scope, table.columns() / count));
      }
    }
  }
}
