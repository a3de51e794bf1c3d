package io.shardtide.wire;

import io.shardtide.avro.TableBytes;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.Shortfall;

final class InfeasibleWorkloadMapping {
  private InfeasibleWorkloadMapping() {}

  static io.shardtide.avro.InfeasibleWorkload toAvro(InfeasibleWorkload value) {
    Shortfall shortfall = value.shortfall();
    return new io.shardtide.avro.InfeasibleWorkload(
        value.workloadId(),
        value.generation(),
        SpecMapping.toAvro(value.source()),
        value.modelId(),
        shortfall.bytesShort(),
        shortfall.proven(),
        shortfall.tablesToBlame().stream().map(t -> new TableBytes(t.table(), t.bytes())).toList(),
        shortfall.message());
  }

  static InfeasibleWorkload fromAvro(io.shardtide.avro.InfeasibleWorkload avro) {
    return new InfeasibleWorkload(
        avro.getWorkloadId(),
        avro.getGeneration(),
        SpecMapping.fromAvro(avro.getSource()),
        avro.getModelId(),
        new Shortfall(
            avro.getBytesShort(),
            avro.getProven(),
            avro.getTablesToBlame().stream()
                .map(t -> new Shortfall.TableBytes(t.getTable(), t.getBytes()))
                .toList(),
            avro.getMessage()));
  }
}
