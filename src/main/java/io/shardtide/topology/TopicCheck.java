package io.shardtide.topology;

import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.ColumnData;
import com.github.freva.asciitable.HorizontalAlign;
import io.shardtide.config.ServiceSettings;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/**
 * Creates the topics that are missing, and compares those that are there with the catalogue.
 * Nothing is created on a cluster whose topics are refused, and nothing that exists is changed:
 * topics are their owner's.
 */
public final class TopicCheck {
  /**
   * Topics that a topology reads: all that is known of a workload, and of a hardware, must be on
   * the partition of one number. By their names after the prefix.
   */
  static final Set<String> READ =
      Set.of(
          "workload-changes",
          "cost-predictions",
          "plan-status",
          "sharding-plans",
          "measured-costs",
          "training-samples",
          "drift-alarms");

  /** Until every broker knows of a new topic. */
  private static final int ATTEMPTS = 100;

  private static final long PAUSE_MS = 100;

  private final Admin admin;
  private final Topics topics;
  private final ServiceSettings settings;

  private TopicCheck(Admin admin, Topics topics, ServiceSettings settings) {
    this.admin = admin;
    this.topics = topics;
    this.settings = settings;
  }

  /**
   * Creates what is missing and checks what is there.
   *
   * @return what differs and does no harm
   * @throws TopicMismatchException if a difference would lose data or break the order of records
   * @throws IllegalStateException if the cluster refuses to create or to show a topic
   */
  public static List<TopicDifference> run(Admin admin, Topics topics, ServiceSettings settings)
      throws InterruptedException {
    TopicCheck check = new TopicCheck(admin, topics, settings);
    Map<String, TopicDescription> there = check.there();
    check.accept(there);
    if (check.create(there)) {
      there = check.allThere();
    }
    // Once more: a cluster's policies may have made them otherwise.
    return check.accept(there);
  }

  /** Returns differences as a table, and what puts them right. */
  public static String describe(List<TopicDifference> differences) {
    List<TopicDifference> sorted =
        differences.stream()
            .sorted(
                Comparator.comparing((TopicDifference d) -> !d.refused())
                    .thenComparing(TopicDifference::topic)
                    .thenComparing(TopicDifference::setting))
            .toList();
    String table =
        AsciiTable.getTable(
            AsciiTable.NO_BORDERS,
            sorted,
            List.of(
                column("", d -> d.refused() ? "refused" : "noted"),
                column("topic", TopicDifference::topic),
                column("setting", TopicDifference::setting),
                column("is", TopicDifference::found),
                column("should be", TopicDifference::wanted),
                column("because", TopicDifference::reason)));
    String remedies =
        sorted.stream()
            .map(TopicDifference::remedy)
            .distinct()
            .map(remedy -> "  " + remedy)
            .collect(Collectors.joining("\n"));
    return table.replaceAll(" +(?=\n|$)", "") + "\nTo put it right:\n" + remedies;
  }

  private static ColumnData<TopicDifference> column(
      String header, Function<TopicDifference, String> value) {
    return new Column()
        .header(header)
        .headerAlign(HorizontalAlign.LEFT)
        .dataAlign(HorizontalAlign.LEFT)
        .maxWidth(90)
        .with(value);
  }

  private List<TopicDifference> accept(Map<String, TopicDescription> there)
      throws InterruptedException {
    List<TopicDifference> differences = new ArrayList<>(partitions(there));
    Map<ConfigResource, Config> configs = configs(there.keySet());
    for (Topic<?> topic : topics.all()) {
      TopicDescription description = there.get(topic.name());
      if (description != null) {
        int copies =
            description.partitions().stream().mapToInt(p -> p.replicas().size()).min().orElse(0);
        differences.addAll(replication(topic, copies));
        differences.addAll(
            new TopicRules(settings, topic, copies)
                .differences(
                    configs.get(new ConfigResource(ConfigResource.Type.TOPIC, topic.name()))));
      }
    }
    if (differences.stream().anyMatch(TopicDifference::refused)) {
      throw new TopicMismatchException(differences);
    }
    return differences;
  }

  private boolean isRead(Topic<?> topic) {
    return READ.contains(topic.name().substring(settings.topicPrefix().length()));
  }

  /** Returns how many partitions the topics that are read have, or should have. */
  private int partitionsRead(Map<String, TopicDescription> there) {
    return topics.all().stream()
        .filter(topic -> isRead(topic) && there.containsKey(topic.name()))
        .mapToInt(topic -> there.get(topic.name()).partitions().size())
        .reduce(settings.partitions(), Math::max);
  }

