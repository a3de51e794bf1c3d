package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.TopicConfig;

/**
 * The state of the topics and changelogs of a planner: which partitions lack a leader or replicas,
 * and which topics somebody deleted. One thread calls it.
 */
final class TopicProbe {
  /** How the names of changelogs end. */
  private static final String CHANGELOG = "-changelog";

  private final Admin admin;
  private final Set<String> owned;
  private final Set<String> read;
  private final Map<String, Uuid> seen = new TreeMap<>();

  /**
   * What a probe found.
   *
   * @param partitions partitions of the planner's topics and changelogs
   * @param underReplicated those with fewer replicas in sync than assigned
   * @param unwritable those without a leader, or with fewer replicas in sync than {@code
   *     min.insync.replicas}, each with what is expected
   * @param deleted topics that were there at an earlier probe, even if they were created again
   * @param grown topics that planners read with more partitions than others of them, each with both
   *     numbers
   */
  record TopicState(
      int partitions,
      int underReplicated,
      List<String> unwritable,
      Set<String> deleted,
      List<String> grown) {
    static final TopicState UNKNOWN = new TopicState(0, 0, List.of(), Set.of(), List.of());

    /** Returns what stops the planner, and what to do; empty if nothing does. */
    Optional<String> problem() {
      if (!deleted.isEmpty()) {
        return Optional.of(
            "Somebody deleted %s. Follow docs/RUNBOOK.md, %s was deleted; this planner is DOWN until it is restarted."
                .formatted(
                    deleted.stream().sorted().collect(Collectors.joining(", ")),
                    deleted.stream().anyMatch(topic -> topic.endsWith(CHANGELOG))
                        ? "A changelog"
                        : "A topic"));
      }
      if (!grown.isEmpty()) {
        return Optional.of(
            "Somebody added partitions: %s. Keys now belong to other partitions than their state. Stop publishers and planners, and follow docs/RUNBOOK.md, Partitions were added; do not run StreamsResetter, which deletes the state."
                .formatted(String.join(", ", grown)));
      }
      if (!unwritable.isEmpty()) {
        return Optional.of(
            "%d of %d partitions cannot be written: %s. Start the stopped brokers; planners continue by themselves."
                .formatted(unwritable.size(), partitions, unwritable.get(0)));
      }
      return Optional.empty();
    }
  }

  /**
   * @param admin client; the caller closes it
   * @param settings settings of the planner
   */
  TopicProbe(Admin admin, ServiceSettings settings) {
    this.admin = admin;
    owned = owned(settings);
    read = TopicCheck.read(settings.topicsInUse());
  }

  /** Returns the names of a planner's topics and changelogs. */
  static Set<String> owned(ServiceSettings settings) {
    String prefix = settings.topics().prefix();
    Set<String> owned = StoreName.changelogs(settings.extensions(), prefix);
    settings.topicsInUse().all().forEach(topic -> owned.add(topic.name()));
    return owned;
  }

  /** Asks the cluster. */
  TopicState read() throws InterruptedException, ExecutionException {
    Set<String> names =
        new TreeSet<>(
            admin
                .listTopics(new ListTopicsOptions().timeoutMs(KafkaAnswers.FIRST_MS))
                .names()
                .get());
    names.retainAll(owned);
    Map<String, TopicDescription> topics =
        KafkaAnswers.existing(
            admin
                .describeTopics(names, new DescribeTopicsOptions().timeoutMs(KafkaAnswers.FIRST_MS))
                .topicNameValues());
    topics.forEach((name, topic) -> seen.putIfAbsent(name, topic.topicId()));
    Set<String> deleted =
        seen.entrySet().stream()
            .filter(
                known ->
                    !topics.containsKey(known.getKey())
                        || !topics.get(known.getKey()).topicId().equals(known.getValue()))
            .map(Map.Entry::getKey)
            .collect(Collectors.toSet());
    int partitions = 0;
    int underReplicated = 0;
    List<String> unwritable = new ArrayList<>();
    for (TopicDescription topic : topics.values()) {
      partitions += topic.partitions().size();
      List<TopicPartitionInfo> lacking =
          topic.partitions().stream().filter(TopicProbe::lacksReplicas).toList();
      underReplicated += lacking.size();
      // Only asked for while replicas are missing.
      int least = lacking.isEmpty() ? 0 : leastInSync(topic.name());
      for (TopicPartitionInfo partition : lacking) {
        if (partition.leader() == null || partition.isr().size() < least) {
          unwritable.add(
              "%s-%d has %d of %d replicas in sync, expected at least %d (min.insync.replicas)"
                  .formatted(
                      topic.name(),
                      partition.partition(),
                      partition.leader() == null ? 0 : partition.isr().size(),
                      partition.replicas().size(),
                      least));
        }
      }
    }
    return new TopicState(partitions, underReplicated, unwritable, deleted, grown(topics));
  }

  /** Returns the topics that planners read with more partitions than others of them. */
  private List<String> grown(Map<String, TopicDescription> topics) {
    Map<String, Integer> counts = new TreeMap<>();
    topics.forEach(
        (name, topic) -> {
          if (read.contains(name)) {
            counts.put(name, topic.partitions().size());
          }
        });
    int expected = counts.values().stream().mapToInt(n -> n).min().orElse(0);
    return counts.entrySet().stream()
        .filter(count -> count.getValue() > expected)
        .map(
            count ->
                "%s has %d partitions, expected %d"
                    .formatted(count.getKey(), count.getValue(), expected))
        .toList();
  }

  private static boolean lacksReplicas(TopicPartitionInfo partition) {
    return partition.leader() == null || partition.isr().size() < partition.replicas().size();
  }

  private int leastInSync(String topic) throws InterruptedException {
    return Integer.parseInt(
        KafkaAnswers.configs(admin, Set.of(topic))
            .get(topic)
            .get(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG)
            .value());
  }
}
