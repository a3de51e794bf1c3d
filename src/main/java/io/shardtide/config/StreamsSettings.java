package io.shardtide.config;

import io.shardtide.domain.NumberRange;
import java.nio.file.Path;
import java.util.Objects;

/**
 * How Kafka Streams runs in this process.
 *
 * @param stateDirectory folder of the state stores; a lost store is restored from its changelog
 * @param threads stream threads of each topology; {@link #THREADS}
 */
public record StreamsSettings(Path stateDirectory, int threads) {
  /** Range of {@code threads}. */
  public static final NumberRange THREADS = NumberRange.whole(1, 256);

  /** Checks the range. */
  public StreamsSettings {
    Objects.requireNonNull(stateDirectory, "stateDirectory");
    THREADS.check("threads", threads);
  }
}
