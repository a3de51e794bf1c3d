package io.shardtide.wire;

import io.shardtide.avro.ClusterSet;
import io.shardtide.avro.TableDropped;
import io.shardtide.avro.TableForgotten;
import io.shardtide.avro.TablePredicted;
import io.shardtide.avro.TableResized;
import io.shardtide.avro.TableUpserted;
import io.shardtide.avro.WorkloadDeleted;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.models.AvroMapping;
import io.shardtide.workload.Change;
import io.shardtide.workload.WorkloadChange;
import io.shardtide.workload.WorkloadState;
import java.util.List;
import java.util.Optional;
import org.mapstruct.InheritInverseConfiguration;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;
import org.mapstruct.Named;
import org.mapstruct.SubclassMapping;

/** Changes to workloads, what is kept of them, and predicted costs. */
@Mapper(config = AvroMapping.class, uses = SpecMapping.class)
interface WorkloadMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  WorkloadMapping INSTANCE = new WorkloadMappingImpl();

  io.shardtide.avro.WorkloadChange toAvro(WorkloadChange event);

  WorkloadChange fromAvro(io.shardtide.avro.WorkloadChange avro);

  default List<Change> fromAvro(List<Object> avro) {
    WorkloadChange.checkCount(avro.size());
    return avro.stream().map(this::change).toList();
  }

  @SubclassMapping(source = Change.TableUpserted.class, target = TableUpserted.class)
  @SubclassMapping(source = Change.TableDropped.class, target = TableDropped.class)
  @SubclassMapping(source = Change.ClusterSet.class, target = ClusterSet.class)
  @SubclassMapping(source = Change.WorkloadDeleted.class, target = WorkloadDeleted.class)
  @SubclassMapping(source = Change.TableResized.class, target = TableResized.class)
  Object toAvro(Change change);

  @InheritInverseConfiguration
  Change change(Object avro);

  @Mapping(target = "tableName", source = "name")
  @Mapping(target = "resizeReason", source = "reason")
  TableResized toAvro(Change.TableResized resized);

  @Mapping(target = "name", source = "tableName")
  @Mapping(target = "reason", source = "resizeReason")
  Change.TableResized fromAvro(TableResized avro);

  io.shardtide.avro.WorkloadHeader toAvro(WorkloadState state);

  WorkloadState fromAvro(io.shardtide.avro.WorkloadHeader avro);

  @Mapping(target = "change", source = "update", qualifiedByName = "change")
  @Mapping(target = "costsOf", source = "proxyHardware")
  io.shardtide.avro.CostPredictions toAvro(CostPredictions value);

  @Mapping(target = "update", source = "change", qualifiedByName = "update")
  @Mapping(target = "proxyHardware", source = "costsOf")
  CostPredictions fromAvro(io.shardtide.avro.CostPredictions avro);

  @Named("change")
  default Object change(Optional<Update> update) {
    return update.map(this::toAvro).orElse(null);
  }

  @Named("update")
  default Optional<Update> update(Object change) {
    return Optional.ofNullable(change).map(this::fromAvro);
  }

  @SubclassMapping(source = Update.Predicted.class, target = TablePredicted.class)
  @SubclassMapping(source = Update.Dropped.class, target = TableForgotten.class)
  @SubclassMapping(source = Update.Deleted.class, target = WorkloadDeleted.class)
  Object toAvro(Update update);

  @InheritInverseConfiguration
  Update fromAvro(Object avro);

  default TablePredicted toAvro(Update.Predicted predicted) {
    return TablePredictionMapping.toAvro(predicted.prediction());
  }

  default Update.Predicted fromAvro(TablePredicted avro) {
    return new Update.Predicted(TablePredictionMapping.fromAvro(avro));
  }

  io.shardtide.avro.AppliedEvent toAvro(WorkloadState.AppliedEvent event);

  WorkloadState.AppliedEvent fromAvro(io.shardtide.avro.AppliedEvent avro);
}
