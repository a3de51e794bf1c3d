package io.shardtide.step;

import java.util.List;
import java.util.Optional;
import java.util.SortedMap;

/**
 * A store of values by workload and name. The name is empty for a value of the workload as such.
 *
 * @param <V> type of the values
 */
public interface KeyValues<V> {
  /** Returns a value, if stored. */
  Optional<V> get(String workloadId, String name);

  /** Stores a value. */
  void put(String workloadId, String name, V value);

  /** Removes a value, and returns it; writes nothing if there is none. */
  Optional<V> delete(String workloadId, String name);

  /** Returns a copy of a workload's values that have a name, by their names. */
  SortedMap<String, V> range(String workloadId);

  /** Returns the workloads that have values. */
  List<String> workloads();
}
