package io.shardtide.growth;

import io.shardtide.domain.TableSpec;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** The state of {@link GrowthStep} in memory: of replays and tests. */
public final class MemoryGrowthStore implements GrowthStore {
  private final Map<String, GrowthState> headers = new HashMap<>();
  private final Map<String, SortedMap<String, TableSpec>> tables = new HashMap<>();
  private final Map<String, SortedMap<String, TableGrowth>> growths = new HashMap<>();

  @Override
  public GrowthState header(String workloadId) {
    return headers.getOrDefault(workloadId, GrowthState.NONE);
  }

  @Override
  public void putHeader(String workloadId, GrowthState header) {
    headers.put(workloadId, header);
  }

  @Override
  public Optional<TableSpec> table(String workloadId, String name) {
    return Optional.ofNullable(tables(workloadId).get(name));
  }

  @Override
  public SortedMap<String, TableSpec> tables(String workloadId) {
    return all(tables, workloadId);
  }

  private static <V> SortedMap<String, V> all(
      Map<String, SortedMap<String, V>> of, String workloadId) {
    return Collections.unmodifiableSortedMap(
        of.getOrDefault(workloadId, Collections.emptySortedMap()));
  }

  @Override
  public void putTable(String workloadId, TableSpec table) {
    tables.computeIfAbsent(workloadId, id -> new TreeMap<>()).put(table.name(), table);
  }

  @Override
  public void removeTable(String workloadId, String name) {
    tables.getOrDefault(workloadId, new TreeMap<>()).remove(name);
  }

  @Override
  public Optional<TableGrowth> growth(String workloadId, String table) {
    return Optional.ofNullable(growths(workloadId).get(table));
  }

  @Override
  public SortedMap<String, TableGrowth> growths(String workloadId) {
    return all(growths, workloadId);
  }

  @Override
  public void putGrowth(String workloadId, String table, TableGrowth growth) {
    growths.computeIfAbsent(workloadId, id -> new TreeMap<>()).put(table, growth);
  }

  @Override
  public boolean removeGrowth(String workloadId, String table) {
    return growths.getOrDefault(workloadId, new TreeMap<>()).remove(table) != null;
  }
}
