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
        bytes(value.key()),
        bytes(value.value()));
  }

  static RejectedEvent fromAvro(io.shardtide.avro.RejectedEvent avro) {
    return new RejectedEvent(
        SpecMapping.fromAvro(avro.getSource()),
        Optional.ofNullable(avro.getWorkloadId()),
        RejectionReason.valueOf(avro.getReason()),
        avro.getMessage(),
        bytes(avro.getKey()),
        bytes(avro.getValue()));
  }

  static ByteBuffer bytes(Optional<Bytes> bytes) {
    return bytes.map(b -> ByteBuffer.wrap(b.toArray())).orElse(null);
  }

  static Optional<Bytes> bytes(ByteBuffer buffer) {
    if (buffer == null) {
      return Optional.empty();
    }
    byte[] content = new byte[buffer.remaining()];
    buffer.duplicate().get(content);
    return Optional.of(Bytes.copyOf(content));
  }
}
