package io.shardtide.cli;

import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.DeviceMemory;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableFeature;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;

/** Parses tables and clusters from command-line text: {@code key=value,key=value}. */
final class SpecTexts {
  private static final String OPTIMIZERS =
      "sgd, rowwise_adagrad, adagrad, adam, partial_rowwise_adam, lamb";

  static final String TABLE_KEYS =
      "name, rows, columns, poolingFactor, bytesPerElement (default 4), optimizerBytesPerElement (0),"
          + " optimizerBytesPerRow (0), kinds (all; several joined by +, such as row_wise+table_row_wise),"
          + " leastColumns (0), sameDevicesAs (none), mayBeCached (true), mayHaveHotRows (true), pooled (true),"
          + " optimizer (the cluster's; or "
          + OPTIMIZERS
          + "), enforceHbm (false), features (one; "
          + FeatureTexts.FORM
          + "; poolingFactor is their sum then), idWeights (none; given or learned),"
          + " computeKernel (the planner's choice; or dense, fused, fused_uvm, fused_uvm_caching),"
          + " cacheLoadFactor (the planner's choice), cacheAlgorithm (LRU or LFU), outputType (FP32, FP16, BF16 or INT8),"
          + " stochasticRounding (TorchRec's default); any of the next makes rows the slots of a hash table:"
          + " ids (0), idsPerDay (0), slotBytes (16), eviction (none; or lru, lfu, age)";
  static final String CLUSTER_KEYS =
      "devices, memoryGib (of each), batchSize (over all devices), devicesPerNode (default devices), hardware,"
          + " hostMemoryGib (0), reservedMemoryGib (0), countsStepMemory (false), forwardBytesPerElement (4),"
          + " backwardBytesPerElement (4), replicaGroups (1; several: 1+2+4), synchronizationSteps (1),"
          + " codecs (none; "
          + CodecTexts.FORM
          + "), optimizer of tables that name none (rowwise_adagrad; or "
          + OPTIMIZERS
          + "), pipeline of the training program (TorchRec's formula without one; or none, sparse_dist, prefetch),"
          + " memoryGibByDevice (none; of single devices, such as 6:40+7:40), devicesPerHost (devicesPerNode)";

  private static final String FEATURES = "features";

  private static final double GIB = 1L << 30;

  private static final String MEMORY_BY_DEVICE = "memoryGibByDevice";

  /** Keys in GiB, and the components in bytes that they stand for. */
  private static final Map<String, String> BYTES_OF =
      Map.of(
          "memoryGib", "memoryBytesPerDevice",
          "hostMemoryGib", "hostMemoryBytesPerDevice",
          "reservedMemoryGib", "reservedMemoryBytesPerDevice");

  /** Components that have no room in a text. */
  private static final Set<String> NOT_IN_A_TEXT =
      Set.of(
          "reuseHistogram",
          "accessCdf",
          "constraints",
          "kernel",
          "storage",
          "hitShares",
          "resizeReason");

  private SpecTexts() {}

  /**
   * Returns a table of unknown use: a text has no room for lists of numbers, a file of events has.
   */
  static TableSpec table(String text) {
    Set<String> constraintKeys = RecordText.keys(TableConstraints.class);
    Set<String> known = RecordText.keys(TableSpec.class);
    known.addAll(constraintKeys);
    Set<String> kernelKeys = RecordText.keys(TableKernel.class);
    known.addAll(kernelKeys);
    Set<String> storageKeys = RecordText.keys(HashedStorage.class);
    known.addAll(storageKeys);
    known.removeAll(NOT_IN_A_TEXT);
    Map<String, String> ofTable = values(text, TABLE_KEYS, known);
    require(text, ofTable, TABLE_KEYS, "name", "rows", "columns");
    List<TableFeature> features =
        ofTable.containsKey(FEATURES) ? FeatureTexts.parse(ofTable.remove(FEATURES)) : List.of();
    if (features.isEmpty()) {
      require(text, ofTable, TABLE_KEYS, "poolingFactor");
    }
    Map<String, String> ofConstraints = new LinkedHashMap<>(ofTable);
    ofConstraints.keySet().retainAll(constraintKeys);
    ofTable.keySet().removeAll(constraintKeys);
    Map<String, String> ofKernel = new LinkedHashMap<>(ofTable);
    ofKernel.keySet().retainAll(kernelKeys);
    ofTable.keySet().removeAll(kernelKeys);
    Map<String, String> ofStorage = new LinkedHashMap<>(ofTable);
    ofStorage.keySet().retainAll(storageKeys);
    ofTable.keySet().removeAll(storageKeys);
    TableSpec table = in(new TableSpec("-", 1, 4, 1, ReuseHistogram.UNKNOWN, 4), text, ofTable);
    TableSpec used =
        ofTable.containsKey("poolingFactor")
            ? TableSpecBuilder.builder(table).features(features).build()
            : table.withFeatures(features);
    return TableSpecBuilder.builder(used)
        .constraints(in(TableConstraints.NONE, text, ofConstraints))
        .kernel(in(TableKernel.NONE, text, ofKernel))
        .storage(
            ofStorage.isEmpty()
                ? Optional.empty()
                : Optional.of(in(HashedStorage.PLAIN, text, ofStorage)))
        .build();
  }

