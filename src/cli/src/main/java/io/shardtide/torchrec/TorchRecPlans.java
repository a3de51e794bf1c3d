package io.shardtide.torchrec;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.plan.CollectiveCodec;
import io.shardtide.plan.PlannedKernel;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.GroupLayout;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Converts plans to JSON with the fields of TorchRec's {@code ShardingPlan}.
 *
 * <pre>{@code
 * {"workload": "feed", "generation": 7, "plan_id": "..", "previous_plan_id": "..", "predicted_ms": 17.9,
 *  "world_size": 8, "plan": {"model.sparse_arch.embedding_bag_collection": {
 *   "cat_0": {"sharding_type": "column_wise", "compute_kernel": "fused", "ranks": [3, 1], "shards": [
 *     {"shard_offsets": [0, 0], "shard_sizes": [40000000, 96], "placement": "rank:3/cuda:3"},
 *     {"shard_offsets": [0, 96], "shard_sizes": [40000000, 32], "placement": "rank:1/cuda:1"}]}}}}
 * }</pre>
 *
 * <p>Of a table whose rows are split, each rank has a shard, the last ones perhaps without rows. A
 * data-parallel table has no {@code shards}, all ranks and a {@code size}, [rows, columns]. A
 * cached table has the kernel {@code fused_uvm_caching} and {@code "cache_params": {"load_factor":
 * 0.114}}, the share of its rows in device memory. What else its publisher decided about its kernel
 * is there, too: the {@code algorithm} of the cache, and {@code enforce_hbm}, {@code
 * stochastic_rounding} and {@code output_dtype} of the table.
 *
 * <p>A plan with replica groups is that of each group, of ranks 0 to {@code world_size} less one,
 * which {@code DMPCollection} numbers for each group. Its arguments are in {@code "dmp_collection":
 * {"world_size": 16, "sharding_group_size": 8, "node_group_size": 4, "use_inter_host_allreduce":
 * false}}.
 *
 * <p>Precisions of quantized communication (QComms) are in {@code "qcomms": {"device": {"forward":
 * "fp16", "backward": "bf16"}}}, by the scope of shards and the direction; those that are not there
 * are single precision. The program that wraps the model passes them on as its {@code
 * QCommsConfig}.
 *
 * <p>A plan that TorchRec does not support causes an {@link IllegalArgumentException} that names
 * the table, the value and the expectation. Thread-safe.
 */
public final class TorchRecPlans {
  private final Target target;
  private final ObjectMapper json = new ObjectMapper();

  /**
   * @param target modules, kernel and devices
   */
  public TorchRecPlans(Target target) {
    this.target = target;
  }

  /**
   * Checks tables before they are planned: their names, and that their rows are fixed.
   *
   * @throws IllegalArgumentException if TorchRec does not support any plan of one of them, or they
   *     are not the tables of the modules
   */
  public void check(Collection<TableSpec> tables) {
    for (TableSpec table : tables) {
      ShardingRules.checkName(table.name());
      if (table.storage().isPresent()) {
        throw new IllegalArgumentException(
            "Table \"%s\" is hashed, and TorchRec shards a ManagedCollisionEmbeddingCollection and virtual tables by other rules than those of the plans that are written; must have a fixed number of rows, or another format"
                .formatted(table.name()));
      }
    }
    target.modules().tablesByPath(tables.stream().map(TableSpec::name).toList());
  }

  /**
   * Returns a table whose constraints allow only plans that TorchRec supports. An unpooled table,
   * of an {@code EmbeddingCollection}, has no copies of hot rows and only the kinds that such
   * collections have. It is cut by columns into two halves at most, since all column-wise shards of
   * a collection must have one width, and its tables have equally many columns.
   *
   * @throws IllegalArgumentException if the constraints allow none of these kinds
   */
  public static TableSpec constrained(TableSpec table) {
    if (table.pooled()) {
      return table;
    }
    TableConstraints constraints = table.constraints();
    Set<ShardKind> kinds = new TreeSet<>(ShardingRules.UNPOOLED_KINDS);
    kinds.removeIf(kind -> !constraints.allows(kind));
    if (kinds.isEmpty()) {
      throw new IllegalArgumentException(
          "Table \"%s\" is unpooled and may only be %s; must allow one of %s, which TorchRec has for an EmbeddingCollection"
              .formatted(
                  table.name(), names(constraints.kinds()), names(ShardingRules.UNPOOLED_KINDS)));
    }
    int half = (table.columns() + 1) / 2;
    return table.withConstraints(
        constraints
            .withKinds(kinds)
            .withLeastColumns(Math.max(constraints.leastColumns(), half))
            .withMayHaveHotRows(false));
  }

