package io.shardtide.topology;

import io.shardtide.wire.Codec;
import io.shardtide.wire.Extension;
import io.shardtide.wire.ForUpgradeFrom;
import io.shardtide.wire.StoreSerdes;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * Names of the state stores. A store's changelog is named after it, so that a running system must
 * be migrated when one is renamed.
 */
enum StoreName {
  WORKLOAD_HEADERS(TopologyName.WORKLOAD, "workload-headers", Codec.WORKLOAD_HEADER, true),
  WORKLOAD_TABLES(TopologyName.WORKLOAD, "workload-tables", Codec.TABLE_SPEC),
  APPLIED_EVENTS(TopologyName.WORKLOAD, "applied-events"),
  PLANNING_HEADERS(TopologyName.PLANNING, "planning-headers", Codec.PLANNING_HEADER, true),
  PREDICTED_TABLES(TopologyName.PLANNING, "predicted-tables", Codec.DATED_PREDICTION),
  REMEMBERED_PLANS(TopologyName.PLANNING, "remembered-plans", Codec.SHARDING_PLAN),
  MOVED_FROM(TopologyName.PLANNING, "moved-from"),
  FEEDBACK_HEADERS(TopologyName.FEEDBACK, "feedback-headers", Codec.FEEDBACK_HEADER, true),
  MEASURED_PLANS(TopologyName.FEEDBACK, "measured-plans", Codec.SHARDING_PLAN),
  PLANNED_TABLES(TopologyName.FEEDBACK, "planned-tables", Codec.DATED_TABLE),
  RESIDUAL_WINDOWS(TopologyName.FEEDBACK, "residual-windows", Codec.RESIDUAL_WINDOW, true),
  TRAINING_STATES(TopologyName.TRAINING, "training-states", Codec.TRAINING_STATE, true),
  NEWEST_SAMPLES(TopologyName.TRAINING, "newest-samples", Codec.COST_SAMPLE),
  OLDER_SAMPLES(TopologyName.TRAINING, "older-samples", Codec.COST_SAMPLE),
  CURVE_HEADERS(TopologyName.CURVES, "curve-headers", Codec.CURVE_HEADER, true),
  CURVE_TABLES(TopologyName.CURVES, "curve-tables", Codec.TABLE_SPEC),
  POOL_HEADERS(TopologyName.POOL, "pool-headers", Codec.POOL_HEADER, true),
  POOL_MEMBERS(TopologyName.POOL, "pool-members", Codec.POOL_MEMBER, true),
  APPLIED_POOL_EVENTS(TopologyName.POOL, "applied-pool-events"),
  GROWTH_HEADERS(TopologyName.GROWTH, "growth-headers", Codec.GROWTH_HEADER, true),
  GROWTH_TABLES(TopologyName.GROWTH, "growth-tables", Codec.TABLE_SPEC),
  REPORTED_FILLS(TopologyName.GROWTH, "reported-fills", Codec.TABLE_GROWTH, true),
  WORKLOAD_QUARANTINE(TopologyName.WORKLOAD, "quarantine"),
  PLANNING_QUARANTINE(TopologyName.PLANNING, "quarantine"),
  FEEDBACK_QUARANTINE(TopologyName.FEEDBACK, "quarantine"),
  TRAINING_QUARANTINE(TopologyName.TRAINING, "quarantine"),
  CURVES_QUARANTINE(TopologyName.CURVES, "quarantine"),
  POOL_QUARANTINE(TopologyName.POOL, "quarantine"),
  GROWTH_QUARANTINE(TopologyName.GROWTH, "quarantine");

  private static final Map<StoreName, Serde<?>> SERDES = new ConcurrentHashMap<>();

  private final TopologyName topology;
  private final String text;

  /** Of Avro values; null of texts. Codecs are constants. */
  @SuppressWarnings("ImmutableEnumChecker")
  private final Codec<?, ?> codec;

  private final boolean isCached;

  StoreName(TopologyName topology, String text) {
    this(topology, text, null);
  }

  StoreName(TopologyName topology, String text, Codec<?, ?> codec) {
    this(topology, text, codec, false);
  }

  /** Of several values of a key in a cache, only the last one before a commit is written. */
  StoreName(TopologyName topology, String text, Codec<?, ?> codec, boolean isCached) {
    this.topology = topology;
    this.text = text;
    this.codec = codec;
    this.isCached = isCached;
  }

  /** Returns the store of a topology's keys in quarantine. */
  static StoreName quarantine(TopologyName topology) {
    return valueOf(topology.name() + "_QUARANTINE");
  }

  /** Creates a store: a quarantine in memory, others in RocksDB; logged to Kafka. */
  StoreBuilder<?> builder() {
    boolean inMemory = this == quarantine(topology);
    StoreBuilder<?> builder =
        Stores.keyValueStoreBuilder(
            inMemory ? Stores.inMemoryKeyValueStore(text) : Stores.persistentKeyValueStore(text),
            Serdes.String(),
            Serdes.ByteArray());
    return isCached ? builder.withCachingEnabled() : builder;
  }

  /** Returns the serde of the store's values, the same for all tasks: making one parses schemas. */
  Serde<?> serde() {
    return SERDES.computeIfAbsent(
        this, of -> of.codec == null ? Serdes.String() : StoreSerdes.of(of.codec));
  }

  /** Returns whether version 0.2.0 had no such store. */
  @ForUpgradeFrom("0.2.0")
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
