package io.shardtide.torchrec;

import io.shardtide.domain.Shard;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
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
   * @param target its devices per node, and whether plans are reshardable
   * @throws IllegalArgumentException if TorchRec does not support the shards
   */
  static ModulePlan of(Collection<Shard> shards, int worldSize, Target target) {
    SortedMap<String, List<Shard>> byTable = new TreeMap<>();
    for (Shard shard : shards) {
      if (shard.device() >= worldSize) {
        throw new IllegalArgumentException(
            "Table \"%s\" has a shard on device %d; must be 0 to %d"
                .formatted(shard.table(), shard.device(), worldSize - 1));
      }
      byTable.computeIfAbsent(shard.table(), name -> new ArrayList<>()).add(shard);
    }
    Ranks ranks = Ranks.of(worldSize, target.devicesPerNode());
    SortedMap<String, TableSharding> tables = new TreeMap<>();
    byTable.forEach(
        (name, tableShards) -> {
          TableSharding sharding = TableSharding.of(tableShards, ranks);
          tables.put(name, target.reshardable() ? sharding.mergedByRank() : sharding);
        });
    return new ModulePlan(worldSize, tables);
  }
}
