package io.shardtide.option;

import io.shardtide.plan.Region;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.OptionalDouble;

/**
 * Rows are cut into blocks on two devices or more, where constraints name that kind; of several
 * devices some numbers of blocks. Not of unpooled tables, and without caches.
 */
final class RowBlocks implements Freedom {
  /** So many devices or fewer: each number of blocks is predicted. */
  private static final int FEW_DEVICES = 16;

  /** On more devices, each number of blocks is about so many times the one before. */
  private static final double RATIO = 1.25;

  @Override
  public void add(List<TablePart> parts, TableSpec table, PredictionInputs inputs) {
    int devices = inputs.devices();
    if (!table.pooled() || !table.constraints().allows(ShardKind.PARTIAL_ROW_WISE)) {
      return;
    }
    for (int blocks = 2; blocks <= devices; blocks = more(blocks, devices)) {
      if (Region.hasRowsForEach(table.rows(), blocks)) {
        parts.add(
            new TablePart(ShardScope.DEVICE, table.columns(), blocks, OptionalDouble.empty()));
      }
    }
  }

  private static int more(int blocks, int devices) {
    boolean isNext = devices <= FEW_DEVICES || blocks == devices;
    return isNext
        ? blocks + 1
        : Math.min(devices, Math.max(blocks + 1, (int) Math.round(RATIO * blocks)));
  }

  @Override
  public String label(TablePart part) {
    int blocks = part.blocks();
    return blocks > 1 ? "%s blocks of rows".formatted(blocks) : "";
  }
}
