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
 * How the tables of one module are sharded: TorchRec's {@code EmbeddingModuleShardingPlan}.
 *
 * @param worldSize number of devices, those without tables among them
 * @param tables the shardings by the names of their tables
 */
record ModulePlan(int worldSize, SortedMap<String, TableSharding> tables) {
  ModulePlan {
    tables = Collections.unmodifiableSortedMap(new TreeMap<>(tables));
  }

  /**
   * Returns the plan of shards.
   *
   * @param reshardable as of {@link Target}
   * @throws IllegalArgumentException if TorchRec does not take them; the message says why
   */
  static ModulePlan of(Collection<Shard> shards, int worldSize, boolean reshardable) {
    SortedMap<String, List<Shard>> byTable = new TreeMap<>();
    for (Shard shard : shards) {
      if (shard.device() >= worldSize) {
        throw new IllegalArgumentException(
            "Table \"%s\" has a shard on device %d; expected 0 to %d"
                .formatted(shard.table(), shard.device(), worldSize - 1));
      }
      byTable.computeIfAbsent(shard.table(), name -> new ArrayList<>()).add(shard);
    }
    SortedMap<String, TableSharding> tables = new TreeMap<>();
    byTable.forEach(
        (name, parts) -> {
          parts.sort(Comparator.comparingInt(Shard::columnOffset));
          TableSharding sharding = new TableSharding(parts.size() > 1, parts);
          tables.put(name, reshardable ? sharding.joined() : sharding);
        });
    return new ModulePlan(worldSize, tables);
  }
}
