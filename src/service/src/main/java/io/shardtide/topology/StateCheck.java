package io.shardtide.topology;

import static io.shardtide.wire.TopicType.QUARANTINE;

import io.shardtide.config.ServiceSettings;
import io.shardtide.wire.ForUpgradeFrom;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.errors.TopicExistsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks before a start that the state of the workloads is there and is this cluster's. Kafka
 * Streams creates a missing changelog empty and reads any state directory; a planner would then
 * treat its workloads as new, or as those of another cluster.
 */
final class StateCheck {
  private static final Logger log = LoggerFactory.getLogger(StateCheck.class);

  /** File in the state directory with the id of the Kafka cluster, and the prefix of the topics. */
  static final String CLUSTER_FILE = "kafka-cluster-id";

  private StateCheck() {}

  /**
   * Checks that the state directory is this cluster's and of these topics, if it is of any.
   *
   * @param clusterId id of the cluster
   * @param settings settings of the planner
   * @throws IllegalStateException if the state directory is of another cluster or of other topics
   */
  static void stateDirectory(String clusterId, ServiceSettings settings) {
    try {
      sameState(clusterId, settings);
    } catch (IOException e) {
      // Health and Kafka Streams say what is wrong with the directory.
      log.warn("{} cannot be checked: {}", file(settings), e.toString());
    }
  }

  /**
   * Marks a new state directory as this cluster's and of these topics. Not before all checks: a
   * start that is refused stores nothing.
   *
   * @param clusterId id of the cluster
   * @param settings settings of the planner
   */
  static void mark(String clusterId, ServiceSettings settings) {
    Path file = file(settings);
    try {
      if (!Files.exists(file)) {
        Files.createDirectories(file.getParent());
        Files.write(file, List.of(clusterId, settings.endpoint().prefix()), StandardCharsets.UTF_8);
      }
    } catch (IOException e) {
      // As above.
      log.warn("{} cannot be written: {}", file, e.toString());
    }
  }

  private static Path file(ServiceSettings settings) {
    return settings.streams().stateDirectory().toAbsolutePath().resolve(CLUSTER_FILE);
  }

  /**
   * Checks that the state directory, if it is marked, is of this cluster and these topics. Changes
   * nothing.
   *
   * @param clusterId id of the cluster
   * @throws IllegalStateException if the state directory is of another cluster or of other topics
   * @throws IOException if the mark cannot be read
   */
  static void sameState(String clusterId, ServiceSettings settings) throws IOException {
    Path file = file(settings);
    if (!Files.exists(file)) {
      return;
    }
    List<String> found = Files.readAllLines(file);
    if (found.size() < 2) {
      throw new IOException("%s must have two lines, got %d".formatted(file, found.size()));
    }
    if (!found.get(0).equals(clusterId)) {
      throw new IllegalStateException(
          "The state in %s is of the Kafka cluster %s, but bootstrap.servers=%s leads to the cluster %s. Correct bootstrap.servers, or set another state.directory: the state is restored from the changelogs."
              .formatted(
                  file.getParent(),
                  found.get(0),
                  settings.endpoint().bootstrapServers(),
                  clusterId));
    }
    String prefix = settings.endpoint().prefix();
    if (!found.get(1).equals(prefix)) {
      throw new IllegalStateException(
          "The state in %s is of topics.prefix=%s, but the settings say topics.prefix=%s. Correct topics.prefix, or set another state.directory: the state is restored from the changelogs."
              .formatted(file.getParent(), found.get(1), prefix));
    }
  }

  /**
   * Checks that no changelog was deleted.
   *
   * @param admin client; the caller closes it
   * @param settings settings of the planner
   * @throws IllegalStateException if a changelog is missing whose topology has read events
   */
  static void changelogs(Admin admin, ServiceSettings settings)
      throws InterruptedException, ExecutionException {
    String prefix = settings.endpoint().prefix();
    Set<String> topics = admin.listTopics().names().get();
    boolean hadQuarantine = topics.contains(Topics.withPrefix(prefix).of(QUARANTINE).name());
    for (TopologyName topology : TopologyName.inUse(settings.extensions())) {
      for (StoreName store : StoreName.of(topology)) {
        // The topic of quarantines came with the new stores.
        boolean isExpected = hadQuarantine || !store.isNew();
        if (isExpected && !topics.contains(store.changelog(prefix))) {
          requireUnused(admin, settings, topology, store.changelog(prefix));
        }
      }
    }
  }

  /**
   * Checks that a topology with a missing changelog has read nothing yet.
   *
   * @param admin client; the caller closes it
   * @param settings settings of the planner
   * @param topology the topology
   * @param changelog the missing changelog
   * @throws IllegalStateException if the topology has read events
   */
  static void requireUnused(
      Admin admin, ServiceSettings settings, TopologyName topology, String changelog)
      throws InterruptedException, ExecutionException {
    String group = topology.applicationId(settings.endpoint().prefix());
    if (hasOffsets(admin, group)) {
      throw new IllegalStateException(
          "The changelog %s does not exist, but the group %s has committed offsets: the state of its workloads is lost, and they would be treated as new. Follow docs/RUNBOOK.md, A changelog was deleted. If this version is the first with the store, create it: kafka-topics.sh %s --create --topic %s --partitions %d --replication-factor %d%s"
              .formatted(
                  changelog,
                  group,
                  TopicRules.connection(settings),
                  changelog,
                  settings.topics().partitions(),
                  settings.topics().replication(),
                  StreamsProperties.changelog(topology, settings).entrySet().stream()
                      .map(setting -> " --config " + setting)
                      .collect(Collectors.joining())));
    }
  }

  /**
   * Creates the changelogs of new stores for topologies that have read events before: Kafka Streams
   * may not. The topic of quarantines is created next, and tells that the changelogs were there.
   *
   * @param admin client; the caller closes it
   * @param settings settings of the planner
   * @param partitions how many partitions the topologies read
   */
  @ForUpgradeFrom("0.2.0")
  static void createNew(Admin admin, ServiceSettings settings, int partitions)
      throws InterruptedException {
    String prefix = settings.endpoint().prefix();
    try {
      Set<String> existing = admin.listTopics().names().get();
      for (TopologyName topology : TopologyName.values()) {
        Map<String, String> config = StreamsProperties.changelog(topology, settings);
        List<NewTopic> missing =
            StoreName.of(topology).stream()
                .filter(StoreName::isNew)
                .map(store -> store.changelog(prefix))
                .filter(changelog -> !existing.contains(changelog))
                .map(name -> TopicCheck.newTopic(settings, name, partitions, config))
                .toList();
        if (!missing.isEmpty() && hasOffsets(admin, topology.applicationId(prefix))) {
          admin.createTopics(missing).all().get();
        }
      }
    } catch (ExecutionException e) {
      // Another instance created it at the same time.
      if (!(e.getCause() instanceof TopicExistsException)) {
        throw KafkaAnswers.refused("create the changelogs of new stores", e);
      }
    }
  }

  private static boolean hasOffsets(Admin admin, String group)
      throws InterruptedException, ExecutionException {
    return !KafkaAnswers.committed(admin, group, false).isEmpty();
  }
}
