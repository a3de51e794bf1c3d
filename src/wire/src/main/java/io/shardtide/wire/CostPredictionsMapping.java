package io.shardtide.wire;

import io.shardtide.avro.TableForgotten;
import io.shardtide.avro.TablePredicted;
import io.shardtide.avro.WorkloadDeleted;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.models.AvroMapping;
import java.util.Optional;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;
import org.mapstruct.Named;

@Mapper(config = AvroMapping.class, uses = SpecMapping.class)
interface CostPredictionsMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  CostPredictionsMapping INSTANCE = new CostPredictionsMappingImpl();

  @Mapping(target = "change", source = "update", qualifiedByName = "change")
  @Mapping(target = "costsOf", source = "proxyHardware")
  io.shardtide.avro.CostPredictions toAvro(CostPredictions value);

  @Mapping(target = "update", source = "change", qualifiedByName = "update")
  @Mapping(target = "proxyHardware", source = "costsOf")
  CostPredictions fromAvro(io.shardtide.avro.CostPredictions avro);

  @Named("change")
  default Object change(Optional<Update> update) {
    if (update.orElse(null) instanceof Update.Predicted predicted) {
      return TablePredictionMapping.toAvro(predicted.prediction());
    }
    if (update.orElse(null) instanceof Update.Dropped dropped) {
      return new TableForgotten(dropped.name());
    }
    if (update.orElse(null) instanceof Update.Deleted deleted) {
      return new WorkloadDeleted(deleted.reason());
    }
    return null;
  }

  @Named("update")
  default Optional<Update> update(Object change) {
    if (change instanceof TablePredicted predicted) {
      return Optional.of(new Update.Predicted(TablePredictionMapping.fromAvro(predicted)));
    }
    if (change instanceof TableForgotten forgotten) {
      return Optional.of(new Update.Dropped(forgotten.getName()));
    }
    if (change instanceof WorkloadDeleted deleted) {
      return Optional.of(new Update.Deleted(deleted.getReason()));
    }
    return Optional.empty();
  }
}
