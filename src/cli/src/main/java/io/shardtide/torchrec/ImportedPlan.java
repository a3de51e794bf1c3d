package io.shardtide.torchrec;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.shardtide.plan.Shard;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A plan of TorchRec, of its own planner say, in the form of {@link TorchRecPlans}: an object with
 * {@code world_size} and {@code plan}. Immutable.
 *
 * <p>A plan with another form, or that TorchRec would not support, causes an {@link
 * IllegalArgumentException} that names the table, the value and the expectation.
 */
public final class ImportedPlan {
  private static final JsonMapper JSON =
      JsonMapper.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build();

  /** All fields that exported plans have; those besides the size and the plan are not read. */
  private static final List<String> FIELDS =
      List.of(
          "task",
          "hardware",
          "feasible",
          "predicted_ms",
          "seconds",
          "evaluations",
          "memory_bytes",
          "memory_bytes_per_device",
          "memory_bytes_by_device",
          "workload",
          "generation",
          "plan_id",
          "previous_plan_id",
          "world_size",
          "plan",
          "reshard");

  private final JsonNode json;

  private ImportedPlan(JsonNode json) {
    this.json = json;
  }

  /**
   * Parses a JSON object.
   *
   * @throws IllegalArgumentException if the text is no such object
   */
  public static ImportedPlan parse(String text) {
    JsonNode json;
    try {
      json = JSON.readTree(text);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("invalid JSON: " + e.getOriginalMessage(), e);
    }
    Fields.of(json, "a plan", FIELDS);
    return new ImportedPlan(json);
  }

  /** Returns the name of the task that the plan is of, if it names one. */
  public Optional<String> task() {
    return Optional.ofNullable(json.get("task")).map(JsonNode::asText);
  }

  /**
   * Returns the shards, in {@link Shard#ORDER}.
   *
   * @param tables the tables that the plan must have
   * @param cluster the devices that the plan must be for
   * @throws IllegalArgumentException if the plan is not one of these tables for these devices, or
   *     TorchRec does not support it
   */
  public List<Shard> shards(List<TableSpec> tables, ClusterSpec cluster) {
    Ranks ranks = Ranks.of(cluster.devices(), cluster.devicesPerNode(), cluster.hostDevices());
    long worldSize = Fields.wholeNumber(json.get("world_size"), "world_size", Integer.MAX_VALUE);
    if (worldSize != ranks.worldSize()) {
      throw new IllegalArgumentException(
          "world_size must be %d, the devices of the cluster, got %d"
              .formatted(ranks.worldSize(), worldSize));
    }
    Map<String, JsonNode> shardings = shardings();
    List<Shard> shards = new ArrayList<>();
    for (TableSpec table : tables) {
      JsonNode sharding = shardings.remove(table.name());
      if (sharding == null) {
        throw new IllegalArgumentException(
            "Table \"%s\" is missing; the plan must have all tables of the workload"
                .formatted(table.name()));
      }
      shards.addAll(ImportedTable.shards(sharding, table, ranks));
    }
    if (!shardings.isEmpty()) {
      throw new IllegalArgumentException(
          "Table \"%s\" is not in the workload; the plan must have its tables only"
              .formatted(shardings.keySet().iterator().next()));
    }
    shards.sort(Shard.ORDER);
    return shards;
  }

  /**
   * Returns the workload's tables as the plan has them, for the prediction of its costs: with the
   * plan's kernels and number formats, where it names them.
   *
   * @param tables the tables of the workload, which the plan has, too
   * @param cluster the devices
   * @throws IllegalArgumentException if a value is none of its kind
   */
  public List<TableSpec> tables(List<TableSpec> tables, ClusterSpec cluster) {
    Ranks ranks = Ranks.of(cluster.devices(), cluster.devicesPerNode(), cluster.hostDevices());
    Map<String, JsonNode> shardings = shardings();
    return tables.stream()
        .map(table -> ImportedTable.table(shardings.get(table.name()), table, ranks))
        .toList();
  }

  /** Returns the shardings of all modules by table. */
  private Map<String, JsonNode> shardings() {
    Map<String, JsonNode> shardings = new TreeMap<>();
    Map<String, String> modules = new TreeMap<>();
    for (Map.Entry<String, JsonNode> module : Fields.object(json.get("plan"), "plan")) {
      String where = "Module \"%s\"".formatted(module.getKey());
      for (Map.Entry<String, JsonNode> table : Fields.object(module.getValue(), where)) {
        String other = modules.put(table.getKey(), module.getKey());
        if (other != null) {
          throw new IllegalArgumentException(
              "Table \"%s\" is in modules \"%s\" and \"%s\"; must be in one"
                  .formatted(table.getKey(), other, module.getKey()));
        }
        shardings.put(table.getKey(), table.getValue());
      }
    }
    return shardings;
  }
}
