package io.shardtide.wire;

import io.shardtide.models.AvroMapping;
import io.shardtide.workload.Bytes;
import io.shardtide.workload.HeldRecord;
import io.shardtide.workload.Quarantine;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import java.nio.ByteBuffer;
import org.mapstruct.Mapper;

/** Events that were rejected, and keys in quarantine with their records. */
@Mapper(config = AvroMapping.class, uses = SpecMapping.class)
interface QuarantineMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  QuarantineMapping INSTANCE = new QuarantineMappingImpl();

  io.shardtide.avro.RejectedEvent toAvro(RejectedEvent value);

  RejectedEvent fromAvro(io.shardtide.avro.RejectedEvent avro);

  io.shardtide.avro.Quarantine toAvro(Quarantine value);

  Quarantine fromAvro(io.shardtide.avro.Quarantine avro);

  io.shardtide.avro.HeldRecord toAvro(HeldRecord value);

  HeldRecord fromAvro(io.shardtide.avro.HeldRecord avro);

  default String name(RejectionReason reason) {
    return reason.name();
  }

  default RejectionReason reason(String name) {
    return RejectionReason.valueOf(name);
  }

  default ByteBuffer buffer(Bytes bytes) {
    return bytes == null ? null : ByteBuffer.wrap(bytes.toArray());
  }

  default Bytes bytes(ByteBuffer buffer) {
    if (buffer == null) {
      return null;
    }
    byte[] content = new byte[buffer.remaining()];
    buffer.duplicate().get(content);
    return Bytes.copyOf(content);
  }
}
