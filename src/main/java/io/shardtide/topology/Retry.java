package io.shardtide.topology;

import io.shardtide.wire.RegistryUnavailableException;
import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.SerializationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Waits for servers that are away while the service starts, and says so. */
final class Retry {
  private static final Logger log = LoggerFactory.getLogger(Retry.class);

  private static final long LONGEST_PAUSE_MS = 5_000;

  /** A line a minute, about, is enough to see that nothing has changed. */
  private static final int SAID_AGAIN = 12;

  private Retry() {}

  /**
   * Does something, again and again while a server that it needs is away.
   *
   * @param server what to call the server
   * @param action what to do
   * @throws Exception what the action throws for any other reason
   */
  static <T> T outlast(String server, Callable<T> action) throws Exception {
    String said = "";
    for (int attempt = 0; ; attempt++) {
      try {
        T result = action.call();
        if (attempt > 0) {
          log.info("{} is back", server);
        }
        return result;
      } catch (Exception e) {
        if (!isOne(e)) {
          throw e;
        }
        String text = describe(e);
        if (!text.equals(said) || attempt % SAID_AGAIN == 0) {
          log.warn("{} is away ({}); trying again", server, text);
          said = text;
        }
        TimeUnit.MILLISECONDS.sleep(Math.min(LONGEST_PAUSE_MS, 1_000L << Math.min(attempt, 10)));
      }
    }
  }

  /** Returns whether an error says that a server is away, and not that it refuses. */
  static boolean isOne(Throwable error) {
    for (Throwable e = error; e != null; e = e.getCause()) {
      if (e instanceof RegistryUnavailableException
          || e instanceof RetriableException
          // The registry, asked by a serializer.
          || (e instanceof SerializationException && e.getCause() instanceof IOException)
          // A name that nobody knows, yet: Kafka takes it for a wrong setting.
          || (e instanceof ConfigException
              && String.valueOf(e.getMessage()).contains("No resolvable bootstrap"))) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns what a person wants to know: that the registry is away, or else what lies at the
   * bottom.
   */
  static String describe(Throwable error) {
    Throwable last = error;
    for (Throwable e = error; e != null; e = e.getCause()) {
      if (e instanceof RegistryUnavailableException) {
        return e.getMessage();
      }
      last = e;
    }
    return last.getMessage() == null ? last.getClass().getSimpleName() : last.getMessage();
  }
}
