package io.shardtide.search.bound;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * A way to shard a table, or tables that are placed together.
 *
 * @param parts numbers of its parts' loads, in the list of all; each is what devices have of it
 * @param devices for each of them, how many devices have it
 * @param elements numbers that it contributes to the collectives of each scope, in the order of
 *     {@link Scopes}: mean of all devices, mean of all nodes, of each device, of each copy
 * @param scopes bits of the scopes whose collectives it needs
 * @param bytes the least that it takes of all devices' memory
 */
@SuppressWarnings("ArrayRecordComponent") // Never compared.
record TableWay(int[] parts, int[] devices, double[] elements, int scopes, double bytes) {
  static final TableWay NOTHING =
      new TableWay(new int[0], new int[0], new double[Scopes.COUNT], 0, 0);

  /** Returns this way and that of other rows of the same table. */
  TableWay with(TableWay other) {
    if (parts.length == 0) {
      return other;
    }
    double[] sum = new double[Scopes.COUNT];
    Arrays.setAll(sum, s -> elements[s] + other.elements[s]);
    return new TableWay(
        both(parts, other.parts),
        both(devices, other.devices),
        sum,
        scopes | other.scopes,
        bytes + other.bytes);
  }

  private static int[] both(int[] first, int[] second) {
    return IntStream.concat(Arrays.stream(first), Arrays.stream(second)).toArray();
  }
}
