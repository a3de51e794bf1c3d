package io.shardtide.domain;

import java.util.Objects;
import java.util.Optional;

/**
 * A record that was not applied, as it came.
 *
 * @param source where it lies in the log
 * @param workloadId the workload it names, where that much could be read
 * @param reason the code
 * @param message what was wrong, the value, and what is legal
 * @param key the record's key as it came, if it had one
 * @param value the record's value as it came, if it had one
 */
public record RejectedEvent(
    SourcePosition source,
    Optional<String> workloadId,
    RejectionReason reason,
    String message,
    Optional<Bytes> key,
    Optional<Bytes> value) {

  /** Checks that nothing is missing. */
  public RejectedEvent {
    Objects.requireNonNull(source, "source");
    Objects.requireNonNull(workloadId, "workloadId");
    Objects.requireNonNull(reason, "reason");
    Objects.requireNonNull(message, "message");
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(value, "value");
  }
}
