package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import io.shardtide.config.Settings;
import io.shardtide.wire.Causes;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.InvalidSessionTimeoutException;
import org.apache.kafka.common.errors.InvalidTxnTimeoutException;
import org.apache.kafka.streams.StreamsConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Compares the brokers' limits with what a planner asks for. A broker refuses a group or a
 * transaction beyond them, and a planner would try again for ever.
 */
final class BrokerLimits {
  private static final Logger log = LoggerFactory.getLogger(BrokerLimits.class);

  /** Stands for a topic in a {@link TopicDifference}. */
  static final String BROKERS = "(brokers)";

  private static final String MIN_SESSION = "group.min.session.timeout.ms";
  private static final String MAX_SESSION = "group.max.session.timeout.ms";
  private static final String MAX_TRANSACTION = "transaction.max.timeout.ms";

  /** Planners that stop for longer lose their committed offsets; see {@link StateCheck}. */
  private static final long OFFSETS_RETENTION_MINUTES = 24 * 60;

  private final ServiceSettings settings;
  private final List<Limit> limits;

  /**
   * A limit of the brokers.
   *
   * @param setting the brokers' setting
   * @param isLeast whether our value must be at least the brokers'; otherwise at most
   * @param ours key of our setting; empty if only the brokers' can be changed
   * @param value our value
   * @param reason what happens otherwise
   */
  private record Limit(String setting, boolean isLeast, String ours, long value, String reason) {
    Optional<TopicDifference> compare(Config config) {
      ConfigEntry entry = config.get(setting);
      if (entry == null || entry.value() == null || allows(Long.parseLong(entry.value()))) {
        return Optional.empty();
      }
      String found = entry.value();
      String wanted = "at %s %d".formatted(isLeast ? "most" : "least", value);
      String remedy = "on the brokers: %s=%d (needs their restart)".formatted(setting, value);
      if (!ours.isEmpty()) {
        wanted = "%s (%s)".formatted(wanted, ours);
        remedy = "%s; or in the settings file: %s=%s".formatted(remedy, ours, found);
      }
      return Optional.of(
          new TopicDifference(BROKERS, setting, found, wanted, !ours.isEmpty(), reason, remedy));
    }

    private boolean allows(long broker) {
      return isLeast ? broker <= value : broker >= value;
    }
  }

  BrokerLimits(ServiceSettings settings) {
    this.settings = settings;
    StreamsConfig streams =
        new StreamsConfig(StreamsProperties.of(TopologyName.WORKLOAD, settings));
    Map<String, Object> consumer = streams.getMainConsumerConfigs("any", "any", 0);
    Map<String, Object> producer = streams.getProducerConfigs("any");
    String session =
        key(
            ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG,
            StreamsConfig.MAIN_CONSUMER_PREFIX,
            StreamsConfig.CONSUMER_PREFIX);
    String transaction =
        key(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, StreamsConfig.PRODUCER_PREFIX);
    String request = key(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, StreamsConfig.PRODUCER_PREFIX);
    long sessionMs = number(consumer, ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG);
    long transactionMs = number(producer, ProducerConfig.TRANSACTION_TIMEOUT_CONFIG);
    long requestBytes = number(producer, ProducerConfig.MAX_REQUEST_SIZE_CONFIG);
    String join = "planners could not join their groups";
    String begin = "planners could not begin transactions";
    String large = "brokers would end the connection of a larger request, again and again";
    String forget = "planners that stop for longer forget what they have read";
    limits =
        List.of(
            new Limit(MIN_SESSION, true, session, sessionMs, join),
            new Limit(MAX_SESSION, false, session, sessionMs, join),
            new Limit("group.max.size", false, "threads", settings.streams().threads(), join),
            new Limit(MAX_TRANSACTION, false, transaction, transactionMs, begin),
            new Limit("socket.request.max.bytes", false, request, requestBytes, large),
            new Limit("offsets.retention.minutes", false, "", OFFSETS_RETENTION_MINUTES, forget));
  }

  /** Returns the key of a setting for a client: with the prefix that the settings file has. */
  private String key(String name, String... prefixes) {
    return Settings.KAFKA
        + Stream.of(prefixes)
            .map(prefix -> prefix + name)
            .filter(settings.connection().kafka()::containsKey)
            .findFirst()
            .orElse(name);
  }

  private static long number(Map<String, Object> config, String name) {
    return (Long) ConfigDef.parseType(name, config.get(name).toString(), ConfigDef.Type.LONG);
  }

  /**
   * Asks each broker, and returns the limits that are exceeded. A broker that does not answer is
   * left out; empty if none tells them, as where the user may not ask (DescribeConfigs on the
   * cluster).
   */
  Optional<List<TopicDifference>> find(Admin admin) throws InterruptedException {
    List<Limit> all = new ArrayList<>(limits);
    Set<String> topics = KafkaAnswers.get("list the topics", admin.listTopics().names());
    if (!topics.containsAll(TopicProbe.owned(settings))) {
      all.add(
          new Limit(
              TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG,
              true,
              "topics.replication",
              settings.topics().replication(),
              "new topics could not be written"));
    }
    List<Config> brokers = brokers(admin);
    List<TopicDifference> differences =
        all.stream()
            .sorted(Comparator.comparing(Limit::setting))
            .flatMap(limit -> brokers.stream().flatMap(c -> limit.compare(c).stream()).limit(1))
            .toList();
    return Optional.of(differences).filter(found -> !brokers.isEmpty());
  }

  /** Returns the settings of the brokers that tell them. */
  private static List<Config> brokers(Admin admin) throws InterruptedException {
    List<ConfigResource> asked =
        KafkaAnswers.get("describe the cluster", admin.describeCluster().nodes()).stream()
            .map(node -> new ConfigResource(ConfigResource.Type.BROKER, node.idString()))
            .toList();
    List<Config> told = new ArrayList<>();
    for (KafkaFuture<Config> answer :
        admin
            .describeConfigs(asked, new DescribeConfigsOptions().timeoutMs(KafkaAnswers.FIRST_MS))
            .values()
            .values()) {
      try {
        told.add(answer.get());
      } catch (ExecutionException e) {
        log.debug("A broker does not tell its limits", e);
      }
    }
    return told;
  }

  /**
   * Returns what to set where the brokers refused a planner that may not ask for their limits;
   * empty for any other error.
   */
  static Optional<String> explain(Throwable error, ServiceSettings settings) {
    return Causes.find(error, InvalidSessionTimeoutException.class)
        .map(e -> new BrokerLimits(settings).advice(MIN_SESSION, " to " + MAX_SESSION))
        .or(
            () ->
                Causes.find(error, InvalidTxnTimeoutException.class)
                    .map(e -> new BrokerLimits(settings).advice(MAX_TRANSACTION, " at most")));
  }

  private String advice(String setting, String range) {
    Limit limit =
        limits.stream().filter(l -> l.setting().equals(setting)).findFirst().orElseThrow();
    return "%s is %d; set it to what the brokers allow (%s%s), or raise their limit"
        .formatted(limit.ours(), limit.value(), setting, range);
  }
}
