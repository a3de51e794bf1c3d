package io.shardtide.wire;

import io.shardtide.domain.HeldRecord;
import io.shardtide.domain.Quarantine;
import java.util.Optional;

final class QuarantineMapping {
  private QuarantineMapping() {}

  static io.shardtide.avro.Quarantine toAvro(Quarantine value) {
    return new io.shardtide.avro.Quarantine(
        value.topology(),
        value.key(),
        value.entered(),
        value.error(),
        value.source().map(SpecMapping::toAvro).orElse(null),
        value.aborted(),
        value.incomplete(),
        value.deleted(),
        value.version(),
        value.at());
  }

  static Quarantine fromAvro(io.shardtide.avro.Quarantine avro) {
    return new Quarantine(
        avro.getTopology(),
        avro.getKey(),
        avro.getEntered(),
        avro.getError(),
        Optional.ofNullable(avro.getSource()).map(SpecMapping::fromAvro),
        avro.getAborted(),
        avro.getIncomplete(),
        avro.getDeleted(),
        avro.getVersion(),
        avro.getAt());
  }

  static io.shardtide.avro.HeldRecord toAvro(HeldRecord value) {
    return new io.shardtide.avro.HeldRecord(
        SpecMapping.toAvro(value.source()),
        value.timestamp(),
        RejectedEventMapping.bytes(value.key()),
        RejectedEventMapping.bytes(value.value()));
  }

  static HeldRecord fromAvro(io.shardtide.avro.HeldRecord avro) {
    return new HeldRecord(
        SpecMapping.fromAvro(avro.getSource()),
        avro.getTimestamp(),
        RejectedEventMapping.bytes(avro.getKey()),
        RejectedEventMapping.bytes(avro.getValue()));
  }
}
