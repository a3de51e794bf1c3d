package io.shardtide.testing;

import io.shardtide.client.Endpoint;
import io.shardtide.config.HttpSettings;
import io.shardtide.config.ServiceSettings;
import io.shardtide.config.StreamsSettings;
import io.shardtide.config.TopicSettings;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.plan.SearchSettings;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.state.TrainingPolicyBuilder;
import io.shardtide.wire.Extension;
import io.shardtide.workload.UnknownHardware;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Settings of planners in tests: one partition, a plan for each generation, and {@link
 * #SHORT_SESSIONS}.
 */
public final class TestSettings {
  /**
   * Other members take over after 2 s from an instance that was killed or a thread that failed, and
   * read past its transaction after 4 s. Production has 6 s and 10 s, so that a busy machine loses
   * neither.
   */
  public static final Map<String, String> SHORT_SESSIONS =
      Map.of(
          "main.consumer.session.timeout.ms", "2000",
          "main.consumer.heartbeat.interval.ms", "500",
          "producer.transaction.timeout.ms", "4000");

  /** Models are never retrained. */
  public static final TrainingPolicy NO_TRAINING =
      TrainingPolicyBuilder.builder(TrainingPolicy.DEFAULTS).enabled(false).build();

  private final String bootstrapServers;
  private final String registryUrl;
  private final String prefix;
  private final Path state;
  private final Map<String, String> kafka = new HashMap<>(SHORT_SESSIONS);
  private final Map<String, String> registry = new HashMap<>();
  private int partitions = 1;
  private int replication = 1;
  private PlanningSettings planning = PlanningSettings.eachGeneration(SearchSettings.QUICK);
  private TrainingPolicy training = TrainingPolicy.DEFAULTS;
  private final Set<Extension> extensions = EnumSet.noneOf(Extension.class);
  private UnknownHardware unknownHardware = UnknownHardware.NEAREST;

  private TestSettings(String bootstrapServers, String registryUrl, String prefix, Path state) {
    this.bootstrapServers = bootstrapServers;
    this.registryUrl = registryUrl;
    this.prefix = prefix;
    this.state = state;
  }

  /** Begins with the addresses, the topics' prefix and the folder for state stores. */
  public static TestSettings of(
      String bootstrapServers, String registryUrl, String prefix, Path state) {
    return new TestSettings(bootstrapServers, registryUrl, prefix, state);
  }

  public TestSettings partitions(int value) {
    partitions = value;
    return this;
  }

  public TestSettings replication(int value) {
    replication = value;
    return this;
  }

  public TestSettings planning(PlanningSettings value) {
    planning = value;
    return this;
  }

  public TestSettings training(TrainingPolicy value) {
    training = value;
    return this;
  }

  /** Adds settings of Kafka's clients, which win over {@link #SHORT_SESSIONS}. */
  public TestSettings kafka(Map<String, String> values) {
    kafka.putAll(values);
    return this;
  }

  /** Adds settings of the registry's client. */
  public TestSettings registry(Map<String, String> values) {
    registry.putAll(values);
    return this;
  }

  public TestSettings unknownHardware(UnknownHardware choice) {
    unknownHardware = choice;
    return this;
  }

  /** Enables an optional part of the planner. */
  public TestSettings with(Extension extension) {
    extensions.add(extension);
    return this;
  }

  public ServiceSettings build() {
    return new ServiceSettings(
        Endpoint.of(bootstrapServers, registryUrl)
            .withPrefix(prefix)
            .withKafka(kafka)
            .withRegistry(registry),
        new TopicSettings(partitions, replication),
        new StreamsSettings(state, 1, 1),
        List.of(),
        unknownHardware,
        planning,
        training,
        extensions,
        AllocationPolicy.DEFAULTS,
        CapacityPolicy.DEFAULTS,
        HttpSettings.DEFAULTS);
  }
}
