package io.shardtide.wire;

import io.shardtide.avro.ClusterSet;
import io.shardtide.avro.TableDropped;
import io.shardtide.avro.TableResized;
import io.shardtide.avro.TableUpserted;
import io.shardtide.avro.WorkloadDeleted;
import io.shardtide.models.AvroMapping;
import io.shardtide.workload.Change;
import io.shardtide.workload.WorkloadChange;
import io.shardtide.workload.WorkloadState;
import java.util.ArrayList;
import java.util.List;
import org.mapstruct.Mapper;

/** Changes to workloads, and what is kept of them. */
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

  io.shardtide.avro.AppliedEvent toAvro(WorkloadState.AppliedEvent event);

  WorkloadState.AppliedEvent fromAvro(io.shardtide.avro.AppliedEvent avro);
}
