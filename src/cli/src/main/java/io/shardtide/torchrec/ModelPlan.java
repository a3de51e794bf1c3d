package io.shardtide.torchrec;

import io.shardtide.plan.PlannedKernel;
import io.shardtide.plan.Shard;
import io.shardtide.workload.TableKernel;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

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
   * @param kernels of the tables of which something is decided
   * @param target its devices, their number per node, and kernel, and whether plans are reshardable
   * @param isPooled whether a table is pooled; others are never resharded, and stay as they are
   * @throws IllegalArgumentException if TorchRec does not support the shards
   */
  static ModelPlan of(
      Collection<Shard> shards,
      Collection<PlannedKernel> kernels,
      int worldSize,
      Target target,
      Predicate<String> isPooled) {
    SortedMap<String, List<Shard>> byTable = new TreeMap<>();
    for (Shard shard : shards) {
      if (shard.device() >= worldSize) {
        throw new IllegalArgumentException(
            "Table \"%s\" has a shard on device %d; must be 0 to %d"
                .formatted(shard.table(), shard.device(), worldSize - 1));
      }
      byTable.computeIfAbsent(shard.table(), name -> new ArrayList<>()).add(shard);
    }
    Ranks ranks = target.ranks(worldSize);
    Map<String, PlannedKernel> ofTables =
        kernels.stream().collect(Collectors.toMap(PlannedKernel::table, Function.identity()));
    SortedMap<String, TableSharding> tables = new TreeMap<>();
    byTable.forEach(
        (name, tableShards) -> {
          PlannedKernel kernel =
              ofTables.getOrDefault(name, new PlannedKernel(name, TableKernel.NONE, false));
          TableSharding sharding = TableSharding.of(tableShards, ranks, kernel, target.kernel());
          if (target.processor() == Target.Processor.CPU) {
            ShardingRules.checkRows(name, sharding);
          }
          if (target.reshardable() && isPooled.test(name)) {
            sharding = sharding.mergedByRank();
          }
          ShardingRules.checkWidths(name, sharding.shards());
          tables.put(name, sharding);
        });
    return new ModelPlan(worldSize, tables);
  }
}
