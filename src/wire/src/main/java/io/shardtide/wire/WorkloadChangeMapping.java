package io.shardtide.wire;

import io.shardtide.avro.ClusterSet;
import io.shardtide.avro.TableDropped;
import io.shardtide.avro.TableUpserted;
import io.shardtide.avro.WorkloadDeleted;
import io.shardtide.domain.Change;
import io.shardtide.domain.WorkloadChange;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

final class WorkloadChangeMapping {
  private WorkloadChangeMapping() {}

  static io.shardtide.avro.WorkloadChange toAvro(WorkloadChange event) {
    List<Object> changes = new ArrayList<>();
    for (Change change : event.changes()) {
      if (change instanceof Change.TableUpserted upserted) {
        changes.add(new TableUpserted(SpecMapping.toAvro(upserted.table())));
      } else if (change instanceof Change.TableDropped dropped) {
        changes.add(new TableDropped(dropped.name()));
      } else if (change instanceof Change.ClusterSet set) {
        changes.add(new ClusterSet(SpecMapping.toAvro(set.cluster())));
      } else if (change instanceof Change.WorkloadDeleted deleted) {
        changes.add(new WorkloadDeleted(deleted.reason()));
      }
    }
    return new io.shardtide.avro.WorkloadChange(
        event.eventId(),
        event.workloadId(),
        event.occurredAt().truncatedTo(ChronoUnit.MILLIS),
        event.source(),
        event.expectedGeneration().isPresent() ? event.expectedGeneration().getAsLong() : null,
        changes);
  }

  static WorkloadChange fromAvro(io.shardtide.avro.WorkloadChange avro) {
    WorkloadChange.checkCount(avro.getChanges().size());
    List<Change> changes = new ArrayList<>();
    for (Object change : avro.getChanges()) {
      if (change instanceof TableUpserted upserted) {
        changes.add(new Change.TableUpserted(SpecMapping.fromAvro(upserted.getTable())));
      } else if (change instanceof TableDropped dropped) {
        changes.add(new Change.TableDropped(dropped.getName()));
      } else if (change instanceof ClusterSet set) {
        changes.add(new Change.ClusterSet(SpecMapping.fromAvro(set.getCluster())));
      } else if (change instanceof WorkloadDeleted deleted) {
        changes.add(new Change.WorkloadDeleted(deleted.getReason()));
      }
    }
    Long expected = avro.getExpectedGeneration();
    return new WorkloadChange(
        avro.getEventId(),
        avro.getWorkloadId(),
        avro.getOccurredAt(),
        avro.getSource(),
        expected == null ? OptionalLong.empty() : OptionalLong.of(expected),
        changes);
  }
}
