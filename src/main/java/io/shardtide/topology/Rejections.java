package io.shardtide.topology;

import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.SourcePosition;
import io.shardtide.planning.PlanningOutcome;
import io.shardtide.wire.Decoded;
import io.shardtide.wire.RecordDecoder;
import java.util.Optional;
import java.util.function.Consumer;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/**
 * Sends to rejected-events what cannot be read or applied, as it came, and lets the stream go on.
 */
final class Rejections {
  private final ProcessorContext<String, Object> context;
  private final PlannerMetrics metrics;
  private final String sink;

  /**
   * @param context forwards rejections
   * @param metrics told of rejections
   * @param sink where rejections go
   */
  Rejections(ProcessorContext<String, Object> context, PlannerMetrics metrics, String sink) {
    this.context = context;
    this.metrics = metrics;
    this.sink = sink;
  }

  /**
   * Applies what a record holds, or rejects the record.
   *
   * @param record the record as it came
   * @param source where it lies in the log
   * @param decoded what it holds
   * @param apply applies it; whatever it throws as {@link RejectedException} is a rejection
   * @return whether the record was rejected
   */
  <V> boolean handle(
      Record<byte[], byte[]> record, SourcePosition source, Decoded<V> decoded, Consumer<V> apply) {
    RejectedEvent rejection = null;
    if (decoded instanceof Decoded.Value<V> value) {
      try {
        apply.accept(value.value());
      } catch (RejectedException e) {
        rejection = RecordDecoder.rejection(source, record.key(), record.value(), e);
      }
    } else if (decoded instanceof Decoded.Invalid<V> rejected) {
      rejection = rejected.rejection();
    }
    if (rejection != null) {
      forward(rejection.workloadId().orElse(null), rejection, record.timestamp());
    }
    return rejection != null;
  }

  private void forward(String workloadId, RejectedEvent rejection, long timestamp) {
    metrics.rejected(rejection.reason());
    context.forward(new Record<>(workloadId, rejection, timestamp), sink);
  }

  /** Says that planning failed. */
  void failed(String workloadId, PlanningOutcome.Failed failed, long timestamp) {
    forward(
        workloadId,
        new RejectedEvent(
            failed.source(),
            Optional.of(workloadId),
            RejectionReason.PLANNING_FAILED,
            "The change is applied, and planning it failed: %s. The last plan stays; please report this"
                .formatted(failed.error()),
            Optional.empty(),
            Optional.empty()),
        timestamp);
  }
}
