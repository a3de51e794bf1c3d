package io.shardtide.torchrec;

import io.shardtide.domain.Shard;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The sharding of one module's tables: TorchRec's {@code EmbeddingModuleShardingPlan}.
 *
 * @param worldSize number of devices, including those without shards
 * @param tables shardings by table name
 */
record ModulePlan(int worldSize, SortedMap<String, TableSharding> tables) {
  ModulePlan {
    tables = Collections.unmodifiableSortedMap(new TreeMap<>(tables));
  }

  /**
   * Returns the plan with these shards.
   *
   * @param reshardable as in {@link Target}
   * @throws IllegalArgumentException if TorchRec does not support the shards
   */
  static ModulePlan of(Collection<Shard> shards, int worldSize, boolean reshardable) {
    SortedMap<String, List<Shard>> byTable = new TreeMap<>();
    for (Shard shard : shards) {
      if (shard.device() >= worldSize) {
        throw new IllegalArgumentException(
            "Table \"%s\" has a shard on device %d; must be 0 to %d"
                .formatted(shard.table(), shard.device(), worldSize - 1));
      }
      byTable.computeIfAbsent(shard.table(), name -> new ArrayList<>()).add(shard);
    }
    SortedMap<String, TableSharding> tables = new TreeMap<>();
    byTable.forEach(
        (name, tableShards) -> {
          tableShards.sort(Comparator.comparingInt(Shard::columnOffset));
          TableSharding sharding = new TableSharding(tableShards.size() > 1, tableShards);
          tables.put(name, reshardable ? sharding.mergedByRank() : sharding);
        });
    return new ModulePlan(worldSize, tables);
  }
}
