package io.shardtide.trainer;

import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardScope;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * How the outputs of a scope's shards get from the devices that pool them to those whose samples
 * they are, for all kinds of shards but copies. The devices form groups of consecutive numbers: of
 * one device, of a node's, or of all. The rows of a column part are on one or more devices of a
 * group. The way of the outputs of a sample has two stages, of which the gradients go back:
 *
 * <ol>
 *   <li>in each group, one device, the sample's reducer, adds the partial sums of all of them:
 *       together a reduce-scatter. Of one device there is nothing to add;
 *   <li>from its reducers in all groups the sample's own device gets all columns: together an
 *       all-to-all. Of one group there is nothing to send.
 * </ol>
 *
 * @param scope the scope
 * @param devices number of all devices
 * @param groupSize devices in a group; the last group may have fewer
 * @param groups the column parts of each group, in the order of their columns in its outputs
 */
record ScopeLayout(ShardScope scope, int devices, int groupSize, List<List<OutputColumns>> groups) {
  /**
   * Columns of a group's outputs.
   *
   * @param columns number of columns
   * @param position position of the first column in a sample's feature row
   * @param offset position of the first column in a sample's outputs of the group
   */
  record OutputColumns(int columns, int position, int offset) {}

  /** Returns the layouts of all scopes that have shards, copies aside. */
  static List<ScopeLayout> of(ColumnIndex index) {
    List<ScopeLayout> layouts = new ArrayList<>();
    for (ShardScope scope : List.of(ShardScope.DEVICE, ShardScope.NODE, ShardScope.CLUSTER)) {
      List<Shard> shards =
          index.shards().stream().filter(shard -> shard.kind().scope() == scope).toList();
      if (!shards.isEmpty()) {
        layouts.add(of(scope, index, shards));
      }
    }
    return layouts;
  }

  private static ScopeLayout of(ShardScope scope, ColumnIndex index, List<Shard> shards) {
    int devices = index.cluster().devices();
    int groupSize = scope.devices(index.cluster());
    Map<String, Integer> positions = index.positions();
    List<List<OutputColumns>> groups = new ArrayList<>();
    for (int group = 0; group * groupSize < devices; group++) {
      groups.add(new ArrayList<>());
    }
    for (Shard shard : shards) {
      List<OutputColumns> parts = groups.get(shard.device() / groupSize);
      OutputColumns last = parts.isEmpty() ? null : parts.get(parts.size() - 1);
      int offset = last == null ? 0 : last.offset() + last.columns();
      int position = positions.get(shard.table()) + shard.columnOffset();
      if (last == null || last.position() != position) {
        parts.add(new OutputColumns(shard.columns(), position, offset));
      }
    }
    return new ScopeLayout(scope, devices, groupSize, groups);
  }

  /** Returns whether devices of a group add partial sums. */
  boolean reduces() {
    return groupSize > 1;
  }

  /** Returns whether outputs go from group to group. */
  boolean sends() {
    return groups.size() > 1;
  }

  /** Returns the group of a device. */
  int group(int device) {
    return device / groupSize;
  }

  /** Returns the first device of a group; of the group behind the last one, the end of devices. */
  int first(int group) {
    return Math.min(devices, group * groupSize);
  }

  /** Returns the device of a group that adds the partial sums of a device's samples. */
  int reducer(int group, int device) {
    int size = first(group + 1) - first(group);
    return first(group) + device % groupSize % size;
  }

  /** Returns the offset in the outputs of a device's group of the columns at a position. */
  int offset(int device, int position) {
    return groups.get(group(device)).stream()
        .filter(part -> part.position() == position)
        .findFirst()
        .orElseThrow()
        .offset();
  }

  /** Returns the number of columns of a group's outputs. */
  int columns(int group) {
    return groups.get(group).stream().mapToInt(OutputColumns::columns).sum();
  }
}
