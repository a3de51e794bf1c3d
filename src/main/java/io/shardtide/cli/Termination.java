package io.shardtide.cli;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * What SIGTERM and Ctrl-C do to a service: the thread that runs it is interrupted, closes what it
 * opened, and the process ends when it has. The process' exit status is then 128 and the signal's
 * number, as the JVM gives it (143 for SIGTERM): supervisors take that for a clean end.
 */
final class Termination {
  /** Longer than a service takes to close; then the process ends all the same. */
  private static final long PATIENCE_SECONDS = 30;

  private final Thread main = Thread.currentThread();
  private final CountDownLatch done = new CountDownLatch(1);
  private boolean wanted;
  private boolean closing;

  private Termination() {}

  /** Is ready for signals from now on, on behalf of this thread. */
  static Termination install() {
    Termination termination = new Termination();
    Runtime.getRuntime().addShutdownHook(new Thread(termination::await, "termination"));
    return termination;
  }

  private void await() {
    try {
      for (long s = 0; s < PATIENCE_SECONDS; s++) {
        // Again each second: not everything that a start waits for minds the first time.
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
    wanted = true;
    if (!closing) {
      main.interrupt();
    }
  }

  /** Returns whether the process is to end. */
  synchronized boolean wanted() {
    return wanted;
  }

  /** The service is being closed, which is not to be interrupted. */
  synchronized void closing() {
    closing = true;
    if (Thread.interrupted()) {
      wanted = true;
    }
  }

  /** Everything is closed. */
  void done() {
    done.countDown();
  }
}
