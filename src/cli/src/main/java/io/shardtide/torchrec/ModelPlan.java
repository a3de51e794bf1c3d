package io.shardtide.torchrec;

import io.shardtide.domain.Shard;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The shardings of a model's tables, of whichever module.
 *
 * @param worldSize number of devices, including those without shards
 * @param tables shardings by table name
 */
record ModelPlan(int worldSize, SortedMap<String, TableSharding> tables) {
  ModelPlan {
    tables = Collections.unmodifiableSortedMap(new TreeMap<>(tables));
  }

  /**
   * Returns the plan with these shards.
   *
   * @param target its devices and their number per node, and whether plans are reshardable
   * @throws IllegalArgumentException if TorchRec does not support the shards
   */
  static ModelPlan of(Collection<Shard> shards, int worldSize, Target target) {
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
          if (target.processor() == Target.Processor.CPU) {
            ShardingRules.checkRows(name, sharding);
          }
          if (target.reshardable()) {
            sharding = sharding.mergedByRank();
          }
          ShardingRules.checkWidths(name, sharding.shards());
          tables.put(name, sharding);
        });
    return new ModelPlan(worldSize, tables);
  }
}
