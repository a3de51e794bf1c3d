package io.shardtide.topology;

import java.util.function.LongSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.streams.processor.TimestampExtractor;

/**
 * Times of records as what is written because of them can have: not before 1970, not after now.
 * Kafka Streams ends a thread that reads a record without a time, and a broker refuses a record
 * from the future (by default more than an hour ahead); either would stop a partition for a
 * publisher's wrong clock.
 */
final class ClampedTimestampExtractor implements TimestampExtractor {
  private final LongSupplier wallMillis;

  /**
   * @param wallMillis the machine's clock, in milliseconds since 1970
   */
  ClampedTimestampExtractor(LongSupplier wallMillis) {
    this.wallMillis = wallMillis;
  }

  @Override
  public long extract(ConsumerRecord<Object, Object> record, long partitionTime) {
    return Math.max(0, Math.min(record.timestamp(), wallMillis.getAsLong()));
  }
}
