package io.shardtide.topology;

import io.shardtide.wire.Extension;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Names of the state stores. A store's changelog is named after it, so that a running system must
 * be migrated when one is renamed.
 */
enum StoreName {
  WORKLOAD_HEADERS(TopologyName.WORKLOAD, "workload-headers"),
  WORKLOAD_TABLES(TopologyName.WORKLOAD, "workload-tables"),
  APPLIED_EVENTS(TopologyName.WORKLOAD, "applied-events"),
  PLANNING_HEADERS(TopologyName.PLANNING, "planning-headers"),
  PREDICTED_TABLES(TopologyName.PLANNING, "predicted-tables"),
  REMEMBERED_PLANS(TopologyName.PLANNING, "remembered-plans"),
  MOVED_FROM(TopologyName.PLANNING, "moved-from"),
  FEEDBACK_HEADERS(TopologyName.FEEDBACK, "feedback-headers"),
  MEASURED_PLANS(TopologyName.FEEDBACK, "measured-plans"),
  PLANNED_TABLES(TopologyName.FEEDBACK, "planned-tables"),
  RESIDUAL_WINDOWS(TopologyName.FEEDBACK, "residual-windows"),
  TRAINING_STATES(TopologyName.TRAINING, "training-states"),
  NEWEST_SAMPLES(TopologyName.TRAINING, "newest-samples"),
  OLDER_SAMPLES(TopologyName.TRAINING, "older-samples"),
  CURVE_HEADERS(TopologyName.CURVES, "curve-headers"),
  CURVE_TABLES(TopologyName.CURVES, "curve-tables"),
  POOL_HEADERS(TopologyName.POOL, "pool-headers"),
  POOL_MEMBERS(TopologyName.POOL, "pool-members"),
  APPLIED_POOL_EVENTS(TopologyName.POOL, "applied-pool-events"),
  GROWTH_HEADERS(TopologyName.GROWTH, "growth-headers"),
  GROWTH_TABLES(TopologyName.GROWTH, "growth-tables"),
  REPORTED_FILLS(TopologyName.GROWTH, "reported-fills"),
  WORKLOAD_QUARANTINE(TopologyName.WORKLOAD, "quarantine"),
  PLANNING_QUARANTINE(TopologyName.PLANNING, "quarantine"),
  FEEDBACK_QUARANTINE(TopologyName.FEEDBACK, "quarantine"),
  TRAINING_QUARANTINE(TopologyName.TRAINING, "quarantine"),
  CURVES_QUARANTINE(TopologyName.CURVES, "quarantine"),
  POOL_QUARANTINE(TopologyName.POOL, "quarantine"),
  GROWTH_QUARANTINE(TopologyName.GROWTH, "quarantine");

  private final TopologyName topology;
  private final String text;

  StoreName(TopologyName topology, String text) {
    this.topology = topology;
    this.text = text;
  }

  /** Returns the store of a topology's keys in quarantine. */
  static StoreName quarantine(TopologyName topology) {
    return valueOf(topology.name() + "_QUARANTINE");
  }

  /** Returns whether version 0.2.0 had no such store. */
  boolean isNew() {
    return this == MOVED_FROM || topology == TopologyName.GROWTH || this == quarantine(topology);
  }

  /** Returns the stores of a topology. */
  static List<StoreName> of(TopologyName topology) {
    return Arrays.stream(values()).filter(store -> store.topology == topology).toList();
  }

  /** Returns the names of the changelogs of all topologies that run with these extensions. */
  static Set<String> changelogs(Set<Extension> extensions, String topicPrefix) {
    return TopologyName.inUse(extensions).stream()
        .flatMap(topology -> of(topology).stream())
        .map(store -> store.changelog(topicPrefix))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Returns the name of the changelog topic, as Kafka Streams forms it. */
  String changelog(String topicPrefix) {
    return "%s-%s-changelog".formatted(topology.applicationId(topicPrefix), text);
  }

  /** Returns the store's name in its topology. */
  @Override
  public String toString() {
    return text;
  }
}
