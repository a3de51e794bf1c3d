package io.shardtide.topology;

import io.shardtide.wire.Extension;
import io.shardtide.wire.Topics;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Names of the topologies, in the order of the flow. */
enum TopologyName {
  /**
   * workload-changes to cost-predictions. After a model change, each tick predicts one workload
   * again: a hundred a second, which leaves most of the time to changes.
   */
  WORKLOAD(Topics.WORKLOAD_APPLICATION, Duration.ofMillis(10)),
  /** cost-predictions, plan-status and device-speeds to sharding-plans. */
  PLANNING("planning", Duration.ofMillis(5)),
  /** measured-costs to training-samples, drift-alarms and device-speeds. */
  FEEDBACK("feedback", Duration.ofMillis(50)),
  /** training-samples and drift-alarms to cost-models. */
  TRAINING("training", Duration.ofMillis(200)),
  /** cost-predictions and curve-requests to throughput-curves. */
  CURVES("curves", Duration.ofMillis(50), Optional.of(Extension.POOLS)),
  /** pool-changes and throughput-curves to allocations and workload-changes. */
  POOL("pool", Duration.ofMillis(50), Optional.of(Extension.POOLS)),
  /** cost-predictions and table-fills to table-forecasts and workload-changes. */
  GROWTH("growth", Duration.ofMillis(200), Optional.of(Extension.GROWTH));

  private final String text;
  private final Duration tick;
  private final Optional<Extension> extension;

  TopologyName(String text, Duration tick) {
    this(text, tick, Optional.empty());
  }

  TopologyName(String text, Duration tick, Optional<Extension> extension) {
    this.text = text;
    this.tick = tick;
    this.extension = extension;
  }

  /**
   * Returns the polling interval for due work. Records do not wait for it; an idle planner uses the
   * less processor time the longer it is.
   */
  Duration tick() {
    return tick;
  }

  /**
   * Returns the topologies of a planner.
   *
   * @param extensions those that are enabled
   */
  static List<TopologyName> inUse(Set<Extension> extensions) {
    return Arrays.stream(values())
        .filter(name -> name.extension.map(extensions::contains).orElse(true))
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
