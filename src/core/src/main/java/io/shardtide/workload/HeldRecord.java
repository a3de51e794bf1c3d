package io.shardtide.workload;

import java.util.Optional;

/**
 * A record as it lies in the log.
 *
 * @param source its position
 * @param timestamp its timestamp, in milliseconds since 1970
 * @param key its key
 * @param value its value
 */
public record HeldRecord(
    SourcePosition source, long timestamp, Optional<Bytes> key, Optional<Bytes> value) {

  /** Returns how many bytes its key and value have. */
  public long bytes() {
    return (long) key.map(Bytes::size).orElse(0) + value.map(Bytes::size).orElse(0);
  }
}