  /**
   * Returns a cluster with the codecs that TorchRec can send whatever the plan.
   *
   * @param tables the tables, as {@link #constrained(TableSpec)} returns them
   * @param leftOut takes a sentence for each codec that is left out
   */
  public ClusterSpec constrained(
      ClusterSpec cluster, Collection<TableSpec> tables, Consumer<String> leftOut) {
    List<CommCodec> codecs = new ArrayList<>();
    for (CommCodec codec : cluster.codecs()) {
      Optional<String> problem = Precision.problem(codec, tables, cluster, target.processor());
      problem.ifPresentOrElse(
          why -> leftOut.accept("codec %s is left out: %s".formatted(codec.name(), why)),
          () -> codecs.add(codec));
    }
    return ClusterSpecBuilder.builder(cluster).codecs(codecs).build();
  }

  private static String names(Set<ShardKind> kinds) {
    return kinds.stream().map(ShardKind::label).collect(Collectors.joining(", "));
  }

  /**
   * Converts a plan. Whether its tables are pooled is not known: a reshardable plan is one of
   * pooled tables.
   *
   * @throws IllegalArgumentException if TorchRec does not support the plan
   */
  public ObjectNode describe(ShardingPlan plan) {
    ObjectNode node =
        json.createObjectNode()
            .put("workload", plan.workloadId())
            .put("generation", plan.generation())
            .put("plan_id", plan.planId())
            .put("previous_plan_id", plan.origin().previousPlanId().orElse(null))
            .put("predicted_ms", plan.predictedMs());
    new TorchRecPlans(ofGroup(plan))
        .describe(
            node,
            plan.shards(),
            plan.kernels(),
            plan.prediction().deviceCosts().size(),
            table -> true);
    putGroups(node, plan.groups(), plan.ranks());
    putCodecs(node, plan.codecs());
    return node;
  }

  /**
   * Converts a plan and adds the arguments of {@code DistributedModelParallel.reshard} for a model
   * that runs another plan. The object {@code reshard} has {@code from} (the running plan's id),
   * {@code plan} (by module, new shardings of the changed tables) and {@code moved_elements}
   * (elements that move between devices). If the model has to restart from a checkpoint, it has
   * {@code from} and {@code refused}, a list of reasons.
   *
   * @param running the plan that the model runs
   * @throws IllegalArgumentException if TorchRec does not support one of the plans
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
   * Returns the arguments of {@code DistributedModelParallel.reshard}: {@code plan} and {@code
   * moved_elements}, as in {@link #describe(ShardingPlan, ShardingPlan)}.
   *
   * @throws NotReshardableException if TorchRec does not support the change
   * @throws IllegalArgumentException if TorchRec does not support one of the plans
   */
  public ObjectNode reshard(ShardingPlan running, ShardingPlan wanted) {
    if (running.groups().areSeveral() || wanted.groups().areSeveral()) {
      throw new NotReshardableException(
          List.of(
              "The running plan has %s and the new one %s; reshard supports one group, restart from a checkpoint"
                  .formatted(running.groups().describe(), wanted.groups().describe())));
    }
    Reshard reshard = Reshard.between(modelPlan(running), modelPlan(wanted));
    ObjectNode node = json.createObjectNode();
    ModelPlan plan = modelPlan(wanted);
    node.set("plan", byModule(plan, reshard.tables().keySet()));
    return node.put("moved_elements", reshard.movedElements());
  }

  /**
   * Adds {@code world_size} and {@code plan} to an object, and returns it.
   *
   * @param kernels of the tables of which something is decided
   * @param worldSize number of devices
   * @param isPooled whether a table is of an {@code EmbeddingBagCollection}. TorchRec reshards no
   *     others, so that these have the kinds of the plan in a reshardable plan, too
   * @throws IllegalArgumentException if TorchRec does not support the shards or kernels
   */
  public ObjectNode describe(
      ObjectNode node,
      List<Shard> shards,
      List<PlannedKernel> kernels,
      int worldSize,
      Predicate<String> isPooled) {
    ModelPlan plan = ModelPlan.of(shards, kernels, worldSize, target, isPooled);
    node.put("world_size", worldSize);
    node.set("plan", byModule(plan, plan.tables().keySet()));
    return node;
  }

