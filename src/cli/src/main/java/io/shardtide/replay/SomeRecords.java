package io.shardtide.replay;

import io.shardtide.cost.ModelBundle;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/**
 * Some kinds of records, as if publishers had set other clusters.
 *
 * @param records the records
 * @param kept whether records of a kind are among them
 * @param change returns the cluster in place of one that an event sets
 */
public record SomeRecords(
    LogRecords records, Predicate<TopicType<?>> kept, UnaryOperator<ClusterSpec> change)
    implements LogRecords {
  @Override
  public boolean has(TopicType<?> kind) {
    return kept.test(kind) && records.has(kind);
  }

  @Override
  @SuppressWarnings("unchecked") // Events are of the type of their kind.
  public <V> void read(TopicType<V> kind, Consumer<? super V> each) throws IOException {
    if (has(kind)) {
      records.read(
          kind,
          value -> each.accept(value instanceof WorkloadChange event ? (V) changed(event) : value));
    }
  }

  @Override
  public Map<String, ModelBundle> models() throws IOException {
    return records.models();
  }

  private WorkloadChange changed(WorkloadChange event) {
    return new WorkloadChange(
        event.eventId(),
        event.workloadId(),
        event.occurredAt(),
        event.source(),
        event.expectedGeneration(),
        event.changes().stream().map(this::changed).toList());
  }

  private Change changed(Change of) {
    return of instanceof Change.ClusterSet set
        ? new Change.ClusterSet(change.apply(set.cluster()))
        : of;
  }
}
