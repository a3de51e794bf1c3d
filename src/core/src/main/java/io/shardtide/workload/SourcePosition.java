package io.shardtide.workload;

/**
 * Where a record lies in the log.
 *
 * @param topic name of the topic
 * @param partition number of the partition, from 0
 * @param offset offset of the record in the partition, from 0
 */
public record SourcePosition(String topic, int partition, long offset) {

  @Override
  public String toString() {
    return topic + "-" + partition + "@" + offset;
  }
}
