package io.shardtide.search;

import io.shardtide.cost.ShapeLoad;
import io.shardtide.cost.Tiers;
import io.shardtide.option.Option;
import io.shardtide.option.TablePart;
import io.shardtide.workload.ShardScope;

/**
 * A way to shard a table: into how many equal parts, where their rows are, with which cache, and
 * what else of the table all devices have. All parts of a table have the same way, so that a plan
 * is a way and the places of its parts for each table. Created once for each search; compared by
 * identity.
 */
final class Way {
  /** The table, by position. */
  final int table;

  final Option option;

  /** What each part is. */
  final TablePart part;

  /** Where the rows of each part are. */
  final ShardScope scope;

  /** Whether parts are on single devices that must all be in one node. */
  final boolean isInOneNode;

  /** Number of parts, each at a place of its own. */
  final int parts;

  /** What a part adds to each device of its place. */
  final ShapeLoad load;

  /** Bytes on each device of a part by tier, with those of {@link #onAll}. */
  final long[] memory;

  /** What the table adds to all devices beside the parts; null if nothing. */
  final Way onAll;

  /** Units of all-to-all load that a part adds to each device of its place. */
  final int units;

  /** Units of load that a part adds to its node; 0 unless its rows are split over a node. */
  final int nodeUnits;

  /** Numbers that a part contributes to the collectives of rows on all devices. */
  final double rowElements;

  /** Numbers that a part contributes to the all-reduce of copies. */
  final double copyElements;

  /** Whether it has any of these three. */
  final boolean isSplit;

  /** Positions of a device's sum that a part changes: from the first to before the last. */
  final int from;

  final int to;

  /** Launch groups that a part changes, one bit each. */
  final int launchGroups;

  /** Predicted computation of a device with one part and nothing else, in milliseconds. */
  final double aloneMs;

  /** Estimated milliseconds that the table adds to a step of equally loaded devices. */
  double workMs;

  /** Bytes of device memory of all parts on all devices. */
  double totalBytes;

  /** The same way with the next larger cache, without one after the largest; null if none. */
  Way moreCache;

  /** The same way with the next smaller cache; null if there is none. */
  Way lessCache;

  Way(
      int table,
      Option option,
      boolean keepsPartsInNode,
      int parts,
      ShapeLoad load,
      Way onAll,
      LoadUnits units,
      int groupSize,
      double aloneMs) {
    this.table = table;
    this.option = option;
    part = option.part();
    this.parts = parts;
    this.load = load;
    this.onAll = onAll;
    memory = load.memory().clone();
    if (onAll != null) {
      Tiers.add(memory, onAll.memory, 1);
    }
    this.aloneMs = aloneMs;
    scope = part.scope();
    isInOneNode = keepsPartsInNode && scope == ShardScope.DEVICE;
    double sent = load.elements(ShardScope.DEVICE);
    // Few distinct ids are still sent.
    int least = option.deduplicated() && sent > 0 ? 1 : 0;
    this.units = Math.max(least, units.ofDevice(sent));
    nodeUnits = units.ofNode(load.elements(ShardScope.NODE));
    rowElements = load.elements(ShardScope.CLUSTER);
    copyElements = load.elements(ShardScope.COPIES);
    isSplit = nodeUnits != 0 || rowElements != 0 || copyElements != 0;
    int mask = 0;
    double[] tower = load.tower();
    for (int k = 0; k < tower.length; k++) {
      if (tower[k] != 0) {
        mask |= 1 << (k / groupSize);
      }
    }
    launchGroups = mask;
    from = mask == 0 ? 0 : Integer.numberOfTrailingZeros(mask) * groupSize;
    to = mask == 0 ? 0 : (Integer.SIZE - Integer.numberOfLeadingZeros(mask)) * groupSize;
  }

  /** Returns the bytes of device memory on each device of a part. */
  long bytes() {
    return memory[Tiers.DEVICE];
  }

  /** Returns the estimated work with a price for each byte of device memory. */
  double pricedMs(double msPerByte) {
    return workMs + msPerByte * totalBytes;
  }

  /** Returns whether rows are in host memory, with a cache. */
  boolean isCached() {
    return part.cacheShare().isPresent();
  }
}
