package io.shardtide.cli;

import io.shardtide.domain.AccessCdf;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableConstraints;
import io.shardtide.domain.TableSpec;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** Parses tables and clusters from command-line text: {@code key=value,key=value}. */
final class SpecTexts {
  static final String TABLE_KEYS =
      "name, rows, columns, poolingFactor, bytesPerElement (default 4), optimizerBytesPerElement (0),"
          + " optimizerBytesPerRow (0), kinds (all; several joined by +, such as row_wise+table_row_wise),"
          + " leastColumns (0), sameDevicesAs (none), mayBeCached (true), mayHaveHotRows (true), pooled (true)";
  static final String CLUSTER_KEYS =
      "devices, memoryGib (of each), batchSize (over all devices), devicesPerNode (default devices), hardware,"
          + " hostMemoryGib (0), reservedMemoryGib (0), countsStepMemory (false), forwardBytesPerElement (4),"
          + " backwardBytesPerElement (4), replicaGroups (1; several: 1+2+4), synchronizationSteps (1),"
          + " codecs (none; "
          + CodecTexts.FORM
          + ")";

  private static final double GIB = 1L << 30;

  private final String text;
  private final String keys;
  private final Map<String, String> values = new TreeMap<>();

  private SpecTexts(String text, String keys) {
    this.text = text;
    this.keys = keys;
    for (String pair : text.split(",", -1)) {
      int equals = pair.indexOf('=');
      if (equals < 1
          || values.put(pair.substring(0, equals).strip(), pair.substring(equals + 1).strip())
              != null) {
        throw wrong("\"%s\"".formatted(pair));
      }
    }
  }

  /**
   * Returns a table of unknown use: a text has no room for lists of numbers, a file of events has.
   */
  static TableSpec table(String text) {
    SpecTexts given = new SpecTexts(text, TABLE_KEYS);
    TableSpec table =
        new TableSpec(
            given.take("name", null, name -> name),
            given.take("rows", null, Long::parseLong),
            given.take("columns", null, Integer::parseInt),
            given.take("poolingFactor", null, Double::parseDouble),
            ReuseHistogram.UNKNOWN,
            given.take("bytesPerElement", "4", Double::parseDouble),
            AccessCdf.UNKNOWN,
            given.take("optimizerBytesPerElement", "0", Double::parseDouble),
            given.take("optimizerBytesPerRow", "0", Double::parseDouble),
            given.constraints(),
            given.take("pooled", "true", value -> given.parseBoolean("pooled", value)));
    given.checkEmpty();
    return table;
  }

  private TableConstraints constraints() {
    return new TableConstraints(
        optional("kinds")
            .map(kinds -> TableConstraints.kindsOf(List.of(kinds.split("\\+", -1))))
            .orElse(Set.of()),
        take("leastColumns", "0", Integer::parseInt),
        optional("sameDevicesAs"),
        take("mayBeCached", "true", value -> parseBoolean("mayBeCached", value)),
        take("mayHaveHotRows", "true", value -> parseBoolean("mayHaveHotRows", value)));
  }

  /** Returns a cluster. */
  static ClusterSpec cluster(String text) {
    SpecTexts given = new SpecTexts(text, CLUSTER_KEYS);
    for (String key : List.of("devices", "memoryGib", "batchSize", "hardware")) {
      if (!given.values.containsKey(key)) {
        throw given.wrong("no " + key);
      }
    }
    if (!given.values.containsKey("devicesPerNode")) {
      given.values.put("devicesPerNode", given.values.get("devices"));
    }
    return given.in(new ClusterSpec(1, 1, 1, 1, "none"));
  }

  /**
   * Returns what changes in a cluster the values that a text names.
   *
   * @throws IllegalArgumentException if the text names none, or others than those of clusters
   */
  static UnaryOperator<ClusterSpec> clusterChange(String text) {
    try {
      new SpecTexts(text, CLUSTER_KEYS).in(new ClusterSpec(1, 1, 1, 1, "none"));
    } catch (RejectedException e) {
      // Whether the values are legal depends on the cluster.
    }
    return cluster -> new SpecTexts(text, CLUSTER_KEYS).in(cluster);
  }

  /** Returns a cluster with the given values in place of its own. */
  private ClusterSpec in(ClusterSpec cluster) {
    ClusterSpec changed =
        new ClusterSpec(
            take("devices", Integer.toString(cluster.devices()), Integer::parseInt),
            takeGib("memoryGib", cluster.memoryBytesPerDevice()),
            take("batchSize", Integer.toString(cluster.batchSize()), Integer::parseInt),
            take("devicesPerNode", Integer.toString(cluster.devicesPerNode()), Integer::parseInt),
            take("hardware", cluster.hardware(), name -> name),
            takeGib("hostMemoryGib", cluster.hostMemoryBytesPerDevice()),
            takeGib("reservedMemoryGib", cluster.reservedMemoryBytesPerDevice()),
            take(
                "countsStepMemory",
                Boolean.toString(cluster.countsStepMemory()),
                value -> parseBoolean("countsStepMemory", value)),
            take(
                "forwardBytesPerElement",
                Double.toString(cluster.forwardBytesPerElement()),
                Double::parseDouble),
            take(
                "backwardBytesPerElement",
                Double.toString(cluster.backwardBytesPerElement()),
                Double::parseDouble),
            optional("replicaGroups").map(this::groups).orElse(cluster.replicaGroups()),
            take(
                "synchronizationSteps",
                Integer.toString(cluster.synchronizationSteps()),
                Integer::parseInt),
            optional("codecs").map(CodecTexts::parse).orElse(cluster.codecs()));
    checkEmpty();
    return changed;
  }

  private List<Integer> groups(String value) {
    try {
      return Arrays.stream(value.split("\\+", -1)).map(Integer::valueOf).toList();
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "\"%s\" has replicaGroups=%s; expected numbers joined by +".formatted(text, value), e);
    }
  }

  private long takeGib(String key, long otherwise) {
    return Math.round(take(key, Double.toString(otherwise / GIB), Double::parseDouble) * GIB);
  }

  private boolean parseBoolean(String key, String value) {
    if (!value.equals("true") && !value.equals("false")) {
      throw new IllegalArgumentException(
          "\"%s\" has %s=%s; expected true or false".formatted(text, key, value));
    }
    return value.equals("true");
  }

  private Optional<String> optional(String key) {
    return Optional.ofNullable(values.remove(key));
  }

  private <T> T take(String key, String otherwise, Function<String, T> parse) {
    String value = values.remove(key);
    if (value == null && otherwise == null) {
      throw wrong("no " + key);
    }
    try {
      return parse.apply(value == null ? otherwise : value);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "\"%s\" has %s=%s; expected a number".formatted(text, key, value), e);
    }
  }

  private void checkEmpty() {
    if (!values.isEmpty()) {
      throw wrong("\"%s\"".formatted(values.keySet().iterator().next()));
    }
  }

  private IllegalArgumentException wrong(String what) {
    return new IllegalArgumentException(
        "\"%s\" has %s; expected key=value, separated by commas, each key once: %s"
            .formatted(text, what, keys));
  }
}
