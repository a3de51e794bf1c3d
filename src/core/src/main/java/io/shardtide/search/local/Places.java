package io.shardtide.search.local;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ShardScope;

/**
 * Where parts of tables can be, numbered: first each device, then each node, over whose devices a
 * part is split, then all devices together, once for parts that are split over them and once for
 * copies. The devices of a place are consecutive.
 */
final class Places {
  private final int devices;
  private final int devicesPerNode;
  private final int nodes;

  /** The first device of each place, and the one behind its last. */
  private final int[] first;

  private final int[] end;
  private final int[] nodeOf;

  Places(ClusterSpec cluster) {
    devices = cluster.devices();
    devicesPerNode = Math.min(devices, cluster.devicesPerNode());
    nodes = cluster.nodes();
    first = new int[count()];
    end = new int[count()];
    nodeOf = new int[devices];
    for (int place = 0; place < count(); place++) {
      ShardScope scope = scope(place);
      first[place] =
          switch (scope) {
            case DEVICE -> place;
            case NODE -> node(place) * devicesPerNode;
            case CLUSTER, COPIES -> 0;
          };
      end[place] =
          switch (scope) {
            case DEVICE -> place + 1;
            case NODE -> Math.min(devices, (node(place) + 1) * devicesPerNode);
            case CLUSTER, COPIES -> devices;
          };
    }
    for (int device = 0; device < devices; device++) {
      nodeOf[device] = device / devicesPerNode;
    }
  }

  int devices() {
    return devices;
  }

  int nodes() {
    return nodes;
  }

  /** Returns the number of places. */
  int count() {
    return devices + nodes + 2;
  }

  /** Returns the place of a node. */
  int ofNode(int node) {
    return devices + node;
  }

  /** Returns the place of all devices. */
  int ofAll(ShardScope scope) {
    return devices + nodes + (scope == ShardScope.CLUSTER ? 0 : 1);
  }

  /** Returns the first place of a scope. */
  int firstOf(ShardScope scope) {
    return switch (scope) {
      case DEVICE -> 0;
      case NODE -> ofNode(0);
      case CLUSTER, COPIES -> ofAll(scope);
    };
  }

  /** Returns how many places a scope has. */
  int countOf(ShardScope scope) {
    return switch (scope) {
      case DEVICE -> devices;
      case NODE -> nodes;
      case CLUSTER, COPIES -> 1;
    };
  }

  /** Returns what is at a place. */
  ShardScope scope(int place) {
    if (place < devices) {
      return ShardScope.DEVICE;
    }
    if (place < devices + nodes) {
      return ShardScope.NODE;
    }
    return place == devices + nodes ? ShardScope.CLUSTER : ShardScope.COPIES;
  }

  /** Returns the node of a device. */
  int nodeOf(int device) {
    return nodeOf[device];
  }

  /** Returns the node of a place of {@link ShardScope#NODE}. */
  int node(int place) {
    return place - devices;
  }

  /** Returns the first device of a place. */
  int first(int place) {
    return first[place];
  }

  /** Returns the device behind the last one of a place. */
  int end(int place) {
    return end[place];
  }

  /** Returns whether a device is one of a place's. */
  boolean covers(int place, int device) {
    return first(place) <= device && device < end(place);
  }

  /** Returns the number of a place's devices. */
  int size(int place) {
    return end(place) - first(place);
  }

  /** Returns the place of a running shard. */
  int of(ShardScope scope, int device) {
    return switch (scope) {
      case DEVICE -> device;
      case NODE -> ofNode(nodeOf(device));
      case CLUSTER, COPIES -> ofAll(scope);
    };
  }
}
