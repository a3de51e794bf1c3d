package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.drop;
import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.CURRENT_PREDICTIONS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.NearestModel;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.step.AppliedEvents;
import io.shardtide.testing.Fixtures;
import io.shardtide.wire.Codec;
import io.shardtide.wire.EventHeaders;
import io.shardtide.wire.StoreSerdes;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.UnknownHardware;
import io.shardtide.workload.WorkloadChange;
import io.shardtide.workload.WorkloadState;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.Test;

/** Events are applied once, and invalid ones are rejected. */
class WorkloadTopologyTest extends TopologyFixture {
  /**
   * Each is reported with its bytes and its position, the workload is untouched, and the stream
   * goes on.
   */
  @Test
  void invalid_records_are_rejected_and_the_next_ones_are_processed() {
    WorkloadChange first = event(set(2, Fixtures.GIB), upsert("a", 1_000, 64, 5));
    publish(first);
    ShardingPlan before = plans.readValue();
    byte[] noise = "noise".getBytes(StandardCharsets.UTF_8);
    byte[] unknownSchema = bytes(first);
    unknownSchema[1] = 9;

    assertRejected(1, KEY, noise, RejectionReason.UNDECODABLE);
    assertRejected(2, KEY, null, RejectionReason.UNDECODABLE);
    assertRejected(3, KEY, unknownSchema, RejectionReason.UNKNOWN_SCHEMA);
    assertRejected(4, null, bytes(first), RejectionReason.KEY_MISMATCH);
    assertRejected(5, KEY, bytes(first), RejectionReason.DUPLICATE_EVENT);
    assertRejected(6, KEY, bytes(event(drop("nope"))), RejectionReason.UNKNOWN_TABLE);
    assertRejected(
        7, KEY, bytes(event(OptionalLong.of(0), drop("a"))), RejectionReason.STALE_GENERATION);
    assertRejected(
        8,
        KEY,
        bytes(
            event(
                new Change.ClusterSet(
                    new io.shardtide.workload.ClusterSpec(1, 1, 1, 1, "unheard-of")))),
        RejectionReason.UNKNOWN_HARDWARE);
    assertRejected(9, KEY, tooMany(), RejectionReason.TOO_MANY_CHANGES);
    assertRejected(10, KEY, none(), RejectionReason.NO_CHANGES);

    publish(event(OptionalLong.of(1), upsert("b", 10, 4, 1)));
    ShardingPlan after = plans.readValue();
    assertThat(after.generation()).isEqualTo(2);
    assertThat(after.origin().source().offset()).isEqualTo(11);
    assertThat(after.origin().previousPlanId()).contains(before.planId());
    assertThat(rejected.isEmpty()).isTrue();
  }

  /** Who awaits one event need not decode the predictions of all others. */
  @Test
  void predictions_say_in_their_headers_of_which_event_they_are() {
    WorkloadChange event =
        event(set(2, Fixtures.GIB), upsert("a", 1_000, 64, 5), upsert("b", 1_000, 64, 5));
    changes.pipeInput(KEY, bytes(event));
    List<TestRecord<String, CostPredictions>> parts = predictions.readRecordsToList();
    assertThat(parts).hasSize(2);
    assertThat(parts)
        .allSatisfy(
            part -> {
              assertThat(EventHeaders.eventId(part.headers())).contains(event.eventId());
              assertThat(part.headers().lastHeader(EventHeaders.GENERATION).value())
                  .asString()
                  .isEqualTo("1");
            });
    assertThat(output(workload, topics.of(CURRENT_PREDICTIONS)).readRecordsToList())
        .allSatisfy(part -> assertThat(part.headers()).isEmpty());
  }

