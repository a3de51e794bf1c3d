package io.shardtide.torchrec;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardingPlan;
import java.util.List;
import java.util.Locale;
import java.util.SortedMap;

/**
 * Describes plans in JSON that holds what TorchRec's {@code ShardingPlan} holds, under its names.
 *
 * <pre>{@code
 * {"workload": "feed", "generation": 7, "plan_id": "..", "previous_plan_id": "..", "predicted_ms": 17.9,
 *  "world_size": 8, "plan": {"model.sparse_arch.embedding_bag_collection": {
 *   "cat_0": {"sharding_type": "column_wise", "compute_kernel": "fused", "ranks": [3, 1], "shards": [
 *     {"shard_offsets": [0, 0], "shard_sizes": [40000000, 96], "placement": "rank:3/cuda:3"},
 *     {"shard_offsets": [0, 96], "shard_sizes": [40000000, 32], "placement": "rank:1/cuda:1"}]}}}}
 * }</pre>
 *
 * <p>What a rule of TorchRec forbids is an {@link IllegalArgumentException} that names the table,
 * the value and what is expected. For use by several threads.
 */
public final class TorchRecPlans {
  private final Target target;
  private final ObjectMapper json = new ObjectMapper();

  /**
   * @param target where in the model the tables are
   */
  public TorchRecPlans(Target target) {
    this.target = target;
  }

  /**
   * Returns a plan.
   *
   * @throws IllegalArgumentException if TorchRec does not take it
   */
  public ObjectNode describe(ShardingPlan plan) {
    ObjectNode node =
        json.createObjectNode()
            .put("workload", plan.workloadId())
            .put("generation", plan.generation())
            .put("plan_id", plan.planId())
            .put("previous_plan_id", plan.previousPlanId().orElse(null))
            .put("predicted_ms", plan.predictedMs());
    return describe(node, plan.shards(), plan.deviceCosts().size());
  }

  /**
   * Returns a plan with what to hand to {@code DistributedModelParallel.reshard} of a model that
   * runs another one: under {@code reshard}, {@code from} (that plan's id), {@code module}, {@code
   * tables} (the changed ones with their new sharding) and {@code moved_elements} (numbers that
   * change their device); or {@code from} and {@code refused}, a list of sentences, if it has to
   * start again from a checkpoint.
   *
   * @param running the plan that the model runs
   * @throws IllegalArgumentException if TorchRec does not take one of the plans
   */
  public ObjectNode describe(ShardingPlan plan, ShardingPlan running) {
    ObjectNode node = describe(plan);
    ObjectNode reshard = node.putObject("reshard").put("from", running.planId());
    try {
      reshard.setAll(reshard(running, plan));
    } catch (NotReshardableException e) {
      ArrayNode refused = reshard.putArray("refused");
      e.problems().forEach(refused::add);
    }
    return node;
  }

  /**
   * Returns what to hand to {@code DistributedModelParallel.reshard}: {@code module}, {@code
   * tables} and {@code moved_elements}, as in {@link #describe(ShardingPlan, ShardingPlan)}.
   *
   * @throws NotReshardableException if it cannot go from one plan to the other
   * @throws IllegalArgumentException if TorchRec does not take one of the plans
   */
  public ObjectNode reshard(ShardingPlan running, ShardingPlan wanted) {
    Reshard reshard = Reshard.between(modulePlan(running), modulePlan(wanted));
    ObjectNode node = json.createObjectNode().put("module", target.module());
    node.set("tables", tables(reshard.tables()));
    return node.put("moved_elements", reshard.movedElements());
  }

  /**
   * Adds {@code world_size} and {@code plan} to an object, and returns it.
   *
   * @param worldSize number of devices
   * @throws IllegalArgumentException if TorchRec does not take the shards
   */
  public ObjectNode describe(ObjectNode node, List<Shard> shards, int worldSize) {
    ModulePlan plan = ModulePlan.of(shards, worldSize, target.reshardable());
    node.put("world_size", worldSize);
    node.putObject("plan").set(target.module(), tables(plan.tables()));
    return node;
  }

  private ModulePlan modulePlan(ShardingPlan plan) {
    return ModulePlan.of(plan.shards(), plan.deviceCosts().size(), target.reshardable());
  }

  private ObjectNode tables(SortedMap<String, TableSharding> tables) {
    ObjectNode node = json.createObjectNode();
    tables.forEach(
        (name, sharding) -> {
          ObjectNode table =
              node.putObject(name)
                  .put("sharding_type", sharding.type())
                  .put("compute_kernel", target.kernel().name().toLowerCase(Locale.ROOT));
          ArrayNode ranks = table.putArray("ranks");
          ArrayNode shards = table.putArray("shards");
          for (Shard shard : sharding.shards()) {
            ranks.add(shard.device());
            ObjectNode part = shards.addObject();
            part.putArray("shard_offsets").add(0).add(shard.columnOffset());
            part.putArray("shard_sizes").add(shard.rows()).add(shard.columns());
            part.put("placement", target.placement(shard.device()));
          }
        });
    return node;
  }
}
