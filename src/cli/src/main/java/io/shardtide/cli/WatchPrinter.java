package io.shardtide.cli;

import io.shardtide.client.SubscriptionListener;
import io.shardtide.workload.RejectedEvent;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Prints what a subscription delivers, on its thread, and says what happens to it on standard
 * error.
 */
abstract class WatchPrinter implements SubscriptionListener {
  private final PrintWriter out;
  private final PrintWriter err;
  private final boolean once;

  /** Completed when nothing follows. */
  private final CompletableFuture<Void> over = new CompletableFuture<>();

  /** Why records wait, if they do. */
  private volatile Optional<String> waiting = Optional.empty();

  private boolean printed;
  private boolean caughtUp;

  /**
   * @param once whether it ends after the latest records
   */
  WatchPrinter(PrintWriter out, PrintWriter err, boolean once) {
    this.out = out;
    this.err = err;
    this.once = once;
  }

  /**
   * Waits until the subscription ends, or the latest records are printed.
   *
   * @param timeout how long to wait for the first record if only the latest are printed
   * @param nothing what there is not, when the time is up
   * @throws IllegalStateException if nothing was printed in that time
   */
  final void awaitEnd(Duration timeout, String nothing) throws Exception {
    long seconds = once ? timeout.toSeconds() : Long.MAX_VALUE;
    try {
      over.get(seconds, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new IllegalStateException(
          "%s within %d s%s"
              .formatted(nothing, seconds, waiting.map(": "::concat).orElse(" on this cluster")),
          e);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    }
  }

  /** Prints a record. */
  final void print(String text) {
    waiting = Optional.empty();
    out.print(text);
    out.flush();
    printed = true;
    endIfOnce();
  }

  /** Prints a line that is no record. */
  final void note(String line) {
    out.println(Printable.of(line));
    out.flush();
  }

  /** Prints a line on standard error. */
  final void report(String line) {
    err.println(Printable.of(line));
    err.flush();
  }

  @Override
  public final void caughtUp() {
    caughtUp = true;
    endIfOnce();
  }

  private void endIfOnce() {
    if (once && caughtUp && printed) {
      over.complete(null);
    }
  }

  @Override
  public final void undecodable(RejectedEvent record) {
    report("skipped: %s: %s".formatted(record.source(), record.message()));
  }

  @Override
  public final void waiting(RuntimeException cause) {
    waiting = Optional.of(cause.getMessage());
    if (!once) {
      report("waiting: " + cause.getMessage());
    }
  }

  @Override
  public final void failed(RuntimeException error) {
    over.completeExceptionally(error);
  }
}
