package io.shardtide.domain;

import java.util.Objects;

/**
 * Where a record lies in the log.
 *
 * @param topic name of the topic
 * @param partition number of the partition, from 0
 * @param offset offset of the record in the partition, from 0
 */
public record SourcePosition(String topic, int partition, long offset) {
  /** Checks that there is a topic. */
  public SourcePosition {
    Objects.requireNonNull(topic, "topic");
  }

  @Override
  public String toString() {
    return topic + "-" + partition + "@" + offset;
  }
}
