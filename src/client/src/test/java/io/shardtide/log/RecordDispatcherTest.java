package io.shardtide.log;

import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.wire.EventHeaders;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import io.shardtide.wire.Topics;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.SourcePosition;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which records are handed on, of any topic: here that of rejections. */
class RecordDispatcherTest {
  private final Topics topics = Topics.withPrefix("t.");
  private final Topic<RejectedEvent> topic = topics.of(REJECTED_EVENTS);
  private final Registry registry = Registry.connect("mock://" + UUID.randomUUID(), Map.of());
  private final RecordDispatcher dispatcher = new RecordDispatcher();
  private final List<String> handed = new ArrayList<>();
  private final List<String> deleted = new ArrayList<>();
  private RecordDispatcher.Subscription<RejectedEvent> subscription;
  private int decoded;

  @BeforeEach
  void subscribe() {
    registry.register(topics);
    subscription =
        new RecordDispatcher.Subscription<>(
            topic,
            StartPosition.BEGINNING,
            new RecordDecoder<>(registry, keyed()),
            (position, writtenAt, value) ->
                handed.add(value.workloadId().orElseThrow() + position.offset()));
    subscription.tombstones = Optional.of((position, key) -> deleted.add(key));
    dispatcher.subscriptions.put(topic.name(), subscription);
  }

  /** The topic, with keys. */
  private Topic<RejectedEvent> keyed() {
    TopicType<RejectedEvent> type =
        new TopicType<>(
            REJECTED_EVENTS.name(),
            REJECTED_EVENTS.codec(),
            Optional.of(
                value -> {
                  decoded++;
                  return value.workloadId().orElseThrow();
                }),
            REJECTED_EVENTS.retention(),
            REJECTED_EVENTS.maxMessageBytes(),
            REJECTED_EVENTS.leastMessageBytes(),
            REJECTED_EVENTS.extension());
    return new Topic<>(topic.name(), type, topic.maxMessageBytes());
  }

  @AfterEach
  void close() throws Exception {
    registry.close();
  }

  private ConsumerRecord<byte[], byte[]> record(
      int partition, long offset, String key, boolean tombstone, Headers headers) {
    byte[] value =
        registry
            .serde(topic)
            .serializer()
            .serialize(
                topic.name(),
                new RejectedEvent(
                    new SourcePosition("from", 0, offset),
                    Optional.of(key),
                    RejectionReason.UNKNOWN_NODE,
                    "message",
                    Optional.empty(),
                    Optional.empty()));
    return new ConsumerRecord<>(
        topic.name(),
        partition,
        offset,
        7,
        TimestampType.CREATE_TIME,
        key.length(),
        tombstone ? 0 : value.length,
        key.getBytes(StandardCharsets.UTF_8),
        tombstone ? null : value,
        headers,
        Optional.empty());
  }

  private void read(int partition, long offset, String key) {
    dispatcher.dispatch(record(partition, offset, key, false, new RecordHeaders()));
  }

  private void delete(int partition, long offset, String key) {
    dispatcher.dispatch(record(partition, offset, key, true, new RecordHeaders()));
  }

  /** Their bytes are not kept: where they lie is what a caller gets. */
  @Test
  void the_latest_records_of_keys_are_handed_on_when_they_are_read_again() {
    subscription.latest = Optional.of(new HashMap<>());
    for (int time = 0; time < 2; time++) {
      read(0, 3, "a");
      read(0, 5, "b");
      read(0, 6, "a");
      delete(0, 7, "b");
      read(0, 9, "c");
      read(1, 2, "d");
      if (time == 0) {
        assertThat(handed).isEmpty();
        assertThat(decoded).isZero();
        assertThat(dispatcher.readAgain(partition -> 10))
            .isEqualTo(
                Map.of(
                    new TopicPartition(topic.name(), 0), 6L,
                    new TopicPartition(topic.name(), 1), 2L));
      }
    }
    assertThat(handed).containsExactly("a6", "c9", "d2");
    assertThat(deleted).as("at once, and once").containsExactly("b");
    read(0, 10, "a");
    delete(1, 11, "d");
    assertThat(handed).endsWith("a10");
    assertThat(deleted).endsWith("d");
    assertThat(dispatcher.readAgain(partition -> 12)).isEmpty();
    read(0, 3, "a");
    assertThat(handed).as("nothing is skipped any more").endsWith("a3");
  }

  @Test
  void records_are_skipped_by_their_headers_without_being_decoded() {
    UUID mine = new UUID(1, 2);
    subscription.skipped =
        headers -> EventHeaders.eventId(headers).filter(id -> !id.equals(mine)).isPresent();
    dispatcher.dispatch(record(0, 1, "a", false, EventHeaders.of(new UUID(3, 4), 8)));
    assertThat(decoded).isZero();
    dispatcher.dispatch(record(0, 2, "a", false, EventHeaders.of(mine, 8)));
    dispatcher.dispatch(record(0, 3, "a", false, new RecordHeaders()));
    dispatcher.dispatch(
        record(
            0,
            4,
            "a",
            false,
            new RecordHeaders()
                .add(EventHeaders.EVENT_ID, "noise".getBytes(StandardCharsets.UTF_8))));
    assertThat(handed).as("of older planners, or of anybody").containsExactly("a2", "a3", "a4");
  }
}
