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
import java.util.LinkedHashMap;
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
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Creates missing topics, and compares existing ones with {@link Topics}. Creates nothing on a
 * cluster whose topics are refused, and never changes an existing topic, which belongs to the
 * cluster's operator.
 */
public final class TopicCheck {
  private static final Logger log = LoggerFactory.getLogger(TopicCheck.class);

  /** Attempts to see a new topic on every broker. */
  private static final int ATTEMPTS = 100;

  private static final long PAUSE_MS = 100;

  private final Admin admin;
  private final Topics topics;
  private final ServiceSettings settings;
  private final Set<Topic<?>> read;

  private TopicCheck(Admin admin, Topics topics, ServiceSettings settings) {
    this.admin = admin;
    this.topics = topics;
    this.settings = settings;
    read = read(topics);
  }

  /**
   * Creates missing topics and checks all.
   *
   * @return differences that are harmless
   * @throws TopicMismatchException if a difference would lose data or break the order of records
   * @throws IllegalStateException if the cluster refuses to create or to describe a topic
   */
  public static List<TopicDifference> run(Admin admin, Topics topics, ServiceSettings settings)
      throws InterruptedException {
    TopicCheck check = new TopicCheck(admin, topics, settings);
    Map<String, TopicDescription> existing = check.existing();
    Optional<List<TopicDifference>> limits = BrokerLimits.find(admin, settings);
    if (limits.isEmpty()) {
      log.info(
          "The brokers' limits are not checked: this user has no DescribeConfigs on the cluster");
    }
    check.accept(existing, limits);
    if (check.create(existing, false)) {
      existing = check.awaitAll();
    }
    // Again: a cluster's policies may have changed the new topics' settings.
    return check.accept(existing, limits);
  }

  /**
   * Returns what refuses a planner's records or requests, or loses them: of the brokers, the topics
   * and changelogs that exist. Changes nothing.
   *
   * @throws IllegalStateException if the cluster refuses to describe the topics
   */
  static List<TopicDifference> refused(Admin admin, Topics topics, ServiceSettings settings)
      throws InterruptedException {
    TopicCheck check = new TopicCheck(admin, topics, settings);
    List<TopicDifference> differences =
        new ArrayList<>(BrokerLimits.find(admin, settings).orElse(List.of()));
    differences.addAll(check.differences(check.existing()));
    return differences.stream().filter(TopicDifference::refused).toList();
  }

  /**
   * Returns how many partitions the topics have, by name; without those that are missing.
   *
   * @throws IllegalStateException if the cluster refuses to describe the topics
   */
  static Map<String, Integer> partitions(Admin admin, Topics topics, ServiceSettings settings)
      throws InterruptedException {
    Map<String, Integer> counts = new LinkedHashMap<>();
    new TopicCheck(admin, topics, settings)
        .awaitAll()
        .forEach((name, topic) -> counts.put(name, topic.partitions().size()));
    return counts;
  }

  /**
   * Compares the topics and asks the cluster whether it would create the missing ones. Changes
   * nothing.
   *
   * @throws IllegalStateException if the cluster refuses to describe the topics, or would refuse to
   *     create one
   */
  static CheckResult compare(Admin admin, Topics topics, ServiceSettings settings)
      throws InterruptedException {
    TopicCheck check = new TopicCheck(admin, topics, settings);
    Map<String, TopicDescription> existing = check.existing();
    List<TopicDifference> differences = check.differences(existing);
    int all = topics.all().size();
    String found =
        check.create(existing, true)
            ? "%d of %d exist; run creates the others".formatted(existing.size(), all)
            : "all %d exist".formatted(all);
    return TopicDifference.result(found, found + "; ", differences);
  }

  /** Returns differences, those that are refused first, with what fixes each. */
  public static String describe(List<TopicDifference> differences) {
    return differences.stream()
        .sorted(
            Comparator.comparing((TopicDifference d) -> !d.refused())
                .thenComparing(TopicDifference::topic)
                .thenComparing(TopicDifference::setting))
        .map(d -> (d.refused() ? "refused: " : "noted: ") + d.sentence())
        .collect(Collectors.joining("\n"));
  }

  private List<TopicDifference> accept(
      Map<String, TopicDescription> existing, Optional<List<TopicDifference>> limits)
      throws InterruptedException {
    List<TopicDifference> differences = new ArrayList<>(limits.orElse(List.of()));
    differences.addAll(differences(existing));
    if (differences.stream().anyMatch(TopicDifference::refused)) {
      throw new TopicMismatchException(differences);
    }
    return differences;
  }

