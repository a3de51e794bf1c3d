package io.shardtide.workload;

import java.util.Optional;

/**
 * A record that was not applied, as it was received.
 *
 * @param source where it lies in the log
 * @param workloadId the workload that it names, if that could be decoded
 * @param reason the code
 * @param message what is wrong, the value, and what is expected
 * @param key the record's key as it was received, if it had one
 * @param value the record's value as it was received, if it had one
 */
public record RejectedEvent(
    SourcePosition source,
    Optional<String> workloadId,
    RejectionReason reason,
    String message,
    Optional<Bytes> key,
    Optional<Bytes> value) {}
