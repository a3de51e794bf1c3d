package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.search.SearchResult;
import io.shardtide.torchrec.TorchRecPlans;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** How a line of a plans file names its task and describes the shards. */
sealed interface PlanLayout {
  /** Adds the task. */
  void putTask(ObjectNode line, WorkloadTask task);

  /** Adds the shards of a plan. */
  void putShards(ObjectNode line, WorkloadTask task, SearchResult.Found plan);

  /** Shards by devices, columns only; tasks and tables are numbered. */
  record ByDevice() implements PlanLayout {
    @Override
    public void putTask(ObjectNode line, WorkloadTask task) {
      line.put("task", Integer.parseInt(task.name()));
    }

    @Override
    public void putShards(ObjectNode line, WorkloadTask task, SearchResult.Found plan) {
      ArrayNode perDevice = line.putArray("devices");
      plan.deviceCosts().forEach(cost -> perDevice.addArray());
      for (Shard shard : plan.shards()) {
        ((ArrayNode) perDevice.get(shard.device()))
            .addObject()
            .put("table", Integer.parseInt(shard.table()))
            .put("column_offset", shard.columnOffset())
            .put("columns", shard.columns());
      }
    }
  }

  /**
   * Shardings by tables with TorchRec's names; tasks are numbered.
   *
   * @param plans converts the shards
   */
  record TorchRec(TorchRecPlans plans) implements PlanLayout {
    @Override
    public void putTask(ObjectNode line, WorkloadTask task) {
      line.put("task", Integer.parseInt(task.name()));
    }

    @Override
    public void putShards(ObjectNode line, WorkloadTask task, SearchResult.Found plan) {
      plans.describe(line, plan.shards(), plan.deviceCosts().size());
    }
  }

  /** Shards of any kind by tables, in the task's order. Of copies there is one, on no device. */
  record ByTable() implements PlanLayout {
    @Override
    public void putTask(ObjectNode line, WorkloadTask task) {
      line.put("task", task.name());
    }

    @Override
    public void putShards(ObjectNode line, WorkloadTask task, SearchResult.Found plan) {
      Map<String, List<Shard>> shards =
          plan.shards().stream().collect(Collectors.groupingBy(Shard::table));
      ArrayNode tables = line.putArray("tables");
      for (TableSpec table : task.tables()) {
        ArrayNode ofTable = tables.addObject().put("name", table.name()).putArray("shards");
        for (Shard shard : shards.get(table.name())) {
          ofTable
              .addObject()
              .put("kind", shard.kind().torchRecName())
              .put("column_offset", shard.columnOffset())
              .put("columns", shard.columns())
              .put("row_offset", shard.rowOffset())
              .put("rows", shard.rows())
              .put("device", shard.isCopied() ? null : shard.device())
              .putNull("cache_share");
        }
      }
    }
  }
}
