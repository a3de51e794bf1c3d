package io.shardtide.topology;

import static io.shardtide.wire.TopicType.QUARANTINE;

import io.shardtide.config.ServiceSettings;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Creates missing topics, and compares existing ones with {@link Topics}. Creates nothing on a
 * cluster whose topics are refused, and never changes an existing topic, which belongs to the
 * cluster's operator.
 */
final class TopicCheck {
  private static final Logger log = LoggerFactory.getLogger(TopicCheck.class);

  /** Attempts to see a new topic on every broker. */
  private static final int ATTEMPTS = 100;

  private static final long PAUSE_MS = 100;

  private final Admin admin;
  private final ServiceSettings settings;
  private final Topics topics;
  private final Set<String> read;
  private Map<String, TopicDescription> existing;
  private List<TopicDifference> harmless = List.of();

  private TopicCheck(Admin admin, ServiceSettings settings) throws InterruptedException {
    this.admin = admin;
    this.settings = settings;
    topics = settings.topicsInUse();
    read = read(topics);
    existing = existing();
  }

  /**
   * Creates missing topics and checks all, and the brokers' limits.
   *
   * @throws TopicMismatchException if a difference would lose data or break the order of records
   * @throws IllegalStateException if the cluster refuses to create or to describe a topic
   */
  static TopicCheck run(Admin admin, ServiceSettings settings) throws InterruptedException {
    TopicCheck check = new TopicCheck(admin, settings);
    Optional<List<TopicDifference>> limits = new BrokerLimits(settings).find(admin);
    if (limits.isEmpty()) {
      log.info(
          "The brokers' limits are not checked: this user has no DescribeConfigs on the cluster");
    }
    check.accept(limits);
    check.create(false);
    for (int i = 0; check.isMissing() && i < ATTEMPTS; i++) {
      Thread.sleep(PAUSE_MS);
      check.existing = check.existing();
    }
    // Again: a cluster's policies may have changed the new topics' settings.
    check.accept(limits);
    return check;
  }

  /** Returns the differences that are harmless. */
  List<TopicDifference> harmless() {
    return harmless;
  }

  /** Returns the topics with the partitions and the limits that they have. */
  Topics topics() {
    Map<String, Integer> partitions = new HashMap<>();
    existing.forEach((name, topic) -> partitions.put(name, topic.partitions().size()));
    Map<String, Integer> limits = new HashMap<>();
    harmless.stream()
        .filter(d -> d.setting().equals(TopicConfig.MAX_MESSAGE_BYTES_CONFIG))
        .forEach(d -> limits.put(d.topic(), Integer.valueOf(d.found())));
    return topics.withPartitions(partitions).limitedTo(limits);
  }

  /**
   * Returns what refuses a planner's records or requests, or loses them: of the brokers, the topics
   * and changelogs that exist. Changes nothing.
   *
   * @throws IllegalStateException if the cluster refuses to describe the topics
   */
  static List<TopicDifference> refused(Admin admin, ServiceSettings settings)
      throws InterruptedException {
    return new TopicCheck(admin, settings)
        .differences(new BrokerLimits(settings).find(admin)).stream()
            .filter(TopicDifference::refused)
            .toList();
  }

  /**
   * Compares the topics and asks the cluster whether it would create the missing ones. Changes
   * nothing.
   *
   * @throws IllegalStateException if the cluster refuses to describe the topics, or would refuse to
   *     create one
   */
  static CheckResult compare(Admin admin, ServiceSettings settings) throws InterruptedException {
    TopicCheck check = new TopicCheck(admin, settings);
    List<TopicDifference> differences = check.differences(Optional.empty());
    check.create(true);
    int all = check.topics.all().size();
    String found =
        check.isMissing()
            ? "%d of %d exist; run creates the others".formatted(check.existing.size(), all)
            : "all %d exist".formatted(all);
    return TopicDifference.result(found, found + "; ", differences);
  }

  /** Returns differences with what fixes each. */
  static String describe(List<TopicDifference> differences) {
    return differences.stream()
        .sorted(
            Comparator.comparing(TopicDifference::topic).thenComparing(TopicDifference::setting))
        .map(d -> (d.refused() ? "refused: " : "noted: ") + d.sentence())
        .collect(Collectors.joining("\n"));
  }

