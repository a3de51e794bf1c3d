package io.shardtide.topology;

import io.shardtide.wire.Topics;
import java.time.Duration;

/** Names of the topologies, in the order of the flow. */
enum TopologyName {
  /** workload-changes to cost-predictions. */
  WORKLOAD(Topics.WORKLOAD_APPLICATION, Duration.ofMillis(10)),
  /** cost-predictions, plan-status and device-speeds to sharding-plans. */
  PLANNING("planning", Duration.ofMillis(5)),
  /** measured-costs to training-samples, drift-alarms and device-speeds. */
  FEEDBACK("feedback", Duration.ofMillis(50)),
  /** training-samples and drift-alarms to cost-models. */
  TRAINING("training", Duration.ofMillis(200)),
  /** cost-predictions and curve-requests to throughput-curves. */
  CURVES("curves", Duration.ofMillis(50)),
  /** pool-changes and throughput-curves to allocations and workload-changes. */
  POOL("pool", Duration.ofMillis(50));

  private final String text;
  private final Duration tick;

  TopologyName(String text, Duration tick) {
    this.text = text;
    this.tick = tick;
  }

  /**
   * Returns how often it looks for due work. Each look costs a thread some 0.1 ms, which is all
   * that an idle planner does; records wait for none of it.
   */
  Duration tick() {
    return tick;
  }

  /** Returns whether it runs only where pools are allocated ({@code pools.enabled}). */
  boolean isOfPools() {
    return this == CURVES || this == POOL;
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
