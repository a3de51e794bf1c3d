package io.shardtide.topology;

import java.util.function.LongSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.streams.processor.TimestampExtractor;

/**
 * Clamps record timestamps to 1970 until now. Output records take the timestamps of their input.
 * Kafka Streams ends a thread that reads a record without a timestamp, and a broker refuses
 * timestamps more than an hour ahead (by default); either would stop a partition for a publisher's
 * wrong clock.
 *
 * @param wallMillis the machine's clock, in milliseconds since 1970
 */
record ClampedTimestampExtractor(LongSupplier wallMillis) implements TimestampExtractor {
  @Override
  public long extract(ConsumerRecord<Object, Object> record, long partitionTime) {
    return Math.max(0, Math.min(record.timestamp(), wallMillis.getAsLong()));
  }
}
