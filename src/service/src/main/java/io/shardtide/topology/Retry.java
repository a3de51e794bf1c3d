package io.shardtide.topology;

import io.shardtide.wire.Causes;
import io.shardtide.wire.RegistryUnavailableException;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.RetriableException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Retries what needs a server that is unavailable while the service starts, and logs the wait. */
final class Retry {
  private static final Logger log = LoggerFactory.getLogger(Retry.class);

  private static final long LONGEST_PAUSE_MS = 5_000;

  /** Attempts after which an unchanged reason is logged again: about a minute. */
  private static final int LOG_EVERY = 12;

  private Retry() {}

  /**
   * Runs an action until the server that it needs is available.
   *
   * @param server name of the server, for the log
   * @param action what to run
   * @throws Exception what the action throws for any other reason
   */
  static <T> T untilAvailable(String server, Callable<T> action) throws Exception {
    String logged = "";
    for (int attempt = 0; ; attempt++) {
      try {
        T result = action.call();
        if (attempt > 0) {
          log.info("{} is available again", server);
        }
        return result;
      } catch (Exception e) {
        if (!isUnavailable(e)) {
          throw e;
        }
        String text = describe(e);
        if (!text.equals(logged) || attempt % LOG_EVERY == 0) {
          log.warn("{} is unavailable ({}); retrying", server, text);
          logged = text;
        }
        TimeUnit.MILLISECONDS.sleep(Math.min(LONGEST_PAUSE_MS, 1_000L << Math.min(attempt, 10)));
      }
    }
  }

  /**
   * Returns whether an error means that a server is unavailable, not that it refuses the request.
   */
  static boolean isUnavailable(Throwable error) {
    return Causes.find(error, RegistryUnavailableException.class).isPresent()
        || Causes.find(error, RetriableException.class).isPresent()
        // A host name that does not resolve yet: Kafka reports a wrong setting.
        || Causes.find(error, ConfigException.class)
            .filter(e -> String.valueOf(e.getMessage()).contains("No resolvable bootstrap"))
            .isPresent();
  }

  /**
   * Returns the message for a person: the registry's, if the registry is unavailable, or else that
   * of the root cause.
   */
  static String describe(Throwable error) {
    Throwable told =
        Causes.find(error, RegistryUnavailableException.class)
            .<Throwable>map(e -> e)
            .orElseGet(() -> Causes.root(error));
    return told.getMessage() == null ? told.getClass().getSimpleName() : told.getMessage();
  }
}