  /**
   * Adds the names of codecs to an object, if there are any.
   *
   * @throws IllegalArgumentException if TorchRec does not send one of them
   */
  public void putCodecs(ObjectNode node, List<CollectiveCodec> codecs) {
    if (!codecs.isEmpty()) {
      ObjectNode precisions = node.putObject("qcomms");
      for (CollectiveCodec of : codecs) {
        Precision.check(of.codec(), of.scope(), target.processor());
        precisions
            .withObjectProperty(of.scope().label())
            .put(of.direction().label(), of.codec().name());
      }
    }
  }

  /**
   * Adds the arguments of {@code DMPCollection} to an object, if there are several replica groups.
   *
   * @param groups the replica groups
   * @param ranks devices of all groups
   */
  public void putGroups(ObjectNode node, ReplicaGroups groups, int ranks) {
    if (groups.areSeveral()) {
      node.putObject("dmp_collection")
          .put("world_size", ranks)
          .put("sharding_group_size", ranks / groups.count())
          .put("node_group_size", groups.groupDevicesPerNode(ranks, target.devicesPerNode()))
          .put("use_inter_host_allreduce", groups.layout() == GroupLayout.CONSECUTIVE);
    }
  }

  /** Returns the target on the devices of a replica group. */
  private Target ofGroup(ShardingPlan plan) {
    int perNode = plan.groups().groupDevicesPerNode(plan.ranks(), target.devicesPerNode());
    if (perNode == 0) {
      throw new IllegalArgumentException(
          "%s of %d devices must be whole nodes, equal parts of nodes, or an equal share of each node, got %d devices per node"
              .formatted(
                  plan.groups().describe(),
                  plan.prediction().deviceCosts().size(),
                  target.devicesPerNode()));
    }
    // DMPCollection numbers the ranks of each group and their devices itself.
    return plan.groups().areSeveral() ? target.withNodes(perNode, 0) : target;
  }

  private ModelPlan modelPlan(ShardingPlan plan) {
    return ModelPlan.of(
        plan.shards(),
        plan.kernels(),
        plan.prediction().deviceCosts().size(),
        target,
        table -> true);
  }

  /** Returns the shardings of some tables by their modules; modules without any are left out. */
  private ObjectNode byModule(ModelPlan plan, Set<String> tables) {
    ObjectNode node = json.createObjectNode();
    target
        .modules()
        .tablesByPath(plan.tables().keySet())
        .forEach(
            (path, ofModule) -> {
              OutputTypes.check(path, ofModule, plan);
              for (String name : ofModule) {
                if (tables.contains(name)) {
                  describe(
                      node.withObjectProperty(path).putObject(name),
                      plan.tables().get(name),
                      target.ranks(plan.worldSize()));
                }
              }
            });
    return node;
  }

  private static void describe(ObjectNode table, PlannedKernel planned, OptionalDouble cacheShare) {
    TableKernel kernel = planned.kernel();
    if (cacheShare.isPresent() && cacheShare.getAsDouble() != TableKernel.NO_CACHE) {
      ObjectNode cache = table.putObject("cache_params");
      kernel.cacheAlgorithm().ifPresent(algorithm -> cache.put("algorithm", algorithm.name()));
      cache.put("load_factor", cacheShare.getAsDouble());
    }
    if (planned.enforceHbm()) {
      table.put("enforce_hbm", true);
    }
    kernel.stochasticRounding().ifPresent(is -> table.put("stochastic_rounding", is));
    kernel.outputType().ifPresent(type -> table.put("output_dtype", type.name()));
  }

  private void describe(ObjectNode table, TableSharding sharding, Ranks all) {
    boolean isCopied = sharding.type() == ShardKind.DATA_PARALLEL;
    table
        .put("sharding_type", sharding.type().label())
        .put("compute_kernel", sharding.kernel().kernel().computeKernel().get().label());
    describe(table, sharding.kernel(), sharding.cacheShare());
    ArrayNode ranks = table.putArray("ranks");
    if (isCopied) {
      IntStream.range(0, all.worldSize()).forEach(ranks::add);
      table.putArray("size").add(sharding.rows()).add(sharding.columns());
      return;
    }
    sharding.ranks().forEach(ranks::add);
    ArrayNode shards = table.putArray("shards");
    for (ShardMetadata shard : sharding.shards()) {
      ObjectNode part = shards.addObject();
      part.putArray("shard_offsets").add(shard.rowOffset()).add(shard.columnOffset());
      part.putArray("shard_sizes").add(shard.rows()).add(shard.columns());
      part.put("placement", target.placement(shard.rank(), all));
    }
  }
}