  /** A program that writes another name of hardware into each event. */
  @Test
  void of_any_number_of_hardware_names_only_so_many_get_a_model() {
    predictors.unknownHardware = UnknownHardware.NEAREST;
    int names = NearestModel.MOST_BORROWED + 6;
    for (int i = 0; i < names; i++) {
      publish(
          of(
              "w" + i,
              new Change.ClusterSet(new ClusterSpec(2, Fixtures.GIB, 65_536, 2, "h" + i)),
              upsert("a", 1_000, 64, 5)));
    }
    assertThat(predictors.hardware()).hasSize(NearestModel.MOST_BORROWED + 1);
    assertThat(plans.readValuesToList())
        .hasSize(NearestModel.MOST_BORROWED)
        .extracting(ShardingPlan::workloadId)
        .contains("w0", "w63");
    List<RejectedEvent> rejections = rejected.readValuesToList();
    assertThat(rejections)
        .extracting(RejectedEvent::workloadId)
        .containsExactlyElementsOf(
            IntStream.range(NearestModel.MOST_BORROWED, names)
                .mapToObj(i -> Optional.of("w" + i))
                .toList());
    assertThat(rejections)
        .allSatisfy(
            rejection -> {
              assertThat(rejection.reason()).isEqualTo(RejectionReason.UNKNOWN_HARDWARE);
              assertThat(rejection.message()).contains("at most 64 kinds", "h0, h1, h10");
            });
    publish(of("w0", upsert("b", 1_000, 64, 5)));
    assertThat(plans.readValue().generation()).as("of hardware that has begun").isEqualTo(2);
  }

  /** A table with an access CDF that ends below 1, between changes that would be applied. */
  @Test
  void nothing_is_applied_of_an_event_with_an_invalid_access_cdf() {
    publish(event(set(2, Fixtures.GIB), upsert("a", 1_000, 64, 5)));
    plans.readValue();
    TableSpec skewed =
        TableSpecBuilder.builder(Fixtures.table("b", 10, 4, 1))
            .accessCdf(new AccessCdf(List.of(0.5, 0.625, 1.0)))
            .build();
    WorkloadChange event =
        event(
            upsert("c", 10, 4, 1),
            new Change.TableUpserted(skewed),
            set(3, Fixtures.GIB),
            drop("a"));
    assertRejected(
        1, KEY, replaced(bytes(event), 0.625, 0.375), RejectionReason.INVALID_ACCESS_CDF);

    publish(event(OptionalLong.of(1), upsert("d", 10, 4, 1)));
    ShardingPlan after = plans.readValue();
    assertThat(after.generation()).isEqualTo(2);
    assertThat(after.prediction().deviceCosts()).hasSize(2);
    assertThat(after.shards()).extracting(Shard::table).containsOnly("a", "d");
    publish(event);
    assertThat(plans.readValue().shards()).extracting(Shard::table).containsOnly("b", "c", "d");
  }

  /** Returns a record with another number in the place of one that it has once. */
  private static byte[] replaced(byte[] record, double number, double by) {
    ByteBuffer bytes = ByteBuffer.wrap(record.clone()).order(ByteOrder.LITTLE_ENDIAN);
    List<Integer> places =
        IntStream.rangeClosed(0, record.length - Double.BYTES)
            .filter(at -> bytes.getDouble(at) == number)
            .boxed()
            .toList();
    assertThat(places).hasSize(1);
    return bytes.putDouble(places.get(0), by).array();
  }

  private void assertRejected(int offset, byte[] key, byte[] value, RejectionReason reason) {
    changes.pipeInput(key, value);
    RejectedEvent rejection = rejected.readValue();
    assertThat(rejection.reason()).isEqualTo(reason);
    assertThat(rejection.source().topic()).isEqualTo(topics.of(WORKLOAD_CHANGES).name());
    assertThat(rejection.source().offset()).isEqualTo(offset);
    assertThat(rejection.message()).containsAnyOf("legal", "must be").isNotBlank();
    assertThat(rejection.value().map(b -> b.toArray()).orElse(null)).isEqualTo(value);
    assertThat(rejection.key().map(b -> b.toArray()).orElse(null)).isEqualTo(key);
    assertThat(predictions.isEmpty()).isTrue();
  }

  /** The record of a publisher whose library does not check: 10,001 changes, as bytes. */
  private byte[] tooMany() {
    Change[] some = Fixtures.times(10_000, drop("x")).toArray(new Change[0]);
    return withCount(bytes(event(some)), 10_000, 10_001, new byte[] {2, 2, 'x'});
  }

  private byte[] none() {
    return withCount(bytes(event(drop("x"))), 1, 0, null);
  }

  /** Rewrites the count of the only array block, and adds an item or drops all. */
  private static byte[] withCount(byte[] event, int count, int newCount, byte[] item) {
    byte[] from = zigzag(count);
    int at = event.length - 1 - 3 * count - from.length;
    assertThat(Arrays.copyOfRange(event, at, at + from.length)).isEqualTo(from);
    java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
    out.write(event, 0, at);
    if (newCount > 0) {
      out.writeBytes(zigzag(newCount));
      out.write(event, at + from.length, 3 * count);
      out.writeBytes(item);
    }
    out.write(0);
    return out.toByteArray();
  }