  /**
   * Returns a change of a hashed table's capacity.
   *
   * @param text NAME=ROWS; a name may hold an =
   * @param reason why, for people
   */
  static Change.TableResized resize(String text, String reason) {
    int equals = text.lastIndexOf('=');
    try {
      if (equals > 0) {
        long rows = Long.parseLong(text.substring(equals + 1).strip());
        return new Change.TableResized(text.substring(0, equals).strip(), rows, reason);
      }
    } catch (NumberFormatException e) {
      // Said below.
    }
    throw new IllegalArgumentException(
        "a resize must be NAME=ROWS, such as user=2000000, got \"%s\"".formatted(text));
  }

  /** Returns a cluster. */
  static ClusterSpec cluster(String text) {
    Map<String, String> values = ofCluster(text);
    require(text, values, CLUSTER_KEYS, "devices", "memoryGib", "batchSize", "hardware");
    values.putIfAbsent("devicesPerNode", values.get("devices"));
    return cluster(new ClusterSpec(1, 1, 1, 1, "-"), text, values);
  }

  /**
   * Returns what changes in a cluster the values that a text names.
   *
   * @throws IllegalArgumentException if the text names none, or others than those of clusters
   */
  static UnaryOperator<ClusterSpec> clusterChange(String text) {
    Map<String, String> values = ofCluster(text);
    try {
      cluster(new ClusterSpec(1, 1, 1, 1, "-"), text, values);
    } catch (RejectedException e) {
      // Whether the values are legal depends on the cluster.
    }
    return cluster -> cluster(cluster, text, values);
  }

  private static ClusterSpec cluster(ClusterSpec base, String text, Map<String, String> values) {
    Map<String, String> others = new LinkedHashMap<>();
    values.forEach(
        (key, value) -> {
          if (BYTES_OF.containsKey(key)) {
            others.put(BYTES_OF.get(key), bytes(text, key, value));
          } else if (!key.equals("codecs") && !key.equals(MEMORY_BY_DEVICE)) {
            others.put(key, value);
          }
        });
    ClusterSpec changed = in(withoutOwnMemory(base, values), text, others);
    ClusterSpecBuilder lists = ClusterSpecBuilder.builder(changed);
    if (values.containsKey("codecs")) {
      lists.codecs(CodecTexts.parse(values.get("codecs")));
    }
    if (values.containsKey(MEMORY_BY_DEVICE)) {
      lists.memoryBytesByDevice(memoryByDevice(text, values.get(MEMORY_BY_DEVICE)));
    }
    return lists.build();
  }

  /** Returns a cluster without the memory of single devices that a text has in its place. */
  private static ClusterSpec withoutOwnMemory(ClusterSpec base, Map<String, String> values) {
    return values.containsKey(MEMORY_BY_DEVICE)
        ? ClusterSpecBuilder.builder(base).memoryBytesByDevice(List.of()).build()
        : base;
  }

  /** Returns the memory of single devices: DEVICE:GIB, several joined by +, or "none". */
  private static List<DeviceMemory> memoryByDevice(String text, String value) {
    if (value.equals("none")) {
      return List.of();
    }
    List<DeviceMemory> memory = new ArrayList<>();
    for (String entry : value.split("\\+", -1)) {
      String[] pair = entry.split(":", -1);
      try {
        if (pair.length == 2) {
          memory.add(
              new DeviceMemory(
                  Integer.parseInt(pair[0].strip()),
                  Math.round(Double.parseDouble(pair[1].strip()) * GIB)));
          continue;
        }
      } catch (NumberFormatException e) {
        // Said below.
      }
      throw new IllegalArgumentException(
          "\"%s\": %s must be none, or DEVICE:GIB joined by +, such as 6:40+7:40, got \"%s\""
              .formatted(text, MEMORY_BY_DEVICE, entry));
    }
    return memory;
  }

  private static String bytes(String text, String key, String gib) {
    try {
      return Long.toString(Math.round(Double.parseDouble(gib) * GIB));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "\"%s\": %s must be a number, got \"%s\"".formatted(text, key, gib), e);
    }
  }

  private static <R extends Record> R in(R base, String text, Map<String, String> values) {
    try {
      return RecordText.in(base, values);
    } catch (RejectedException e) {
      throw e;
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("\"%s\": %s".formatted(text, e.getMessage()), e);
    }
  }

  private static Map<String, String> ofCluster(String text) {
    Set<String> known = RecordText.keys(ClusterSpec.class);
    known.removeAll(BYTES_OF.values());
    known.addAll(BYTES_OF.keySet());
    known.remove("memoryBytesByDevice");
    known.add(MEMORY_BY_DEVICE);
    return values(text, CLUSTER_KEYS, known);
  }

  private static Map<String, String> values(String text, String keys, Set<String> known) {
    Map<String, String> values = new LinkedHashMap<>();
    for (String pair : text.split(",", -1)) {
      int equals = pair.indexOf('=');
      String key = pair.substring(0, Math.max(equals, 0)).strip();
      if (!known.contains(key) || values.put(key, pair.substring(equals + 1).strip()) != null) {
        throw wrong(text, "\"%s\"".formatted(known.contains(key) || equals < 1 ? pair : key), keys);
      }
    }
    return values;
  }

  private static void require(
      String text, Map<String, String> values, String keys, String... required) {
    for (String key : required) {
      if (!values.containsKey(key)) {
        throw wrong(text, "no " + key, keys);
      }
    }
  }

  private static IllegalArgumentException wrong(String text, String what, String keys) {
    return new IllegalArgumentException(
        "\"%s\" has %s; expected key=value, separated by commas, each key once: %s"
            .formatted(text, what, keys));
  }
}