  private List<TopicDifference> partitions(Map<String, TopicDescription> there)
      throws InterruptedException {
    int read = partitionsRead(there);
    List<Integer> counts =
        topics.all().stream()
            .filter(topic -> isRead(topic) && there.containsKey(topic.name()))
            .map(topic -> there.get(topic.name()).partitions().size())
            .distinct()
            .toList();
    List<TopicDifference> differences = new ArrayList<>();
    for (Topic<?> topic : topics.all()) {
      if (!there.containsKey(topic.name())) {
        continue;
      }
      int found = there.get(topic.name()).partitions().size();
      if (isRead(topic) && found < read) {
        differences.add(
            new TopicDifference(
                topic.name(),
                "partitions",
                Integer.toString(found),
                Integer.toString(read),
                true,
                counts.size() > 1
                    ? "a workload is on the partition of one number of each topic that is read"
                    : "the settings say so, and a workload stays on its partition",
                remedy(there.get(topic.name()), read, counts)));
      } else if (found != settings.partitions()) {
        differences.add(
            new TopicDifference(
                topic.name(),
                "partitions",
                Integer.toString(found),
                Integer.toString(settings.partitions()),
                false,
                "the settings say so",
                isRead(topic)
                    ? "in the settings file: topics.partitions=" + found
                    : "nothing: topics that are only written may have any number of partitions"));
      }
    }
    return differences;
  }

  private String remedy(TopicDescription topic, int wanted, List<Integer> counts)
      throws InterruptedException {
    if (!written(topic)) {
      return "kafka-topics.sh %s --alter --topic %s --partitions %d"
          .formatted(TopicRules.connection(settings), topic.name(), wanted);
    }
    return counts.size() == 1
        ? "in the settings file: topics.partitions=%d (%s has records, which more partitions would part from those to come)"
            .formatted(counts.get(0), topic.name())
        : "in the settings file: another topics.prefix, to begin anew (%s has records, which more partitions would part from those to come)"
            .formatted(topic.name());
  }

  /** Returns whether anything was ever written to a topic. */
  private boolean written(TopicDescription topic) throws InterruptedException {
    Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
    topic
        .partitions()
        .forEach(
            p -> asked.put(new TopicPartition(topic.name(), p.partition()), OffsetSpec.latest()));
    Map<TopicPartition, ListOffsetsResultInfo> ends =
        get("show the offsets of " + topic.name(), admin.listOffsets(asked).all());
    return ends.values().stream().anyMatch(end -> end.offset() > 0);
  }

  private List<TopicDifference> replication(Topic<?> topic, int copies) {
    return copies == settings.replication()
        ? List.of()
        : List.of(
            new TopicDifference(
                topic.name(),
                "replication",
                Integer.toString(copies),
                Integer.toString(settings.replication()),
                false,
                "the settings say so",
                "kafka-reassign-partitions.sh %s, or in the settings file: topics.replication=%d"
                    .formatted(TopicRules.connection(settings), copies)));
  }

  /** Creates what is missing, and returns whether something was. */
  private boolean create(Map<String, TopicDescription> there) throws InterruptedException {
    int read = partitionsRead(there);
    boolean created = false;
    for (Topic<?> topic : topics.all()) {
      if (there.containsKey(topic.name())) {
        continue;
      }
      created = true;
      int partitions = isRead(topic) ? read : settings.partitions();
      NewTopic wanted =
          new NewTopic(topic.name(), Optional.of(partitions), Optional.of(settings.replication()))
              .configs(TopicRules.created(topic));
      try {
        admin.createTopics(List.of(wanted)).all().get();
      } catch (ExecutionException e) {
        // Another instance that starts was faster.
        if (!(e.getCause() instanceof TopicExistsException)) {
          throw refused(
              "create %s with %d partitions in %d copies (topics.partitions, topics.replication)"
                  .formatted(topic.name(), partitions, settings.replication()),
              e);
        }
      }
    }
    return created;
  }

  private Map<String, TopicDescription> allThere() throws InterruptedException {
    Map<String, TopicDescription> there = there();
    for (int i = 0; there.size() < topics.all().size() && i < ATTEMPTS; i++) {
      Thread.sleep(PAUSE_MS);
      there = there();
    }
    return there;
  }

  private Map<String, TopicDescription> there() throws InterruptedException {
    Map<String, TopicDescription> there = new LinkedHashMap<>();
    List<String> names = topics.all().stream().map(Topic::name).toList();
    for (Map.Entry<String, KafkaFuture<TopicDescription>> entry :
        admin.describeTopics(names).topicNameValues().entrySet()) {
      try {
        there.put(entry.getKey(), entry.getValue().get());
      } catch (ExecutionException e) {
        if (!(e.getCause() instanceof UnknownTopicOrPartitionException)) {
          throw refused("show topic " + entry.getKey(), e);
        }
      }
    }
    return there;
  }

  private Map<ConfigResource, Config> configs(Set<String> names) throws InterruptedException {
    return get(
        "show the settings of the topics",
        admin
            .describeConfigs(
                names.stream()
                    .map(name -> new ConfigResource(ConfigResource.Type.TOPIC, name))
                    .toList())
            .all());
  }

  private static <T> T get(String what, KafkaFuture<T> future) throws InterruptedException {
    try {
      return future.get();
    } catch (ExecutionException e) {
      throw refused(what, e);
    }
  }

  /** A cluster that is away is tried again; one that says no is not. */
  private static RuntimeException refused(String what, ExecutionException e) {
    return e.getCause() instanceof RetriableException away
        ? away
        : new IllegalStateException(
            "Kafka refuses to %s: %s".formatted(what, e.getCause().getMessage()), e.getCause());
  }
}
