package io.shardtide.step;

import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A store in memory: of replays and tests.
 *
 * @param <V> type of the values
 */
public final class MemoryKeyValues<V> implements KeyValues<V> {
  private final SortedMap<String, SortedMap<String, V>> values = new TreeMap<>();

  private SortedMap<String, V> of(String workloadId) {
    return values.getOrDefault(workloadId, new TreeMap<>());
  }

  @Override
  public Optional<V> get(String workloadId, String name) {
    return Optional.ofNullable(of(workloadId).get(name));
  }

  @Override
  public void put(String workloadId, String name, V value) {
    values.computeIfAbsent(workloadId, id -> new TreeMap<>()).put(name, value);
  }

  @Override
  public Optional<V> delete(String workloadId, String name) {
    return Optional.ofNullable(of(workloadId).remove(name));
  }

  @Override
  public SortedMap<String, V> range(String workloadId) {
    SortedMap<String, V> named = new TreeMap<>(of(workloadId));
    named.remove("");
    return named;
  }

  @Override
  public List<String> workloads() {
    return values.keySet().stream().filter(id -> !of(id).isEmpty()).toList();
  }
}
