package io.shardtide.config;

import io.shardtide.workload.NumberRange;
import java.nio.file.Path;

/**
 * How Kafka Streams runs in this process.
 *
 * @param stateDirectory folder of the state stores; a lost store is restored from its changelog
 * @param threads stream threads of each topology; {@link #THREADS}
 * @param standbyReplicas other instances that keep a copy of each store; {@link #STANDBY_REPLICAS}
 */
public record StreamsSettings(Path stateDirectory, int threads, int standbyReplicas) {
  /** Range of {@code threads}. */
  public static final NumberRange THREADS = NumberRange.whole(1, 256);

  /** Range of {@code standbyReplicas}. */
  public static final NumberRange STANDBY_REPLICAS = NumberRange.whole(0, 10);

  /** Checks the ranges. */
  public StreamsSettings {
    THREADS.check("threads", threads);
    STANDBY_REPLICAS.check("standbyReplicas", standbyReplicas);
  }
}
