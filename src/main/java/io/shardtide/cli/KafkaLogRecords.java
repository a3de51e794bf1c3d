package io.shardtide.cli;

import io.shardtide.cost.ModelBundle;
import io.shardtide.domain.SourcePosition;
import io.shardtide.replay.LogRecords;
import io.shardtide.replay.MalformedRecordException;
import io.shardtide.replay.RecordKind;
import io.shardtide.wire.Decoded;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * The records on a cluster, up to where the topics ended when this was opened: what is written
 * meanwhile is not seen, and every plan that is seen finds what it was made from. Reads what was
 * committed, one partition after another.
 */
final class KafkaLogRecords implements LogRecords, AutoCloseable {
  private static final Duration POLL = Duration.ofMillis(500);

  /** How long the cluster may be silent. */
  private static final int TIMEOUT_MS = 30_000;

  private final Registry registry;
  private final Topics topics;
  private final Optional<byte[]> workload;
  private final KafkaConsumer<byte[], byte[]> consumer;
  private final Runnable progress;

  /** By topic, where each partition begins and ends. */
  private final Map<String, Map<TopicPartition, Span>> spans = new LinkedHashMap<>();

  private final Map<String, Long> setAside = new TreeMap<>();

  /**
   * @param begin offset of the first record
   * @param end offset after the last
   */
  private record Span(long begin, long end) {}

  /**
   * @param clients settings of Kafka's client, the address among them
   * @param registry has the schemas; is not closed with this
   * @param topics where the records are
   * @param workload whose records are seen; empty for all
   * @param progress runs after each record
   * @throws IOException if the cluster does not answer, or a topic is missing
   */
  KafkaLogRecords(
      Map<String, Object> clients,
      Registry registry,
      Topics topics,
      Optional<String> workload,
      Runnable progress)
      throws IOException {
    this.registry = registry;
    this.topics = topics;
    this.workload = workload.map(w -> w.getBytes(StandardCharsets.UTF_8));
    this.progress = progress;
    Map<String, Object> config = new HashMap<>();
    config.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, TIMEOUT_MS);
    config.putAll(clients);
    config.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    config.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    config.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
    consumer =
        new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    try {
      for (RecordKind<?> part : RecordKind.ALL) {
        find(part.topic().apply(topics).name());
      }
      find(topics.costModels().name());
    } catch (IOException | RuntimeException e) {
      consumer.close();
      throw e;
    }
  }

  private void find(String topic) throws IOException {
    try {
      List<TopicPartition> partitions =
          consumer.partitionsFor(topic).stream()
              .map(info -> new TopicPartition(info.topic(), info.partition()))
              .sorted(Comparator.comparingInt(TopicPartition::partition))
              .toList();
      if (partitions.isEmpty()) {
        throw new IOException(
            "There is no topic %s on the cluster; legal is a cluster that a planner runs on. Maybe another --prefix"
                .formatted(topic));
      }
      // The client asks for committed ends only of what is assigned.
      consumer.assign(partitions);
      Map<TopicPartition, Long> begins = consumer.beginningOffsets(partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      Map<TopicPartition, Span> found = new LinkedHashMap<>();
      partitions.forEach(p -> found.put(p, new Span(begins.get(p), ends.get(p))));
      spans.put(topic, found);
    } catch (TimeoutException e) {
      throw new IOException("The Kafka cluster does not answer: " + e.getMessage(), e);
    } catch (KafkaException e) {
      throw new IOException("Topic %s cannot be read: %s".formatted(topic, e.getMessage()), e);
    }
  }

  /** Returns about how many records there are, those of other workloads included. */
  long size() {
    return spans.values().stream()
        .flatMap(s -> s.values().stream())
        .mapToLong(s -> s.end() - s.begin())
        .sum();
  }

  /** Returns what a person should know of the log, in words. */
  List<String> notes() {
    List<String> notes = new ArrayList<>();
    spans
        .values()
        .forEach(
            found ->
                found.forEach(
                    (partition, span) -> {
                      if (span.begin() > 0) {
                        notes.add(
                            "%s begins at offset %,d: what was before is gone from the cluster"
                                .formatted(partition, span.begin()));
                      }
                    }));
    setAside.forEach(
        (topic, count) ->
            notes.add(
                "%s: %,d records that cannot be read are left out, as the planner did"
                    .formatted(topic, count)));
    return notes;
  }

  @Override
  public boolean has(RecordKind<?> part) {
    return true;
  }

  @Override
  public <V> void read(RecordKind<V> part, Consumer<? super V> each) throws IOException {
    read(part.topic().apply(topics), part.workloadId(), workload, each);
  }

  @Override
  public Map<String, ModelBundle> models() throws IOException {
    Map<String, ModelBundle> models = new LinkedHashMap<>();
    read(
        topics.costModels(),
        ModelBundle::hardware,
        Optional.empty(),
        bundle -> {
          models.remove(bundle.modelId());
          models.put(bundle.modelId(), bundle);
        });
    return models;
  }

  /**
   * Reads a topic that no replay needs, up to where it ends now.
   *
   * @param keyOf gives the key that a record must have
   * @param each is given what a record holds, and when it was written
   * @throws IOException if the cluster does not answer, or the topic is missing
   */
  <V> void readNow(Topic<V> topic, Function<V, String> keyOf, BiConsumer<V, Instant> each)
      throws IOException {
    find(topic.name());
    read(topic, keyOf, Optional.empty(), each);
  }

  private <V> void read(
      Topic<V> topic, Function<V, String> keyOf, Optional<byte[]> key, Consumer<? super V> each)
      throws IOException {
    read(topic, keyOf, key, (value, written) -> each.accept(value));
  }

  private <V> void read(
      Topic<V> topic, Function<V, String> keyOf, Optional<byte[]> key, BiConsumer<V, Instant> each)
      throws IOException {
    RecordDecoder<V> decoder = new RecordDecoder<>(registry, topic, keyOf);
    setAside.remove(topic.name());
    try {
      for (Map.Entry<TopicPartition, Span> entry : spans.get(topic.name()).entrySet()) {
        TopicPartition partition = entry.getKey();
        long end = entry.getValue().end();
        consumer.assign(List.of(partition));
        consumer.seek(partition, entry.getValue().begin());
        while (consumer.position(partition) < end) {
          for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
            if (record.offset() < end
                && (key.isEmpty() || Arrays.equals(key.get(), record.key()))) {
              show(decoder, record, each);
            }
            progress.run();
          }
        }
      }
    } catch (TimeoutException e) {
      throw new IOException("The Kafka cluster does not answer: " + e.getMessage(), e);
    } catch (KafkaException e) {
      throw new IOException(
          "Topic %s cannot be read: %s".formatted(topic.name(), e.getMessage()), e);
    } finally {
      consumer.unsubscribe();
    }
  }

  private <V> void show(
      RecordDecoder<V> decoder,
      ConsumerRecord<byte[], byte[]> record,
      BiConsumer<V, Instant> each) {
    SourcePosition source = new SourcePosition(record.topic(), record.partition(), record.offset());
    Decoded<V> decoded = decoder.decode(source, record.key(), record.value());
    if (decoded instanceof Decoded.Value<V> value) {
      try {
        each.accept(value.value(), Instant.ofEpochMilli(record.timestamp()));
      } catch (IllegalArgumentException e) {
        throw new MalformedRecordException(source.toString(), e);
      }
    } else {
      setAside.merge(record.topic(), 1L, Long::sum);
    }
  }

  @Override
  public void close() {
    consumer.close();
  }
}
