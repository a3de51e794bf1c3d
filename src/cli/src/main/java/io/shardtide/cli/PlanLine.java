package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.cost.TableShapes;
import io.shardtide.plan.CacheMisses;
import io.shardtide.plan.CollectiveCodec;
import io.shardtide.plan.HotOwner;
import io.shardtide.plan.Replication;
import io.shardtide.plan.Shard;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** What a line of a file of plans says of a plan; docs/FILES.md has its fields. */
final class PlanLine {
  private PlanLine() {}

  /**
   * Adds the replica groups of a plan, if there are several.
   *
   * @param cluster the devices of all groups
   */
  static void putReplication(ObjectNode line, Replication replication, ClusterSpec cluster) {
    if (replication.groups().areSeveral()) {
      line.putObject("replica_groups")
          .put("groups", replication.groups().count())
          .put("layout", replication.groups().layout().label())
          .put("synchronization_steps", replication.synchronizationSteps())
          .put("synchronization_ms", replication.synchronizationMs());
    }
  }

  /**
   * Adds the device memory of a step in bytes, if the cluster names a pipeline.
   *
   * @param bytes of each device of a replica group, in their order
   */
  static void putMemory(ObjectNode line, ClusterSpec cluster, LongStream bytes) {
    if (cluster.pipeline().isPresent()) {
      bytes.forEach(line.putArray("memory_bytes")::add);
    }
  }

  /** Adds the codecs of collectives, if there are any. */
  static void putCodecs(ObjectNode line, List<CollectiveCodec> codecs) {
    if (!codecs.isEmpty()) {
      ArrayNode list = line.putArray("codecs");
      codecs.forEach(
          of ->
              list.addObject()
                  .put("scope", of.scope().label())
                  .put("direction", of.direction().label())
                  .put("codec", of.codec().name())
                  .put("saved_ms", of.savedMs()));
    }
  }

  /** Puts what the table's publisher decided about its kernel; the cache is that of its shards. */
  private static void putKernel(ObjectNode node, TableSpec table) {
    TableKernel kernel = table.kernel();
    kernel.computeKernel().ifPresent(named -> node.put("compute_kernel", named.label()));
    kernel.cacheAlgorithm().ifPresent(named -> node.put("cache_algorithm", named.name()));
    if (table.enforceHbm()) {
      node.put("enforce_hbm", true);
    }
    kernel.stochasticRounding().ifPresent(is -> node.put("stochastic_rounding", is));
    kernel.outputType().ifPresent(type -> node.put("output_dtype", type.name()));
  }

  /**
   * Adds the shards of a plan by tables, in the task's order. Of copies there is one, on no device.
   *
   * @param task the task on the devices of a replica group
   */
  static void putShards(ObjectNode line, WorkloadTask task, List<Shard> shards) {
    Map<String, List<Shard>> byTable = Shard.byTable(shards);
    Map<String, Double> misses =
        TableShapes.cacheMisses(task.tables(), shards, task.cluster()).stream()
            .collect(Collectors.toMap(CacheMisses::table, CacheMisses::lookupShare));
    Map<String, HotOwner> hotOwners =
        HotOwner.of(TableSpec.byName(task.tables()), shards).stream()
            .collect(Collectors.toMap(HotOwner::table, Function.identity()));
    line.put("world_size", task.cluster().devices());
    ArrayNode tables = line.putArray("tables");
    for (TableSpec table : task.tables()) {
      ObjectNode planned = tables.addObject().put("name", table.name());
      table.optimizer().ifPresent(optimizer -> planned.put("optimizer", optimizer.label()));
      putKernel(planned, table);
      if (misses.containsKey(table.name())) {
        planned.put("missed_lookups", misses.get(table.name()));
      }
      HotOwner hot = hotOwners.get(table.name());
      if (hot != null) {
        planned.put("hot_device", hot.device()).put("hot_factor", hot.factor());
      }
      ArrayNode ofTable = planned.putArray("shards");
      for (Shard shard : byTable.get(table.name())) {
        ObjectNode of =
            ofTable
                .addObject()
                .put("kind", shard.kind().label())
                .put("column_offset", shard.columnOffset())
                .put("columns", shard.columns())
                .put("row_offset", shard.rowOffset())
                .put("rows", shard.rows())
                .put("device", shard.isCopied() ? null : shard.device());
        shard
            .cacheShare()
            .ifPresentOrElse(
                share -> of.put("cache_share", share), () -> of.putNull("cache_share"));
        if (shard.deduplicated()) {
          of.put("deduplicated", true);
        }
        shard.rowOrder().ifPresent(order -> of.put("row_order", order.label()));
      }
    }
  }
}
