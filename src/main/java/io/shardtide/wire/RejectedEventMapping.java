package io.shardtide.wire;

import io.shardtide.domain.Bytes;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.RejectionReason;
import java.nio.ByteBuffer;
import java.util.Optional;

final class RejectedEventMapping {
  private RejectedEventMapping() {}

  static io.shardtide.avro.RejectedEvent toAvro(RejectedEvent value) {
    return new io.shardtide.avro.RejectedEvent(
        SpecMapping.toAvro(value.source()),
        value.workloadId().orElse(null),
        value.reason().name(),
        value.message(),
        value.key().map(b -> ByteBuffer.wrap(b.toArray())).orElse(null),
        value.value().map(b -> ByteBuffer.wrap(b.toArray())).orElse(null));
  }

  static RejectedEvent fromAvro(io.shardtide.avro.RejectedEvent avro) {
    return new RejectedEvent(
        SpecMapping.fromAvro(avro.getSource()),
        Optional.ofNullable(avro.getWorkloadId()),
        RejectionReason.valueOf(avro.getReason()),
        avro.getMessage(),
        Optional.ofNullable(avro.getKey()).map(RejectedEventMapping::bytes),
        Optional.ofNullable(avro.getValue()).map(RejectedEventMapping::bytes));
  }

  private static Bytes bytes(ByteBuffer buffer) {
    byte[] content = new byte[buffer.remaining()];
    buffer.duplicate().get(content);
    return Bytes.copyOf(content);
  }
}
