package io.shardtide.cli;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Handles SIGTERM and Ctrl-C of a service: interrupts the thread that runs it, which closes its
 * resources, and lets the process end after that. The exit status is 128 plus the signal's number
 * (143 for SIGTERM), which supervisors take for a clean end.
 */
final class Termination {
  /** Limit for closing; longer than a service takes. */
  private static final long TIMEOUT_SECONDS = 30;

  private final Thread main = Thread.currentThread();
  private final CountDownLatch done = new CountDownLatch(1);
  private boolean requested;
  private boolean closing;

  private Termination() {}

  /** Installs the handler for the calling thread. */
  static Termination install() {
    Termination termination = new Termination();
    Runtime.getRuntime().addShutdownHook(new Thread(termination::await, "termination"));
    return termination;
  }

  private void await() {
    try {
      for (long s = 0; s < TIMEOUT_SECONDS; s++) {
        // Repeated each second: some calls during startup swallow the first interrupt.
        interrupt();
        if (done.await(1, TimeUnit.SECONDS)) {
          return;
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized void interrupt() {
    requested = true;
    if (!closing) {
      main.interrupt();
    }
  }

  /** Returns whether a signal arrived. */
  synchronized boolean requested() {
    return requested;
  }

  /** Marks the start of closing, which must not be interrupted. */
  synchronized void closing() {
    closing = true;
    if (Thread.interrupted()) {
      requested = true;
    }
  }

  /** Marks the end of closing. */
  void done() {
    done.countDown();
  }
}
