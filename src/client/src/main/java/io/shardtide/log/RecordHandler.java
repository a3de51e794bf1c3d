package io.shardtide.log;

import io.shardtide.workload.SourcePosition;
import java.time.Instant;

/**
 * Receives the decoded records of a topic.
 *
 * @param <V> the values of the topic
 */
@FunctionalInterface
public interface RecordHandler<V> {
  /**
   * Called for each record, in the order of its partition.
   *
   * @param position topic, partition and offset of the record
   * @param writtenAt the record's timestamp: the producer's or the broker's clock, by the topic's
   *     setting
   * @param value the decoded value
   */
  void accept(SourcePosition position, Instant writtenAt, V value);
}
