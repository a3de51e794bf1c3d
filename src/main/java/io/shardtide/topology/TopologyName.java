package io.shardtide.topology;

import io.shardtide.wire.Topics;

/** Names of the topologies, in the order of the flow. */
enum TopologyName {
  /** workload-changes to cost-predictions. */
  WORKLOAD(Topics.WORKLOAD_APPLICATION),
  /** cost-predictions, plan-status and device-speeds to sharding-plans. */
  PLANNING("planning"),
  /** measured-costs to training-samples, drift-alarms and device-speeds. */
  FEEDBACK("feedback"),
  /** training-samples and drift-alarms to cost-models. */
  TRAINING("training");

  private final String text;

  TopologyName(String text) {
    this.text = text;
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