  private boolean isMissing() {
    return existing.size() < topics.all().size();
  }

  private void accept(Optional<List<TopicDifference>> limits) throws InterruptedException {
    harmless = differences(limits);
    if (harmless.stream().anyMatch(TopicDifference::refused)) {
      throw new TopicMismatchException(harmless);
    }
  }

  private List<TopicDifference> differences(Optional<List<TopicDifference>> limits)
      throws InterruptedException {
    List<TopicDifference> differences = new ArrayList<>(limits.orElse(List.of()));
    // Changelogs that exist, and that this user may see; Kafka Streams creates them.
    Set<String> names = StoreName.changelogs(settings.extensions(), topics.prefix());
    names.retainAll(KafkaAnswers.get("list the topics", admin.listTopics().names()));
    Map<String, TopicDescription> changelogs = existing(names);
    names.addAll(existing.keySet());
    Map<String, Config> configs = KafkaAnswers.configs(admin, names);
    for (Topic<?> topic : topics.all()) {
      if (existing.containsKey(topic.name())) {
        TopicDescription found = existing.get(topic.name());
        partitions(topic, found).ifPresent(differences::add);
        replication(topic, copies(found)).ifPresent(differences::add);
        differences.addAll(
            TopicRules.of(settings, topic, configs.get(topic.name()), copies(found)));
      }
    }
    for (TopologyName topology : TopologyName.inUse(settings.extensions())) {
      Map<String, String> created = StreamsProperties.changelog(topology, settings);
      for (StoreName store : StoreName.of(topology)) {
        String name = store.changelog(topics.prefix());
        if (changelogs.containsKey(name)) {
          differences.addAll(
              TopicRules.ofChangelog(
                  settings, name, configs.get(name), copies(changelogs.get(name)), created));
        }
      }
    }
    return differences;
  }

  private static int copies(TopicDescription topic) {
    return topic.partitions().stream().mapToInt(p -> p.replicas().size()).min().orElse(0);
  }

  /**
   * Returns the topics that a topology reads. They must have the same number of partitions, so that
   * all records of a workload, and of a kind of hardware, are in partitions of the same number.
   */
  static Set<String> read(Topics topics) {
    return topics.all().stream()
        .filter(topic -> Arrays.stream(TopologyName.values()).anyMatch(n -> n.reads(topic.type())))
        .map(Topic::name)
        .collect(Collectors.toUnmodifiableSet());
  }

  /** Returns the different numbers of partitions of the topics that are read and exist. */
  private Set<Integer> counts() {
    return read.stream()
        .filter(existing::containsKey)
        .map(topic -> existing.get(topic).partitions().size())
        .collect(Collectors.toSet());
  }

  /** Returns the number of partitions that the topics that are read have, or should have. */
  private int partitionsRead() {
    return counts().stream().reduce(settings.topics().partitions(), Math::max);
  }

  private Optional<TopicDifference> partitions(Topic<?> topic, TopicDescription description)
      throws InterruptedException {
    int found = description.partitions().size();
    int most = partitionsRead();
    boolean isRead = read.contains(topic.name());
    if (isRead && found < most) {
      String reason =
          counts().size() > 1
              ? "all topics that are read must have the same number of partitions"
              : "topics.partitions, and a workload stays on its partition";
      return compare(topic, "partitions", found, most, true, reason, remedy(description, most));
    }
    String remedy =
        isRead
            ? "in the settings file: topics.partitions=" + found
            : "none needed: topics that are only written may have any number of partitions";
    int wanted = settings.topics().partitions();
    return compare(topic, "partitions", found, wanted, false, "topics.partitions", remedy);
  }

  private static Optional<TopicDifference> compare(
      Topic<?> topic,
      String setting,
      int found,
      int wanted,
      boolean refused,
      String reason,
      String remedy) {
    String is = Integer.toString(found);
    String shouldBe = Integer.toString(wanted);
    return Optional.of(
            new TopicDifference(topic.name(), setting, is, shouldBe, refused, reason, remedy))
        .filter(difference -> found != wanted);
  }

