package io.shardtide.config;

import io.shardtide.workload.NumberRange;
import java.util.Objects;

/**
 * How topics are named and created.
 *
 * @param prefix prefix of the name of each topic and consumer group
 * @param partitions partitions of a topic that the service creates; {@link #PARTITIONS}
 * @param replication replicas of each partition of a topic that it creates; {@link #REPLICATION}
 */
public record TopicSettings(String prefix, int partitions, int replication) {
  /** Range of {@code partitions}. */
  public static final NumberRange PARTITIONS = NumberRange.whole(1, 10_000);

  /** Range of {@code replication}. */
  public static final NumberRange REPLICATION = NumberRange.whole(1, 100);

  /** Checks the ranges. */
  public TopicSettings {
    Objects.requireNonNull(prefix, "prefix");
    PARTITIONS.check("partitions", partitions);
    REPLICATION.check("replication", replication);
  }
}
