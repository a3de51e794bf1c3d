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
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;
import org.mapstruct.Named;

/** Changes to workloads, what is kept of them, and predicted costs. */
@Mapper(config = AvroMapping.class, uses = SpecMapping.class)
interface WorkloadMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  WorkloadMapping INSTANCE = new WorkloadMappingImpl();

  io.shardtide.avro.WorkloadChange toAvro(WorkloadChange event);

  WorkloadChange fromAvro(io.shardtide.avro.WorkloadChange avro);

  default List<Object> toAvro(List<Change> changes) {
    List<Object> avro = new ArrayList<>();
    for (Change change : changes) {
      if (change instanceof Change.TableUpserted upserted) {
        avro.add(new TableUpserted(SpecMapping.INSTANCE.toAvro(upserted.table())));
      } else if (change instanceof Change.TableDropped dropped) {
        avro.add(new TableDropped(dropped.name()));
      } else if (change instanceof Change.ClusterSet set) {
        avro.add(new ClusterSet(SpecMapping.INSTANCE.toAvro(set.cluster())));
      } else if (change instanceof Change.WorkloadDeleted deleted) {
        avro.add(new WorkloadDeleted(deleted.reason()));
      } else if (change instanceof Change.TableResized resized) {
        avro.add(new TableResized(resized.name(), resized.rows(), resized.reason()));
      }
    }
    return avro;
  }

  default List<Change> fromAvro(List<Object> avro) {
    WorkloadChange.checkCount(avro.size());
    List<Change> changes = new ArrayList<>();
    for (Object change : avro) {
      if (change instanceof TableUpserted upserted) {
        changes.add(new Change.TableUpserted(SpecMapping.INSTANCE.fromAvro(upserted.getTable())));
      } else if (change instanceof TableDropped dropped) {
        changes.add(new Change.TableDropped(dropped.getName()));
      } else if (change instanceof ClusterSet set) {
        changes.add(new Change.ClusterSet(SpecMapping.INSTANCE.fromAvro(set.getCluster())));
      } else if (change instanceof WorkloadDeleted deleted) {
        changes.add(new Change.WorkloadDeleted(deleted.getReason()));
      } else if (change instanceof TableResized resized) {
        changes.add(
            new Change.TableResized(
                resized.getTableName(), resized.getRows(), resized.getResizeReason()));
      }
    }
    return changes;
  }

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

  io.shardtide.avro.AppliedEvent toAvro(WorkloadState.AppliedEvent event);

  WorkloadState.AppliedEvent fromAvro(io.shardtide.avro.AppliedEvent avro);
}
