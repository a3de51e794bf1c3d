package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import io.shardtide.config.Settings;
import io.shardtide.workload.Spelling;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.StreamsConfig;

/** Finds settings that no Kafka client has, and those that one refuses. */
public final class ClientSettings {
  private ClientSettings() {}

  /**
   * Returns why a client refuses the settings, in Kafka's words; empty if all accept them. Connects
   * to nothing.
   */
  public static Optional<String> refusal(ServiceSettings settings) {
    try {
      StreamsConfig streams =
          new StreamsConfig(StreamsProperties.of(TopologyName.WORKLOAD, settings));
      new ConsumerConfig(
          withForm(streams.getMainConsumerConfigs("any", "any", 0), ByteArrayDeserializer.class));
      new ProducerConfig(withForm(streams.getProducerConfigs("any"), ByteArraySerializer.class));
      new AdminClientConfig(streams.getAdminConfigs("any"));
      return Optional.empty();
    } catch (ConfigException | IllegalArgumentException e) {
      return Optional.of(
          "Kafka's clients refuse the settings with the prefix %s: %s"
              .formatted(Settings.KAFKA, e.getMessage()));
    }
  }

  private static Map<String, Object> withForm(Map<String, Object> config, Class<?> form) {
    Map<String, Object> complete = new HashMap<>(config);
    for (String part : List.of("key.", "value.")) {
      complete.put(part + "serializer", form);
      complete.put(part + "deserializer", form);
    }
    return complete;
  }

  /**
   * Returns a warning about each setting that no client has. They are passed on all the same,
   * because a plug-in of a client may have settings of its own.
   */
  public static List<String> unknown(Set<String> settings) {
    Set<String> known = new TreeSet<>(StreamsConfig.configDef().names());
    known.addAll(AdminClientConfig.configNames());
    known.addAll(ConsumerConfig.configNames());
    known.addAll(ProducerConfig.configNames());
    List<String> sentences = new ArrayList<>();
    for (String setting : new TreeSet<>(settings)) {
      String name = Settings.withoutClient(setting);
      if (!known.contains(name) && !setting.startsWith(StreamsConfig.TOPIC_PREFIX)) {
        sentences.add(
            "No Kafka client has a setting %s%s.%s"
                .formatted(
                    Settings.KAFKA,
                    setting,
                    Spelling.nearest(name, known)
                        .map(n -> " Maybe %s%s.".formatted(Settings.KAFKA, n))
                        .orElse("")));
      }
    }
    return sentences;
  }
}
