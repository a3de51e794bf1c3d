package io.shardtide.search.bound;

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

  /** Returns this way and that of other rows of the same table. */
  TableWay with(TableWay other) {
    int[] bothParts = new int[parts.length + other.parts.length];
    int[] bothDevices = new int[bothParts.length];
    System.arraycopy(parts, 0, bothParts, 0, parts.length);
    System.arraycopy(other.parts, 0, bothParts, parts.length, other.parts.length);
    System.arraycopy(devices, 0, bothDevices, 0, parts.length);
    System.arraycopy(other.devices, 0, bothDevices, parts.length, other.parts.length);
    double[] sum = elements.clone();
    for (int s = 0; s < sum.length; s++) {
      sum[s] += other.elements[s];
    }
    return new TableWay(bothParts, bothDevices, sum, scopes | other.scopes, bytes + other.bytes);
  }
}
