package io.shardtide.client;

import io.shardtide.workload.SourcePosition;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;

/**
 * Fails events that are being sent when the brokers do not accept the client. A producer that has
 * connected before tries for {@code delivery.timeout.ms}, and then says only that time is up. It
 * does not count failed handshakes of TLS 1.3, in which brokers refuse a certificate last: an event
 * that has waited for seconds is not accepted if the client's certificate has expired. One task
 * looks for all events, while there are any. Safe for use by several threads.
 */
final class AcceptanceWatch {
  /** Interval at which the events are compared with failed logins. */
  static final long INTERVAL_MS = 200;

  /** After so many looks, 5 seconds, the certificate is looked at, which reads the key store. */
  static final int LOOKS_PER_CERTIFICATE = 25;

  private final DoubleSupplier failedLogins;
  private final BooleanSupplier certificateExpired;
  private final Supplier<? extends RuntimeException> notAccepted;
  private final Executor later;

  /** What was being sent at the last look or later, in order. */
  private final List<Sent> waiting = new ArrayList<>();

  private boolean looks;
  private long look;

  /** The look at which the certificate was found to be valid last; of looks only. */
  private long validAt = -LOOKS_PER_CERTIFICATE;

  /**
   * An event that is being sent.
   *
   * @param event its position, when it was sent
   * @param failedLogins how many logins had failed when it was handed to the producer
   * @param look the look before that
   */
  private record Sent(CompletableFuture<SourcePosition> event, double failedLogins, long look) {}

  /**
   * @param failedLogins returns how often brokers did not accept the client
   * @param certificateExpired returns whether the client's certificate has expired
   * @param notAccepted creates the error of the events
   * @param later runs the next look, after {@link #INTERVAL_MS}
   */
  AcceptanceWatch(
      DoubleSupplier failedLogins,
      BooleanSupplier certificateExpired,
      Supplier<? extends RuntimeException> notAccepted,
      Executor later) {
    this.failedLogins = failedLogins;
    this.certificateExpired = certificateExpired;
    this.notAccepted = notAccepted;
    this.later = later;
  }

  /**
   * Watches an event until it is sent.
   *
   * @param failedBefore failed logins before it was handed to the producer
   */
  synchronized void watch(CompletableFuture<SourcePosition> event, double failedBefore) {
    waiting.add(new Sent(event, failedBefore, look));
    if (!looks) {
      looks = true;
      later.execute(this::look);
    }
  }

  private void look() {
    boolean isDue;
    synchronized (this) {
      waiting.removeIf(sent -> sent.event().isDone());
      looks = !waiting.isEmpty();
      if (!looks) {
        return;
      }
      look++;
      isDue = look - validAt >= LOOKS_PER_CERTIFICATE && waiting.stream().anyMatch(this::isLong);
    }
    try {
      boolean expired = isDue && certificateExpired.getAsBoolean();
      if (isDue && !expired) {
        validAt = look;
      }
      List<Sent> refused = refused(expired);
      if (!refused.isEmpty()) {
        RuntimeException error = notAccepted.get();
        refused.forEach(sent -> sent.event().completeExceptionally(error));
      }
    } finally {
      later.execute(this::look);
    }
  }

  private synchronized List<Sent> refused(boolean expired) {
    double failed = failedLogins.getAsDouble();
    return waiting.stream()
        .filter(sent -> failed > sent.failedLogins() || (expired && isLong(sent)))
        .toList();
  }

  private boolean isLong(Sent sent) {
    return look - sent.look() >= LOOKS_PER_CERTIFICATE;
  }
}
