package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import io.shardtide.config.Settings;
import io.shardtide.wire.Causes;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.Node;
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
  private record Limit(
      String setting, boolean isLeast, Optional<String> ours, long value, String reason) {
    Limit(String setting, boolean isLeast, String ours, long value, String reason) {
      this(setting, isLeast, Optional.of(ours), value, reason);
    }

    boolean allows(long broker) {
      return isLeast ? broker <= value : broker >= value;
    }
  }

  private BrokerLimits(ServiceSettings settings) {
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
    long sessionMs = number(consumer, ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG);
    String join = "planners could not join their groups";
    limits =
        List.of(
            new Limit(MIN_SESSION, true, session, sessionMs, join),
            new Limit(MAX_SESSION, false, session, sessionMs, join),
            new Limit("group.max.size", false, "threads", settings.streams().threads(), join),
            new Limit(
                MAX_TRANSACTION,
                false,
                key(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, StreamsConfig.PRODUCER_PREFIX),
                number(producer, ProducerConfig.TRANSACTION_TIMEOUT_CONFIG),
                "planners could not begin transactions"),
            new Limit(
                "socket.request.max.bytes",
                false,
                key(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, StreamsConfig.PRODUCER_PREFIX),
                number(producer, ProducerConfig.MAX_REQUEST_SIZE_CONFIG),
                "brokers would end the connection of a larger request, again and again"),
            new Limit(
                "offsets.retention.minutes",
                false,
                Optional.empty(),
                OFFSETS_RETENTION_MINUTES,
                "planners that stop for longer forget what they have read"));
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
  static Optional<List<TopicDifference>> find(Admin admin, ServiceSettings settings)
      throws InterruptedException {
    return new BrokerLimits(settings).find(admin);
  }

  private Optional<List<TopicDifference>> find(Admin admin) throws InterruptedException {
    List<Limit> all = new ArrayList<>(limits);
    List<Config> brokers = new ArrayList<>();
    try {
      if (createsTopics(admin)) {
        all.add(
            new Limit(
                TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG,
                true,
                "topics.replication",
                settings.topics().replication(),
                "new topics could not be written"));
      }
      for (Node node : admin.describeCluster().nodes().get()) {
        config(admin, node).ifPresent(brokers::add);
      }
    } catch (ExecutionException e) {
      throw KafkaAnswers.refused("describe the cluster", e);
    }
    List<TopicDifference> differences =
        all.stream()
            .sorted(Comparator.comparing(Limit::setting))
            .flatMap(limit -> brokers.stream().flatMap(c -> compare(limit, c).stream()).limit(1))
            .toList();
    return Optional.of(differences).filter(found -> !brokers.isEmpty());
  }

  /** Returns the settings of a broker; empty if it does not tell them. */
  private static Optional<Config> config(Admin admin, Node node) throws InterruptedException {
    ConfigResource broker =
        new ConfigResource(ConfigResource.Type.BROKER, Integer.toString(node.id()));
    try {
      return Optional.of(
          admin
              .describeConfigs(
                  List.of(broker), new DescribeConfigsOptions().timeoutMs(KafkaAnswers.FIRST_MS))
              .all()
              .get()
              .get(broker));
    } catch (ExecutionException e) {
      log.debug("Broker {} does not tell its limits", node.id(), e);
      return Optional.empty();
    }
  }

  private boolean createsTopics(Admin admin) throws InterruptedException, ExecutionException {
    return !admin.listTopics().names().get().containsAll(TopicProbe.owned(settings));
  }

  private static Optional<TopicDifference> compare(Limit limit, Config config) {
    ConfigEntry entry = config.get(limit.setting());
    if (entry == null || entry.value() == null || limit.allows(Long.parseLong(entry.value()))) {
      return Optional.empty();
    }
    String wanted = "at %s %d".formatted(limit.isLeast() ? "most" : "least", limit.value());
    String onBrokers =
        "on the brokers: %s=%d (needs their restart)".formatted(limit.setting(), limit.value());
    return Optional.of(
        new TopicDifference(
            BROKERS,
            limit.setting(),
            entry.value(),
            limit.ours().map(ours -> "%s (%s)".formatted(wanted, ours)).orElse(wanted),
            limit.ours().isPresent(),
            limit.reason(),
            limit
                .ours()
                .map(
                    ours ->
                        "%s; or in the settings file: %s=%s"
                            .formatted(onBrokers, ours, entry.value()))
                .orElse(onBrokers)));
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
        .formatted(limit.ours().orElseThrow(), limit.value(), setting, range);
  }
}