  private List<TopicDifference> differences(Map<String, TopicDescription> existing)
      throws InterruptedException {
    List<TopicDifference> differences = new ArrayList<>(partitions(existing));
    Map<String, TopicDescription> changelogs = changelogs();
    Set<String> names = new TreeSet<>(existing.keySet());
    names.addAll(changelogs.keySet());
    Map<String, Config> configs = KafkaAnswers.configs(admin, names);
    for (Topic<?> topic : topics.all()) {
      if (existing.containsKey(topic.name())) {
        int copies = copies(existing.get(topic.name()));
        if (copies != settings.topics().replication()) {
          differences.add(replication(topic, copies));
        }
        differences.addAll(TopicRules.of(settings, topic, configs.get(topic.name()), copies));
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

  /** Returns the changelogs that exist, and that this user may see; Kafka Streams creates them. */
  private Map<String, TopicDescription> changelogs() throws InterruptedException {
    Set<String> names = StoreName.changelogs(settings.extensions(), topics.prefix());
    names.retainAll(KafkaAnswers.get("list the topics", admin.listTopics().names()));
    return existing(names);
  }

  /**
   * Returns the topics that a topology reads. They must have the same number of partitions, so that
   * all records of a workload, and of a kind of hardware, are in partitions of the same number.
   */
  static Set<Topic<?>> read(Topics topics) {
    return topics.all().stream()
        .filter(topic -> Arrays.stream(TopologyName.values()).anyMatch(n -> n.reads(topic.type())))
        .collect(Collectors.toUnmodifiableSet());
  }

  /** Returns the different numbers of partitions of the topics that are read and exist. */
  private List<Integer> counts(Map<String, TopicDescription> existing) {
    return topics.all().stream()
        .filter(topic -> read.contains(topic) && existing.containsKey(topic.name()))
        .map(topic -> existing.get(topic.name()).partitions().size())
        .distinct()
        .toList();
  }

  /** Returns the number of partitions that the topics that are read have, or should have. */
  private int partitionsRead(Map<String, TopicDescription> existing) {
    return counts(existing).stream().reduce(settings.topics().partitions(), Math::max);
  }

  private List<TopicDifference> partitions(Map<String, TopicDescription> existing)
      throws InterruptedException {
    int most = partitionsRead(existing);
    List<Integer> counts = counts(existing);
    List<TopicDifference> differences = new ArrayList<>();
    for (Topic<?> topic : topics.all()) {
      TopicDescription description = existing.get(topic.name());
      if (description == null) {
        continue;
      }
      int found = description.partitions().size();
      boolean refused = read.contains(topic) && found < most;
      int wanted = refused ? most : settings.topics().partitions();
      if (found != wanted) {
        differences.add(
            new TopicDifference(
                topic.name(),
                "partitions",
                Integer.toString(found),
                Integer.toString(wanted),
                refused,
                partitionsBecause(refused, counts),
                refused
                    ? remedy(description, most, counts)
                    : read.contains(topic)
                        ? "in the settings file: topics.partitions=" + found
                        : "none needed: topics that are only written may have any number of partitions"));
      }
    }
    return differences;
  }

  private static String partitionsBecause(boolean refused, List<Integer> counts) {
    if (!refused) {
      return "topics.partitions";
    }
    return counts.size() > 1
        ? "all topics that are read must have the same number of partitions"
        : "topics.partitions, and a workload stays on its partition";
  }

  private String remedy(TopicDescription topic, int wanted, List<Integer> counts)
      throws InterruptedException {
    if (!written(topic)) {
      return "kafka-topics.sh %s --alter --topic %s --partitions %d"
          .formatted(TopicRules.connection(settings), topic.name(), wanted);
    }
    return "in the settings file: %s (%s has records; with more partitions, a workload's next record could go to another partition)"
        .formatted(
            counts.size() == 1
                ? "topics.partitions=" + counts.get(0)
                : "another topics.prefix, to start over",
            topic.name());
  }

  /** Returns whether a topic has ever had a record. */
  private boolean written(TopicDescription topic) throws InterruptedException {
    Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
    topic
        .partitions()
        .forEach(
            p -> asked.put(new TopicPartition(topic.name(), p.partition()), OffsetSpec.latest()));
    Map<TopicPartition, ListOffsetsResultInfo> ends =
        KafkaAnswers.get("list the offsets of " + topic.name(), admin.listOffsets(asked).all());
    return ends.values().stream().anyMatch(end -> end.offset() > 0);
  }

  private TopicDifference replication(Topic<?> topic, int copies) {
    return new TopicDifference(
        topic.name(),
        "replication",
        Integer.toString(copies),
        Integer.toString(settings.topics().replication()),
        false,
        "topics.replication",
        "kafka-reassign-partitions.sh %s, or in the settings file: topics.replication=%d"
            .formatted(TopicRules.connection(settings), copies));
  }

  /**
   * Creates missing topics; returns whether there were any.
   *
   * @param isTrial whether only to ask if the cluster would
   */
  private boolean create(Map<String, TopicDescription> existing, boolean isTrial)
      throws InterruptedException {
    int most = partitionsRead(existing);
    for (Topic<?> topic : topics.all()) {
      if (!existing.containsKey(topic.name())) {
        if (!isTrial && topic.equals(topics.of(QUARANTINE))) {
          StateCheck.createNew(admin, settings, most);
        }
        create(
            newTopic(
                settings,
                topic.name(),
                read.contains(topic) ? most : settings.topics().partitions(),
                TopicRules.created(topic, settings.connection().kafka())),
            isTrial);
      }
    }
    return existing.size() < topics.all().size();
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

  private Map<String, TopicDescription> awaitAll() throws InterruptedException {
    Map<String, TopicDescription> existing = existing();
    for (int i = 0; existing.size() < topics.all().size() && i < ATTEMPTS; i++) {
      Thread.sleep(PAUSE_MS);
      existing = existing();
    }
    return existing;
  }

  private Map<String, TopicDescription> existing() throws InterruptedException {
    return existing(topics.all().stream().map(Topic::name).toList());
  }

  private Map<String, TopicDescription> existing(Collection<String> names)
      throws InterruptedException {
    return KafkaAnswers.existing(admin.describeTopics(names).topicNameValues());
  }
}
