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

/** Decodes records, and sends those that cannot be decoded or applied to rejected-events. */
final class Rejections {
  private final ProcessorContext<String, Object> context;
  private final PlannerMetrics metrics;
  private final String sink;
  private final RegistryRetry retry;

  /**
   * @param context forwards rejections
   * @param metrics counts rejections
   * @param sink node that writes rejections
   * @param retry waits while the registry is unavailable
   */
  Rejections(
      ProcessorContext<String, Object> context,
      PlannerMetrics metrics,
      String sink,
      RegistryRetry retry) {
    this.context = context;
    this.metrics = metrics;
    this.sink = sink;
    this.retry = retry;
  }

  /** Decodes a record; waits while its schema is unknown and the registry unavailable. */
  <V> Decoded<V> decode(
      RecordDecoder<V> decoder, Record<byte[], byte[]> record, SourcePosition source) {
    return retry.call(() -> decoder.decode(source, record.key(), record.value()));
  }

  /**
   * Decodes and applies a record, or rejects it.
   *
   * @param decoder decodes the record
   * @param record the record
   * @param source its position in the log
   * @param apply applies its value; a {@link RejectedException} that it throws is a rejection
   * @return whether the record was rejected
   */
  <V> boolean handle(
      RecordDecoder<V> decoder,
      Record<byte[], byte[]> record,
      SourcePosition source,
      Consumer<V> apply) {
    Decoded<V> decoded = decode(decoder, record, source);
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

  /** Reports that planning failed. */
  void failed(String workloadId, PlanningOutcome.Failed failed, long timestamp) {
    failed(
        workloadId,
        failed.source(),
        "The change was applied, but planning failed: %s. The last plan stays current; please report this"
            .formatted(failed.error()),
        timestamp);
  }

  /**
   * Reports that an event was applied, and that what follows from it failed.
   *
   * @param key key of the event
   * @param source its position in the log
   * @param message what failed, and what stays
   */
  void failed(String key, SourcePosition source, String message, long timestamp) {
    forward(
        key,
        new RejectedEvent(
            source,
            Optional.of(key),
            RejectionReason.PLANNING_FAILED,
            message,
            Optional.empty(),
            Optional.empty()),
        timestamp);
  }
}
