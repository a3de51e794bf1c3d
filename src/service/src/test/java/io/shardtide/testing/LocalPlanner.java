package io.shardtide.testing;

import io.shardtide.client.Endpoint;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.models.ModelFiles;
import io.shardtide.topology.PlannerParts;
import io.shardtide.topology.PlannerService;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;

/**
 * A broker, a registry and a planner of this process: what a client of the log meets. With the
 * default prefix, which others have too, the broker and the registry are its own.
 */
public final class LocalPlanner implements AutoCloseable {
  private final String prefix;
  private final EmbeddedKafka kafka;
  private final DevelopmentRegistry registry;
  private final PlannerService planner;

  private LocalPlanner(
      String prefix, EmbeddedKafka kafka, DevelopmentRegistry registry, PlannerService planner) {
    this.prefix = prefix;
    this.kafka = kafka;
    this.registry = registry;
    this.planner = planner;
  }

  /**
   * Starts one that plans each generation.
   *
   * @param folder for all data
   * @param partitions of each topic
   */
  public static LocalPlanner start(Path folder, String prefix, int partitions) throws Exception {
    return start(folder, prefix, settings -> settings.partitions(partitions));
  }

  /** Starts one that plans each generation, with optional parts. */
  public static LocalPlanner start(Path folder, String prefix, Set<Extension> extensions)
      throws Exception {
    return start(
        folder,
        prefix,
        settings -> {
          extensions.forEach(settings::with);
          return settings;
        });
  }

  private static LocalPlanner start(
      Path folder, String prefix, UnaryOperator<TestSettings> settings) throws Exception {
    boolean isAlone = prefix.equals(Topics.DEFAULT_PREFIX);
    EmbeddedKafka kafka =
        isAlone ? EmbeddedKafka.start(folder.resolve("kafka")) : SharedCluster.kafka();
    DevelopmentRegistry registry =
        isAlone ? DevelopmentRegistry.start(0, Optional.of(folder)) : SharedCluster.registry();
    PlannerService planner =
        PlannerService.start(
            new PlannerParts(
                settings
                    .apply(
                        TestSettings.of(
                            kafka.bootstrapServers(),
                            registry.url(),
                            prefix,
                            folder.resolve("state")))
                    .build(),
                List.of(
                    TestModels.bundle(), ModelFiles.shippedForNodes(), ModelFiles.shippedForH200()),
                PlainTowers::new));
    return new LocalPlanner(prefix, kafka, registry, planner);
  }

  public String bootstrapServers() {
    return kafka.bootstrapServers();
  }

  public String registryUrl() {
    return registry.url();
  }

  public Endpoint endpoint() {
    return Endpoint.of(bootstrapServers(), registryUrl()).withPrefix(prefix);
  }

  /** A client that sees the whole log. */
  public LogClient log() {
    return new LogClient(bootstrapServers(), registryUrl(), prefix);
  }

  @Override
  public void close() throws IOException {
    planner.close();
    if (prefix.equals(Topics.DEFAULT_PREFIX)) {
      registry.close();
      kafka.close();
    }
  }
}
