package io.shardtide.wire;

import io.shardtide.avro.TableForgotten;
import io.shardtide.avro.TablePredicted;
import io.shardtide.avro.WorkloadDeleted;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.CostPredictionsBuilder;
import java.util.Optional;

final class CostPredictionsMapping {
  private CostPredictionsMapping() {}

  static io.shardtide.avro.CostPredictions toAvro(CostPredictions value) {
    Object change = null;
    if (value.update().orElse(null) instanceof Update.Predicted predicted) {
      change = TablePredictionMapping.toAvro(predicted.prediction());
    } else if (value.update().orElse(null) instanceof Update.Dropped dropped) {
      change = new TableForgotten(dropped.name());
    } else if (value.update().orElse(null) instanceof Update.Deleted deleted) {
      change = new WorkloadDeleted(deleted.reason());
    }
    return new io.shardtide.avro.CostPredictions(
        value.workloadId(),
        value.generation(),
        value.eventId(),
        SpecMapping.toAvro(value.source()),
        value.modelId(),
        value.part(),
        value.parts(),
        SpecMapping.toAvro(value.cluster()),
        change,
        value.proxyHardware().orElse(null));
  }

  static CostPredictions fromAvro(io.shardtide.avro.CostPredictions avro) {
    Update update = null;
    if (avro.getChange() instanceof TablePredicted predicted) {
      update = new Update.Predicted(TablePredictionMapping.fromAvro(predicted));
    } else if (avro.getChange() instanceof TableForgotten forgotten) {
      update = new Update.Dropped(forgotten.getName());
    } else if (avro.getChange() instanceof WorkloadDeleted deleted) {
      update = new Update.Deleted(deleted.getReason());
    }
    return CostPredictionsBuilder.builder()
        .workloadId(avro.getWorkloadId())
        .generation(avro.getGeneration())
        .eventId(avro.getEventId())
        .source(SpecMapping.fromAvro(avro.getSource()))
        .modelId(avro.getModelId())
        .part(avro.getPart())
        .parts(avro.getParts())
        .cluster(SpecMapping.fromAvro(avro.getCluster()))
        .proxyHardware(Optional.ofNullable(avro.getCostsOf()))
        .update(Optional.ofNullable(update))
        .build();
  }
}
