package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** What a cluster answers to the questions of several checks. */
final class KafkaAnswers {
  /** How long the first answer may take: other requests wait longer. */
  static final int FIRST_MS = 3_000;

  private KafkaAnswers() {}

  /** Returns a client that gives up sooner than after a minute, for a person who watches. */
  static Admin admin(ServiceSettings settings) {
    Map<String, Object> timeouts =
        Map.of(
            AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, 10_000,
            AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, 5_000);
    return Admin.create(settings.endpoint().clients(timeouts, Map.of()));
  }

  /** Asks for the brokers and the cluster's id. */
  static DescribeClusterResult cluster(Admin admin) {
    return admin.describeCluster(new DescribeClusterOptions().timeoutMs(FIRST_MS));
  }

  /** Returns that a cluster does not answer, and why. */
  static String missing(Throwable error, ServiceSettings settings) {
    return "Kafka at %s does not answer: %s"
        .formatted(
            settings.connection().bootstrapServers(),
            AuthorizationErrors.describe(error, settings));
  }

  /** Returns the answers for those topics that exist, by name. */
  static <T> Map<String, T> existing(Map<String, KafkaFuture<T>> topics)
      throws InterruptedException {
    Map<String, T> existing = new TreeMap<>();
    for (Map.Entry<String, KafkaFuture<T>> topic : topics.entrySet()) {
      try {
        existing.put(topic.getKey(), topic.getValue().get());
      } catch (ExecutionException e) {
        if (!(e.getCause() instanceof UnknownTopicOrPartitionException)) {
          throw refused("describe topic " + topic.getKey(), e);
        }
      }
    }
    return existing;
  }

  /** Returns the settings of topics, by name. */
  static Map<String, Config> configs(Admin admin, Set<String> topics) throws InterruptedException {
    List<ConfigResource> asked =
        topics.stream().map(name -> new ConfigResource(ConfigResource.Type.TOPIC, name)).toList();
    Map<String, Config> configs = new TreeMap<>();
    get("describe the settings of the topics", admin.describeConfigs(asked).all())
        .forEach((topic, config) -> configs.put(topic.name(), config));
    return configs;
  }

  /**
   * Returns the numbers of the partitions of which a group has committed an offset.
   *
   * @param isStable whether to wait for open transactions, which a killed planner leaves
   */
  static Set<Integer> committed(Admin admin, String group, boolean isStable)
      throws InterruptedException, ExecutionException {
    try {
      return admin
          .listConsumerGroupOffsets(
              group, new ListConsumerGroupOffsetsOptions().requireStable(isStable))
          .partitionsToOffsetAndMetadata()
          .get()
          .entrySet()
          .stream()
          .filter(offset -> offset.getValue() != null)
          .map(offset -> offset.getKey().partition())
          .collect(Collectors.toSet());
    } catch (ExecutionException e) {
      if (e.getCause() instanceof GroupIdNotFoundException) {
        return Set.of();
      }
      throw e;
    }
  }

  /** Returns an answer, or throws what {@link #refused} makes of its error. */
  static <T> T get(String what, KafkaFuture<T> future) throws InterruptedException {
    try {
      return future.get();
    } catch (ExecutionException e) {
      throw refused(what, e);
    }
  }

  /** Returns the error to throw: a retriable one is retried by the caller, others are final. */
  static RuntimeException refused(String what, ExecutionException e) {
    return e.getCause() instanceof RetriableException unavailable
        ? unavailable
        : new IllegalStateException(
            "Kafka refuses to %s: %s".formatted(what, e.getCause().getMessage()), e.getCause());
  }
}
