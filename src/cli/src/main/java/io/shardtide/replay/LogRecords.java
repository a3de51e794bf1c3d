package io.shardtide.replay;

import static io.shardtide.wire.TopicType.ALLOCATIONS;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.DEVICE_SPEEDS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.TABLE_FILLS;
import static io.shardtide.wire.TopicType.TABLE_FORECASTS;
import static io.shardtide.wire.TopicType.THROUGHPUT_CURVES;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.cost.ModelBundle;
import io.shardtide.wire.Extension;
import io.shardtide.wire.TopicType;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * The records of a planner and its clients. Records of one workload come in the order of the log;
 * the order between workloads is arbitrary. Every read returns the same records.
 */
public interface LogRecords {
  /**
   * The topics that a replay reads, by the names of their records for people, and of their files.
   * Results come before their inputs: a reader that determines the end offsets of a growing log in
   * this order finds the inputs of every result. Events, and reports of fills, include rejected
   * ones.
   */
  Map<TopicType<?>, String> NAMES = names();

  private static Map<TopicType<?>, String> names() {
    Map<TopicType<?>, String> names = new LinkedHashMap<>();
    names.put(SHARDING_PLANS, "plans");
    names.put(INFEASIBLE_WORKLOADS, "infeasible");
    names.put(PLAN_STATUS, "statuses");
    names.put(DEVICE_SPEEDS, "speeds");
    names.put(TABLE_FORECASTS, "forecasts");
    names.put(COST_PREDICTIONS, "predictions");
    names.put(WORKLOAD_CHANGES, "events");
    names.put(TABLE_FILLS, "fills");
    names.put(ALLOCATIONS, "allocations");
    names.put(THROUGHPUT_CURVES, "throughput-curves");
    names.put(POOL_CHANGES, "pool-changes");
    return Collections.unmodifiableMap(names);
  }

  /** Returns the name of the file of a topic's records. */
  static String file(TopicType<?> kind) {
    return NAMES.get(kind) + ".jsonl";
  }

  /** Returns whether the records of a topic belong to pools, not to workloads. */
  static boolean isOfPools(TopicType<?> kind) {
    return kind.extension().equals(Optional.of(Extension.POOLS));
  }

  /** Returns whether the records of a topic are available; there may still be none. */
  boolean has(TopicType<?> kind);

  /**
   * Reads all records of a topic; none if they are not available.
   *
   * @param kind the topic
   * @param each called with each record
   * @throws IOException if they cannot be read
   * @throws MalformedRecordException if a record is malformed, or {@code each} throws an {@link
   *     IllegalArgumentException}; names its position
   */
  <V> void read(TopicType<V> kind, Consumer<? super V> each) throws IOException;

  /** Returns the records of a topic that are wanted, see {@link #read}. */
  default <V> List<V> all(TopicType<V> kind, Predicate<? super V> wanted) throws IOException {
    List<V> all = new ArrayList<>();
    read(
        kind,
        value -> {
          if (wanted.test(value)) {
            all.add(value);
          }
        });
    return all;
  }

  /**
   * Returns the models by id, in the order of publication, if that is known.
   *
   * @throws IOException if they cannot be read
   */
  Map<String, ModelBundle> models() throws IOException;
}