  private static byte[] zigzag(int value) {
    java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
    int rest = value << 1;
    while ((rest & ~0x7f) != 0) {
      out.write((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    out.write(rest);
    return out.toByteArray();
  }

  @Test
  void an_event_of_10000_tables_is_one_generation() {
    Change[] many = new Change[10_000];
    many[0] = set(64, 80 * Fixtures.GIB);
    for (int i = 1; i < many.length; i++) {
      many[i] = upsert("t%05d".formatted(i), 1_000, 4, 1);
    }
    WorkloadChange event = event(many);
    changes.pipeInput(KEY, bytes(event));
    List<CostPredictions> parts = predictions.readValuesToList();
    assertThat(parts).hasSize(9_999);
    assertThat(parts.get(9_998).isLast()).isTrue();
    assertThat(parts).allMatch(p -> p.generation() == 1 && p.eventId().equals(event.eventId()));
  }

  private static Change[] tables(int from, int to) {
    return IntStream.range(from, to)
        .mapToObj(t -> upsert("t%05d".formatted(t), 1_000, 4, 1))
        .toArray(Change[]::new);
  }

  @Test
  void an_event_that_adds_too_many_tables_is_rejected_and_the_next_ones_are_processed() {
    publish(event(tables(0, 10_000)));
    publish(event(tables(10_000, 20_000)));
    publish(event(upsert("t00000", 7, 4, 1)));
    assertThat(rejected.isEmpty()).isTrue();
    publish(event(upsert("one more", 1, 4, 1)));
    RejectedEvent rejection = rejected.readValue();
    assertThat(rejection.reason()).isEqualTo(RejectionReason.TOO_MANY_TABLES);
    assertThat(rejection.message())
        .isEqualTo(
            "tables of workload \"feed-ranking\" must be at most 20000, got 20001 with those that"
                + " the event adds. Maybe drop unused tables, or plan parts of the model as"
                + " workloads of their own");
    publish(event(drop("t00001"), drop("t00002")));
    publish(event(upsert("a", 1, 4, 1), drop("t00003"), upsert("b", 1, 4, 1)));
    assertThat(rejected.isEmpty()).isTrue();
    publish(event(upsert("c", 1, 4, 1), upsert("d", 1, 4, 1)));
    assertThat(rejected.readValue().message()).contains("got 20001");
    publish(event(Fixtures.delete()));
    publish(event(tables(0, 10_000)));
    assertThat(rejected.isEmpty()).isTrue();
  }

  /** Old ids are forgotten in the order in which they came, and both of their entries go. */
  @Test
  void the_number_of_remembered_event_ids_is_bounded() {
    publish(event(upsert("a", 1, 4, 1)));
    KafkaWorkloadStoreProbe probe = new KafkaWorkloadStoreProbe(workload);
    assertThat(probe.entries()).isEqualTo(2);
    probe.jumpTo(AppliedEvents.REMEMBERED);
    publish(event(upsert("b", 1, 4, 1)));
    assertThat(probe.entries()).as("the first event is forgotten").isEqualTo(2);
    publish(event(upsert("c", 1, 4, 1)));
    assertThat(probe.entries()).isEqualTo(4);
  }

  /** Looks into the stores of the running topology. */
  private static final class KafkaWorkloadStoreProbe {
    private final TopologyTestDriver driver;

    KafkaWorkloadStoreProbe(TopologyTestDriver driver) {
      this.driver = driver;
    }

    long entries() {
      long count = 0;
      try (var all = driver.getKeyValueStore("applied-events").all()) {
        while (all.hasNext()) {
          all.next();
          count++;
        }
      }
      return count;
    }

    void jumpTo(long generation) {
      driver
          .<String, byte[]>getKeyValueStore("workload-headers")
          .put(
              Fixtures.WORKLOAD,
              StoreSerdes.of(Codec.WORKLOAD_HEADER)
                  .serializer()
                  .serialize(
                      "",
                      new WorkloadState(
                          generation, Optional.empty(), Optional.empty(), Optional.empty())));
    }
  }
}
