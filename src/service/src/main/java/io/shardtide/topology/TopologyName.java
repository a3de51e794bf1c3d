package io.shardtide.topology;

import static io.shardtide.wire.TopicType.ACCEPTED_STATUSES;
import static io.shardtide.wire.TopicType.ALLOCATIONS;
import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_ALLOCATIONS;
import static io.shardtide.wire.TopicType.CURRENT_FORECASTS;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.CURRENT_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURVE_REQUESTS;
import static io.shardtide.wire.TopicType.DEVICE_SPEEDS;
import static io.shardtide.wire.TopicType.DRIFT_ALARMS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.QUARANTINE;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.TABLE_FILLS;
import static io.shardtide.wire.TopicType.TABLE_FORECASTS;
import static io.shardtide.wire.TopicType.THROUGHPUT_CURVES;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.wire.Extension;
import io.shardtide.wire.TopicType;
import io.shardtide.wire.Topics;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The topologies, in the order of the flow: what each reads and writes, beside its stores ({@link
 * StoreName}) and its processor.
 */
@SuppressWarnings("ImmutableEnumChecker") // Lists of constants.
enum TopologyName {
  /**
   * After a model change, each tick predicts one workload again: a hundred a second, which leaves
   * most of the time to changes.
   */
  WORKLOAD(
      Topics.WORKLOAD_APPLICATION,
      10,
      List.of(WORKLOAD_CHANGES),
      List.of(COST_PREDICTIONS, CURRENT_PREDICTIONS)),
  PLANNING(
      "planning",
      5,
      List.of(COST_PREDICTIONS, PLAN_STATUS, DEVICE_SPEEDS),
      List.of(SHARDING_PLANS, CURRENT_PLANS, ACCEPTED_STATUSES, INFEASIBLE_WORKLOADS)),
  FEEDBACK(
      "feedback",
      50,
      List.of(COST_PREDICTIONS, SHARDING_PLANS, PLAN_STATUS, MEASURED_COSTS),
      List.of(TRAINING_SAMPLES, DRIFT_ALARMS, DEVICE_SPEEDS),
      ACCEPTED_STATUSES),
  TRAINING(
      "training",
      200,
      List.of(TRAINING_SAMPLES, DRIFT_ALARMS),
      List.of(COST_MODELS, MODEL_DECISIONS)),
  CURVES(
      "curves",
      50,
      List.of(COST_PREDICTIONS, CURVE_REQUESTS, SHARDING_PLANS),
      List.of(THROUGHPUT_CURVES)),
  POOL(
      "pool",
      50,
      List.of(POOL_CHANGES, THROUGHPUT_CURVES),
      List.of(CURVE_REQUESTS, ALLOCATIONS, CURRENT_ALLOCATIONS, WORKLOAD_CHANGES)),
  GROWTH(
      "growth",
      200,
      List.of(COST_PREDICTIONS, TABLE_FILLS),
      List.of(TABLE_FORECASTS, CURRENT_FORECASTS, WORKLOAD_CHANGES, INFEASIBLE_WORKLOADS));

  private final String text;
  private final int tickMs;
  private final List<TopicType<?>> follows;
  private final List<TopicType<?>> writes;
  private final List<TopicType<?>> latest;

  TopologyName(
      String text,
      int tickMs,
      List<TopicType<?>> follows,
      List<TopicType<?>> writes,
      TopicType<?>... latest) {
    this.text = text;
    this.tickMs = tickMs;
    this.follows = follows;
    this.writes = writes;
    this.latest = List.of(latest);
  }

  /**
   * Returns the polling interval for due work. Records do not wait for it; an idle planner uses the
   * less processor time the longer it is.
   */
  Duration tick() {
    return Duration.ofMillis(tickMs);
  }

  /** Returns the topics of which the topology handles each record, and commits offsets. */
  List<TopicType<?>> follows() {
    return follows;
  }

  /** Returns the topics of which each instance reads all partitions: see {@link LatestRecords}. */
  List<TopicType<?>> latest() {
    return latest;
  }

  boolean reads(TopicType<?> topic) {
    return follows.contains(topic) || latest.contains(topic);
  }

  List<TopicType<?>> writes() {
    return Stream.concat(Stream.of(REJECTED_EVENTS, QUARANTINE), writes.stream()).toList();
  }

  /**
   * Returns whether the topology rejects the invalid records of a topic that it follows: the first
   * one that follows it does.
   */
  boolean rejects(TopicType<?> topic) {
    return this == Arrays.stream(values()).filter(n -> n.follows.contains(topic)).findFirst().get();
  }

  /** Returns the name of the node that reads a topic. */
  static String source(TopicType<?> topic) {
    return "read-" + topic.name();
  }

  /** Returns the name of the node that writes a topic. */
  static String sink(TopicType<?> topic) {
    return "write-" + topic.name();
  }

  /**
   * Returns the topologies of a planner: those whose topics are in use.
   *
   * @param extensions those that are enabled
   */
  static List<TopologyName> inUse(Set<Extension> extensions) {
    return Arrays.stream(values())
        .filter(
            name ->
                name.follows.stream()
                    .flatMap(topic -> topic.extension().stream())
                    .allMatch(extensions::contains))
        .toList();
  }

  /** Returns the Kafka Streams application id, which is the consumer group's name too. */
  String applicationId(String topicPrefix) {
    return topicPrefix + text;
  }

  /** Returns the name without a prefix, as log lines, health and metrics show it. */
  @Override
  public String toString() {
    return text;
  }
}
