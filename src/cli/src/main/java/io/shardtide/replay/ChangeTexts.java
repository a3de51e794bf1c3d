package io.shardtide.replay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.errorprone.annotations.FormatMethod;
import io.shardtide.pool.Claim;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.samples.RecordText;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.Change;
import io.shardtide.workload.Names;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.Workload;
import io.shardtide.workload.WorkloadChange;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

/**
 * Describes the changes of an event for people: the fields of its records in which they differ from
 * those before, or from their defaults.
 */
final class ChangeTexts {
  private static final List<String> OF_TABLE =
      List.of("name", "rows", "columns", "poolingFactor", "storage");
  private static final List<String> OF_CLUSTER =
      List.of("devices", "memoryBytesPerDevice", "batchSize", "devicesPerNode", "hardware");

  /** Names for people of fields whose own does not say what they are. */
  private static final Map<String, String> NAMES =
      Map.of("poolingFactor", "lookups per sample", "kinds", "restricted to kinds");

  private static final ObjectNode NOTHING = JsonNodeFactory.instance.objectNode();

  /** Characters of a value that are shown. */
  private static final int SHOWN = 400;

  private ChangeTexts() {}

  /** Returns one line per change. */
  static List<String> describe(Workload before, WorkloadChange event) {
    return event.changes().stream().map(change -> describe(before, change)).toList();
  }

  private static String describe(Workload before, Change change) {
    if (change instanceof Change.TableUpserted upserted) {
      TableSpec stated = upserted.table();
      Optional<TableSpec> table = Optional.ofNullable(before.tables().get(stated.name()));
      return table
          .map(of -> "table %s: %s".formatted(of.name(), of(of, TableSpec.upserted(table, stated))))
          .orElseGet(
              () ->
                  "table %s of %s is added: %s"
                      .formatted(
                          stated.name(),
                          ByteSizes.describe(stated.bytes()),
                          given(stated, OF_TABLE)));
    }
    if (change instanceof Change.TableResized resized) {
      TableSpec table = before.tables().get(resized.name());
      return text(
          "table %s is resized: %s%,d slots%s",
          resized.name(),
          table == null ? "" : text("%,d -> ", table.rows()),
          resized.rows(),
          resized.reason().isBlank() ? "" : ": " + resized.reason());
    }
    if (change instanceof Change.ClusterSet set) {
      return before
          .cluster()
          .map(cluster -> "cluster: " + of(cluster, set.cluster()))
          .orElseGet(() -> "the cluster is set: " + given(set.cluster(), OF_CLUSTER));
    }
    return change instanceof Change.WorkloadDeleted deleted
        ? text(
            "the workload is deleted, with %,d tables: %s",
            before.tables().size(), deleted.reason())
        : "table %s is dropped".formatted(((Change.TableDropped) change).name());
  }

  /**
   * Returns one line per change of a pool.
   *
   * @param before the pool before the event
   */
  static List<String> describe(PoolState before, PoolChange event) {
    return event.updates().stream().map(update -> describe(before, update)).toList();
  }

  private static String describe(PoolState before, PoolUpdate update) {
    if (update instanceof PoolUpdate.PoolSet set) {
      return before
          .pool()
          .map(pool -> "the pool: " + of(pool, set.pool()))
          .orElseGet(
              () ->
                  "the pool is set: "
                      + fields(
                          NOTHING,
                          RecordText.write(set.pool()).put("nodes", set.pool().nodes().size()),
                          false));
    }
    if (update instanceof PoolUpdate.PoolNodeAdded added) {
      PoolNode node = added.node();
      return "node %s is added%s"
          .formatted(node.name(), node.rack().isEmpty() ? "" : ", in rack " + node.rack());
    }
    if (update instanceof PoolUpdate.PoolNodeLost lost) {
      return "node %s is lost".formatted(lost.node());
    }
    if (update instanceof PoolUpdate.ClaimWithdrawn withdrawn) {
      return "%s withdraws its claim".formatted(withdrawn.workloadId());
    }
    Claim claim = ((PoolUpdate.ClaimSet) update).claim();
    Claim earlier = before.claims().get(claim.workloadId());
    return earlier == null
        ? "%s claims %s".formatted(claim.workloadId(), given(claim))
        : "the claim of %s: %s".formatted(claim.workloadId(), of(earlier, claim));
  }

  /** Returns the fields of a claim, but whose it is. */
  private static String given(Claim claim) {
    return fields(NOTHING, RecordText.write(claim).without("workloadId"), false);
  }

  /**
   * Returns the fields of a record that are not the defaults.
   *
   * @param required those that have no default; they are shown, the name aside
   */
  private static String given(Record record, List<String> required) {
    ObjectNode given = RecordText.write(record);
    Record plain = RecordText.read(record.getClass(), given.deepCopy().retain(required));
    return fields(
        RecordText.write(plain).without(required), given.<ObjectNode>without("name"), false);
  }

  private static String of(Record before, Record after) {
    String changes = fields(RecordText.write(before), RecordText.write(after), true);
    return changes.isEmpty() ? "unchanged" : changes;
  }

  /** Returns the fields that differ, each with its value, if wanted behind the one before. */
  private static String fields(JsonNode before, JsonNode after, boolean withBefore) {
    List<String> fields = new ArrayList<>();
    for (String name : JsonDiff.names(after, before)) {
      JsonNode one = before.path(name);
      JsonNode other = after.path(name);
      if (one.isObject() && other.isObject() && !one.equals(other)) {
        fields.add(fields(one, other, withBefore));
      } else if (!one.equals(other)) {
        fields.add(
            words(name)
                + (withBefore ? " " + value(name, one) + " -> " : " ")
                + value(name, other));
      }
    }
    return String.join(", ", fields);
  }

  private static String words(String name) {
    return NAMES.getOrDefault(
        name, name.replaceAll("([A-Z])", " $1").toLowerCase(Locale.ROOT).strip());
  }

  private static String value(String field, JsonNode value) {
    if (value.isMissingNode()) {
      return "none";
    }
    if (value.isArray()) {
      return Names.cut(
          StreamSupport.stream(value.spliterator(), false)
              .map(entry -> value(field, entry))
              .collect(Collectors.joining("+")),
          SHOWN);
    }
    if (value.isObject()) {
      return "(" + Names.cut(fields(NOTHING, value, false), SHOWN) + ")";
    }
    if (value.isIntegralNumber()) {
      return field.toLowerCase(Locale.ROOT).contains("bytes")
          ? ByteSizes.describe(value.longValue())
          : text("%,d", value.longValue());
    }
    double number = value.doubleValue();
    return value.isNumber()
        ? text(number == Math.rint(number) ? "%.0f" : "%.4g", number)
        : value.asText();
  }

  @FormatMethod
  private static String text(String format, Object... args) {
    return String.format(Locale.ROOT, format, args);
  }
}
