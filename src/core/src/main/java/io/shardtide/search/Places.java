package io.shardtide.search;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardScope;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;

/**
 * Where parts of tables can be, numbered: first each device, then each node, over whose devices a
 * part is split, then all devices together, once for parts that are split over them and once for
 * copies. The devices of a place are consecutive.
 */
final class Places {
  final int devices;
  final int nodes;

  /** The first place of each scope, how many there are, and the most devices of one. */
  private record Range(int first, int count, int size) {}

  private final Map<ShardScope, Range> ranges = new EnumMap<>(ShardScope.class);
  private final int firstNode;

  /** What is at each place, its first device, and the one behind its last. */
  final ShardScope[] scope;

  final int[] first;
  final int[] end;

  /** The node of each device. */
  final int[] nodeOf;

  Places(ClusterSpec cluster) {
    devices = cluster.devices();
    nodes = cluster.nodes();
    int count = 0;
    for (ShardScope of : ShardScope.values()) {
      ranges.put(of, new Range(count, of.places(cluster), of.devices(cluster)));
      count += of.places(cluster);
    }
    firstNode = firstOf(ShardScope.NODE);
    scope = new ShardScope[count];
    first = new int[count];
    end = new int[count];
    ranges.forEach(
        (of, range) -> {
          for (int i = 0; i < range.count(); i++) {
            int place = range.first() + i;
            scope[place] = of;
            first[place] = i * range.size();
            end[place] = Math.min(devices, first[place] + range.size());
          }
        });
    nodeOf = new int[devices];
    Arrays.setAll(nodeOf, device -> of(ShardScope.NODE, device) - firstNode);
  }

  /** Returns the number of places. */
  int count() {
    return scope.length;
  }

  /** Returns the place of a node. */
  int ofNode(int node) {
    return firstNode + node;
  }

  /** Returns the first place of a scope. */
  int firstOf(ShardScope of) {
    return ranges.get(of).first();
  }

  /** Returns how many places a scope has. */
  int countOf(ShardScope of) {
    return ranges.get(of).count();
  }

  /** Returns the node of a place of {@link ShardScope#NODE}. */
  int node(int place) {
    return place - firstNode;
  }

  /** Returns whether a device is one of a place's. */
  boolean covers(int place, int device) {
    return first[place] <= device && device < end[place];
  }

  /** Returns the number of a place's devices. */
  int size(int place) {
    return end[place] - first[place];
  }

  /** Returns the place of a running shard. */
  int of(ShardScope of, int device) {
    Range range = ranges.get(of);
    return range.first() + device / range.size();
  }
}
