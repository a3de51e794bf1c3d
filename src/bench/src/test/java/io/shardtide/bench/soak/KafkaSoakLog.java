package io.shardtide.bench.soak;

import static io.shardtide.wire.TopicType.COST_MODELS;

import io.shardtide.cost.ModelBundle;
import io.shardtide.log.ClusterUnavailableException;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.Registry;
import io.shardtide.wire.RegistryUnavailableException;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.KafkaException;

/** The log on a cluster. Streams: it keeps no record. */
public final class KafkaSoakLog implements SoakLog, AutoCloseable {
  /** How long a fetch may wait at the end of a partition. */
  private static final int MAX_WAIT_MS = 10;

  private final Topics topics;
  private final TopicReader reader;

  /**
   * @param clients settings of Kafka's clients, {@code bootstrap.servers} among them
   * @param registry looks schemas up; not closed with this
   * @param topics the topics
   */
  public KafkaSoakLog(Map<String, Object> clients, Registry registry, Topics topics) {
    this.topics = topics;
    Map<String, Object> settings = new HashMap<>(clients);
    settings.putIfAbsent(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, MAX_WAIT_MS);
    reader = new TopicReader(settings, registry);
  }

  @Override
  public Topics topics() {
    return topics;
  }

  @Override
  public <V> void read(Topic<V> topic, Consumer<CommittedRecord<V>> each) throws IOException {
    reader
        .handle(
            topic,
            StartPosition.BEGINNING,
            (position, writtenAt, value) ->
                each.accept(new CommittedRecord.Stored<>(position, value)))
        .onUndecodable(
            record ->
                each.accept(
                    new CommittedRecord.Unreadable<>(record.source(), record.workloadId())));
    if (topic.type().retention() == TopicType.Retention.LATEST) {
      reader.onTombstone(
          topic, (position, key) -> each.accept(new CommittedRecord.Tombstone<>(position, key)));
    }
    try {
      reader.ranges(topic).forEach(reader::readRange);
    } catch (ClusterUnavailableException | RegistryUnavailableException | KafkaException e) {
      throw new IOException(
          "topic %s cannot be read: %s".formatted(topic.name(), e.getMessage()), e);
    }
  }

  @Override
  public Map<String, ModelBundle> models() throws IOException {
    Map<String, ModelBundle> models = new LinkedHashMap<>();
    read(
        topics.of(COST_MODELS),
        record -> {
          if (record instanceof CommittedRecord.Stored<ModelBundle> stored) {
            models.remove(stored.value().modelId());
            models.put(stored.value().modelId(), stored.value());
          }
        });
    return models;
  }

  @Override
  public void close() {
    reader.close();
  }
}
