package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Finds state without committed offsets: brokers delete the offsets of a group that has had no
 * members for {@code offsets.retention.minutes}, and Kafka Streams would then read all records
 * again, into state that they are in already.
 *
 * <p>A transaction commits state and offsets together. So a partition with committed records in a
 * changelog has a committed offset of one of the topics that are read, unless somebody or the
 * brokers deleted it.
 */
record OffsetsCheck(Admin admin, ServiceSettings settings) {
  /** How long before the last write of the state the offsets are set to. */
  private static final Duration MARGIN = Duration.ofHours(1);

  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** As Kafka's tools read it. */
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

  /** Returns the groups whose offsets are gone; empty if there are none. Changes nothing. */
  static Optional<CheckResult> find(Admin admin, ServiceSettings settings)
      throws InterruptedException, ExecutionException {
    OffsetsCheck check = new OffsetsCheck(admin, settings);
    Set<String> topics = admin.listTopics().names().get();
    Map<String, String> commands = new LinkedHashMap<>();
    for (TopologyName topology : TopologyName.inUse(settings.extensions())) {
      Set<TopicPartition> lost = check.lost(topology, topics);
      if (!lost.isEmpty()) {
        check
            .command(topology, topics, lost)
            .ifPresent(command -> commands.put(check.group(topology), command));
      }
    }
    return commands.isEmpty()
        ? Optional.empty()
        : Optional.of(
            CheckResult.failed(
                "Committed offsets are gone of %s, whose changelogs have state: brokers delete the offsets of a group without members after offsets.retention.minutes. Planners would read all records again, and apply those twice that are too old to be known. These commands set the offsets to an hour before the last write of the state, which is safe unless planners were further behind; see docs/RUNBOOK.md, Committed offsets are gone."
                    .formatted(String.join(", ", commands.keySet())),
                String.join(System.lineSeparator(), commands.values())));
  }

  /** Returns the partitions of changelogs with state whose tasks have no committed offset. */
  private Set<TopicPartition> lost(TopologyName topology, Set<String> topics)
      throws InterruptedException, ExecutionException {
    List<String> changelogs =
        StoreName.of(topology).stream()
            .map(store -> store.changelog(settings.topics().prefix()))
            .filter(topics::contains)
            .toList();
    Set<Integer> committed = KafkaAnswers.committed(admin, group(topology), false);
    Set<TopicPartition> uncommitted = new HashSet<>();
    for (TopicDescription changelog :
        admin.describeTopics(changelogs).allTopicNames().get().values()) {
      changelog.partitions().stream()
          .filter(partition -> !committed.contains(partition.partition()))
          .forEach(p -> uncommitted.add(new TopicPartition(changelog.name(), p.partition())));
    }
    Set<TopicPartition> written = written(uncommitted);
    if (!written.isEmpty()) {
      // Another planner may have committed meanwhile.
      Set<Integer> now = KafkaAnswers.committed(admin, group(topology), true);
      written.removeIf(partition -> now.contains(partition.partition()));
    }
    return written;
  }

  private String group(TopologyName topology) {
    return topology.applicationId(settings.topics().prefix());
  }

  /** Returns the partitions with a committed record. */
  private Set<TopicPartition> written(Collection<TopicPartition> partitions)
      throws InterruptedException, ExecutionException {
    Set<TopicPartition> unread = new HashSet<>();
    offsets(partitions, OffsetSpec.latest())
        .forEach(
            (partition, end) -> {
              if (end.offset() > 0) {
                unread.add(partition);
              }
            });
    Set<TopicPartition> written = new HashSet<>();
    if (unread.isEmpty()) {
      return written;
    }
    Map<String, Object> config = new HashMap<>(PlannerService.clients(settings));
    config.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    config.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    config.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.assign(unread);
      consumer.seekToBeginning(unread);
      // Up to an open transaction, if there is one.
      Map<TopicPartition, Long> stable = consumer.endOffsets(unread, PATIENCE);
      long deadline = System.nanoTime() + PATIENCE.toNanos();
      while (!unread.isEmpty()) {
        written.addAll(consumer.poll(Duration.ofMillis(100)).partitions());
        unread.removeIf(
            p -> written.contains(p) || consumer.position(p, PATIENCE) >= stable.get(p));
        consumer.assign(unread);
        if (System.nanoTime() - deadline > 0) {
          throw new TimeoutException("Kafka does not send the records of " + unread);
        }
      }
    }
    return written;
  }

  private Map<TopicPartition, ListOffsetsResultInfo> offsets(
      Collection<TopicPartition> partitions, OffsetSpec which)
      throws InterruptedException, ExecutionException {
    return partitions.isEmpty()
        ? Map.of()
        : admin
            .listOffsets(
                partitions.stream().collect(Collectors.toMap(Function.identity(), p -> which)))
            .all()
            .get();
  }

  /**
   * Returns the command that sets the offsets of a topology to before the state's last write; empty
   * if no record is older than that: a topic that was deleted took its offsets with it.
   */
  private Optional<String> command(
      TopologyName topology, Set<String> topics, Set<TopicPartition> lost)
      throws InterruptedException, ExecutionException {
    String prefix = settings.topics().prefix();
    long written =
        offsets(lost, OffsetSpec.maxTimestamp()).values().stream()
            .mapToLong(ListOffsetsResultInfo::timestamp)
            .max()
            .orElseThrow();
    Set<TopicPartition> read =
        topology.follows().stream()
            .map(type -> prefix + type.name())
            .filter(topics::contains)
            .flatMap(topic -> lost.stream().map(p -> new TopicPartition(topic, p.partition())))
            .collect(Collectors.toSet());
    if (offsets(read, OffsetSpec.forTimestamp(0)).values().stream()
        .noneMatch(first -> first.offset() >= 0 && first.timestamp() <= written)) {
      return Optional.empty();
    }
    Map<String, String> partitions =
        read.stream()
            .sorted(Comparator.comparingInt(TopicPartition::partition))
            .collect(
                Collectors.groupingBy(
                    TopicPartition::topic,
                    TreeMap::new,
                    Collectors.mapping(
                        p -> Integer.toString(p.partition()), Collectors.joining(","))));
    return Optional.of(
        "kafka-consumer-groups.sh %s --group %s%s --reset-offsets --to-datetime %s --execute"
            .formatted(
                TopicRules.connection(settings),
                group(topology),
                partitions.entrySet().stream()
                    .map(topic -> " --topic %s:%s".formatted(topic.getKey(), topic.getValue()))
                    .collect(Collectors.joining()),
                TIME.format(Instant.ofEpochMilli(Math.max(0, written - MARGIN.toMillis())))));
  }
}
