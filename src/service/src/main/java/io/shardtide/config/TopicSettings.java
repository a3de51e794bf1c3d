package io.shardtide.config;

import io.shardtide.workload.NumberRange;

/**
 * How topics are created.
 *
 * @param partitions partitions of a topic that the service creates; {@link #PARTITIONS}
 * @param replication replicas of each partition of a topic that it creates; {@link #REPLICATION}
 */
public record TopicSettings(int partitions, int replication) {
  /** Range of {@code partitions}. */
  public static final NumberRange PARTITIONS = NumberRange.whole(1, 10_000);

  /** Range of {@code replication}. */
  public static final NumberRange REPLICATION = NumberRange.whole(1, 100);

  /** Checks the ranges. */
  public TopicSettings {
    PARTITIONS.check("partitions", partitions);
    REPLICATION.check("replication", replication);
  }
}
