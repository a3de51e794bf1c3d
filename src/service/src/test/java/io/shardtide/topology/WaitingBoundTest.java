package io.shardtide.topology;

import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.errors.StreamsException;
import org.junit.jupiter.api.Test;

/** Beyond what is held of a key, the partition waits, as it does for a registry that is away. */
class WaitingBoundTest extends TopologyFixture {
  private static final byte[] KEY = {1};

  /** No schema is given up during the test, however slow the machine is. */
  @Override
  Map<String, String> registrySettings() {
    return Map.of("missing.id.wait.ms", "600000");
  }

  private static byte[] unknown(int size) {
    return ByteBuffer.allocate(size).put((byte) 0).putInt(424_242).array();
  }

  @Test
  void what_is_held_is_bounded() {
    registry.register(topics);
    var input =
        workload.createInputTopic(
            topics.of(WORKLOAD_CHANGES).name(),
            new ByteArraySerializer(),
            new ByteArraySerializer());
    input.pipeInput(KEY, unknown(12 << 20));
    input.pipeInput(KEY, unknown(12 << 20));
    input.pipeInput(null, unknown(12 << 20));
    assertThatThrownBy(() -> input.pipeInput(KEY, unknown(12 << 20)))
        .isInstanceOf(StreamsException.class)
        .hasStackTraceContaining(RegistryRetry.NotYetException.class.getName());
  }
}
