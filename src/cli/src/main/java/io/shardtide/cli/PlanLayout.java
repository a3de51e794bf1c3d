package io.shardtide.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.cost.TableShapes;
import io.shardtide.plan.CacheMisses;
import io.shardtide.plan.CollectiveCodec;
import io.shardtide.plan.PlannedKernel;
import io.shardtide.plan.Replication;
import io.shardtide.plan.Shard;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.torchrec.Target;
import io.shardtide.torchrec.TorchRecPlans;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** How a line of a plans file describes the shards. */
sealed interface PlanLayout {
  /**
   * Returns a task whose plans this layout has room for.
   *
   * @param leftOut takes a sentence for each choice that its plans do not have therefore
   * @throws IllegalArgumentException if it has none for any plan
   */
  default WorkloadTask prepare(WorkloadTask task, Consumer<String> leftOut) {
    return task;
  }

  /**
   * Adds the shards of a plan.
   *
   * @param task the task on the devices of a replica group
   */
  void putShards(ObjectNode line, WorkloadTask task, List<Shard> shards);

  /**
   * Adds the replica groups of a plan, if there are several.
   *
   * @param cluster the devices of all groups
   */
  default void putReplication(ObjectNode line, Replication replication, ClusterSpec cluster) {
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
  default void putMemory(ObjectNode line, ClusterSpec cluster, LongStream bytes) {
    if (cluster.pipeline().isPresent()) {
      bytes.forEach(line.putArray("memory_bytes")::add);
    }
  }

  /** Adds the codecs of collectives, if there are any. */
  default void putCodecs(ObjectNode line, List<CollectiveCodec> codecs) {
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

  /**
   * Shardings by tables with TorchRec's names.
   *
   * @param target what the plans are written for; nodes are those of a workload's cluster
   */
  record TorchRec(Target target) implements PlanLayout {
    @Override
    public WorkloadTask prepare(WorkloadTask task, Consumer<String> leftOut) {
      TorchRecPlans plans = new TorchRecPlans(target);
      plans.check(task.tables());
      List<TableSpec> tables = task.tables().stream().map(TorchRecPlans::constrained).toList();
      ClusterSpec cluster = plans.constrained(task.cluster(), tables, leftOut);
      return new WorkloadTask(task.name(), tables, cluster);
    }

    @Override
    public void putShards(ObjectNode line, WorkloadTask task, List<Shard> shards) {
      Map<String, TableSpec> specs = TableSpec.byName(task.tables());
      new TorchRecPlans(target.withNodesOf(task.cluster()))
          .describe(
              line,
              shards,
              PlannedKernel.of(task.tables()),
              task.cluster().devices(),
              table -> specs.get(table).pooled());
      for (JsonNode module : line.get("plan")) {
        for (Map.Entry<String, JsonNode> table : module.properties()) {
          putOptimizer((ObjectNode) table.getValue(), specs.get(table.getKey()));
        }
      }
    }

    @Override
    public void putReplication(ObjectNode line, Replication replication, ClusterSpec cluster) {
      new TorchRecPlans(target.withNodesOf(cluster))
          .putGroups(line, replication.groups(), cluster.devices());
    }

    @Override
    public void putCodecs(ObjectNode line, List<CollectiveCodec> codecs) {
      new TorchRecPlans(target).putCodecs(line, codecs);
    }
  }

  /** Puts what a table's optimizer is, if the table or its cluster names one. */
  private static void putOptimizer(ObjectNode node, TableSpec table) {
    table.optimizer().ifPresent(optimizer -> node.put("optimizer", optimizer.label()));
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

  /** Shards of any kind by tables, in the task's order. Of copies there is one, on no device. */
  record ByTable() implements PlanLayout {
    @Override
    public void putShards(ObjectNode line, WorkloadTask task, List<Shard> shards) {
      Map<String, List<Shard>> byTable =
          shards.stream().collect(Collectors.groupingBy(Shard::table));
      Map<String, Double> misses =
          TableShapes.cacheMisses(task.tables(), shards, task.cluster()).stream()
              .collect(Collectors.toMap(CacheMisses::table, CacheMisses::lookupShare));
      line.put("world_size", task.cluster().devices());
      ArrayNode tables = line.putArray("tables");
      for (TableSpec table : task.tables()) {
        ObjectNode planned = tables.addObject().put("name", table.name());
        putOptimizer(planned, table);
        putKernel(planned, table);
        if (misses.containsKey(table.name())) {
          planned.put("missed_lookups", misses.get(table.name()));
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
        }
      }
    }
  }
}