  private String remedy(TopicDescription topic, int wanted) throws InterruptedException {
    boolean alike = counts().size() == 1;
    // Of topics alike, none can have more partitions if one must keep those that it has.
    Optional<String> kept = firstWritten(alike ? read : Set.of(topic.name()));
    if (kept.isEmpty()) {
      return "kafka-topics.sh %s --alter --topic %s --partitions %d"
          .formatted(TopicRules.connection(settings), topic.name(), wanted);
    }
    return "in the settings file: %s (%s has records; with more partitions, a workload's next record could go to another partition)"
        .formatted(
            alike
                ? "topics.partitions=" + topic.partitions().size()
                : "another topics.prefix, to start over",
            kept.get());
  }

  private Optional<String> firstWritten(Set<String> names) throws InterruptedException {
    for (String name : new TreeSet<>(names)) {
      if (existing.containsKey(name) && written(existing.get(name))) {
        return Optional.of(name);
      }
    }
    return Optional.empty();
  }

  /** Returns whether a topic has ever had a record. */
  private boolean written(TopicDescription topic) throws InterruptedException {
    Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
    for (TopicPartitionInfo p : topic.partitions()) {
      asked.put(new TopicPartition(topic.name(), p.partition()), OffsetSpec.latest());
    }
    return KafkaAnswers.get("list the offsets of " + topic.name(), admin.listOffsets(asked).all())
        .values()
        .stream()
        .anyMatch(end -> end.offset() > 0);
  }

  private Optional<TopicDifference> replication(Topic<?> topic, int copies) {
    int wanted = settings.topics().replication();
    String remedy =
        "kafka-reassign-partitions.sh %s, or in the settings file: topics.replication=%d"
            .formatted(TopicRules.connection(settings), copies);
    return compare(topic, "replication", copies, wanted, false, "topics.replication", remedy);
  }

  /**
   * Creates missing topics.
   *
   * @param isTrial whether only to ask if the cluster would
   */
  private void create(boolean isTrial) throws InterruptedException {
    int most = partitionsRead();
    for (Topic<?> topic : topics.all()) {
      if (!existing.containsKey(topic.name())) {
        if (!isTrial && topic.equals(topics.of(QUARANTINE))) {
          StateCheck.createNew(admin, settings, most);
        }
        int partitions = read.contains(topic.name()) ? most : settings.topics().partitions();
        Map<String, String> config = TopicRules.created(topic, settings.endpoint().kafka());
        create(newTopic(settings, topic.name(), partitions, config), isTrial);
      }
    }
  }

  /** Returns a topic to create, with the replicas of the settings. */
  static NewTopic newTopic(
      ServiceSettings settings, String name, int partitions, Map<String, String> config) {
    short replicas = (short) settings.topics().replication();
    return new NewTopic(name, Optional.of(partitions), Optional.of(replicas)).configs(config);
  }

  private void create(NewTopic wanted, boolean isTrial) throws InterruptedException {
    try {
      admin
          .createTopics(List.of(wanted), new CreateTopicsOptions().validateOnly(isTrial))
          .all()
          .get();
    } catch (ExecutionException e) {
      // Another instance created it at the same time.
      if (!(e.getCause() instanceof TopicExistsException)) {
        RuntimeException refused =
            KafkaAnswers.refused(
                "create %s with %d partitions in %d replicas (topics.partitions, topics.replication)"
                    .formatted(
                        wanted.name(), wanted.numPartitions(), settings.topics().replication()),
                e);
        throw e.getCause() instanceof InvalidReplicationFactorException
            ? tooFewBrokers(refused)
            : refused;
      }
    }
  }

  private RuntimeException tooFewBrokers(RuntimeException refused) throws InterruptedException {
    int brokers = KafkaAnswers.get("describe the cluster", admin.describeCluster().nodes()).size();
    return new IllegalStateException(
        "%s Start more brokers, or set topics.replication=%d; topics keep the replicas that they are created with."
            .formatted(refused.getMessage(), brokers),
        refused);
  }

  private Map<String, TopicDescription> existing() throws InterruptedException {
    return existing(topics.all().stream().map(Topic::name).toList());
  }

  private Map<String, TopicDescription> existing(Collection<String> names)
      throws InterruptedException {
    return KafkaAnswers.existing(admin.describeTopics(names).topicNameValues());
  }
}
