package io.shardtide.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Samples;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.WorkloadState;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.apache.avro.Schema;
import org.apache.avro.SchemaNormalization;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Serde;
import org.junit.jupiter.api.Test;

class StoreSerdesTest {
  private static final ClusterSpec PLAIN = Fixtures.cluster(2, Fixtures.GIB);
  private static final ClusterSpec WITH_CODECS =
      ClusterSpecBuilder.builder(PLAIN)
          .codecs(List.of(new CommCodec("fp16", 2, 0, 1, true, List.of(Direction.FORWARD))))
          .build();

  private final Serde<WorkloadState> serde = StoreSerdes.of(Codec.WORKLOAD_HEADER);
  private final List<Schema> released = SchemaTest.versions(Codec.WORKLOAD_HEADER);

  private byte[] write(ClusterSpec cluster) {
    WorkloadState header =
        new WorkloadState(1, Optional.of(cluster), Optional.empty(), Optional.empty());
    byte[] bytes = serde.serializer().serialize("t", header);
    assertThat(serde.deserializer().deserialize("t", bytes)).isEqualTo(header);
    return bytes;
  }

  /** The fingerprint follows the two bytes that mark single-object encoding. */
  private static long fingerprint(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getLong(2);
  }

  private long fingerprint(int version) {
    return SchemaNormalization.parsingFingerprint64(released.get(version - 1));
  }

  /** So that earlier planners can read what this one wrote. Codecs came with version 2. */
  @Test
  void a_value_is_written_in_the_oldest_schema_that_has_all_of_it() {
    assertThat(fingerprint(write(PLAIN))).isEqualTo(fingerprint(1));
    assertThat(fingerprint(write(WITH_CODECS))).isEqualTo(fingerprint(2));
  }

  /** Codecs came with version 2 of plans, too. */
  @Test
  void a_plan_without_codecs_is_written_in_the_schema_of_0_2_0() {
    ShardingPlan plan = Samples.with(Samples.plan(), List.of());
    byte[] bytes = StoreSerdes.of(Codec.SHARDING_PLAN).serializer().serialize("t", plan);
    assertThat(fingerprint(bytes))
        .isEqualTo(
            SchemaNormalization.parsingFingerprint64(StoreSerdes.released("ShardingPlan").get(0)));
  }

  /** Not an error of input or output: those count as outages, and are tried again for ever. */
  @Property
  void a_value_that_is_cut_off_is_an_error_of_the_value(
      @ForAll @IntRange(min = 0, max = 11) int cut) {
    byte[] bytes = write(PLAIN);
    byte[] rest = Arrays.copyOf(bytes, bytes.length - 1 - cut);
    assertThatThrownBy(() -> serde.deserializer().deserialize("t", rest))
        .isInstanceOf(SerializationException.class)
        .hasNoCause()
        .hasMessageContaining("cannot be read: its %d bytes are cut off".formatted(rest.length));
  }
}
