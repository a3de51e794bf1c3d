package io.shardtide.cli;

import io.shardtide.client.Endpoint;
import io.shardtide.log.DaemonThreads;
import io.shardtide.replay.ProvenanceCollector;
import io.shardtide.views.Views;
import io.shardtide.web.Dashboard;
import io.shardtide.wire.Extension;
import java.io.IOException;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.apache.kafka.common.errors.AuthorizationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves the dashboard: keeps the views running, restarts them after an error, and runs the actions
 * of the pages. Its errors never affect the planner.
 */
final class DashboardFeed implements Dashboard.Actions, AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(DashboardFeed.class);
  private static final long RESTART_SECONDS = 2;

  private static final long CLOSE_SECONDS = 5;

  /** The longest wait before a restart: missing rights need a person. */
  private static final long MAX_RESTART_SECONDS = 64;

  private final Endpoint endpoint;
  private final Set<Extension> extensions;
  private final AtomicReference<Optional<Views>> views = new AtomicReference<>(Optional.empty());
  private final CountDownLatch closed = new CountDownLatch(1);
  private final Thread thread = DaemonThreads.named("dashboard").newThread(this::run);

  /**
   * @param endpoint the cluster and the schema registry
   * @param extensions those of the planner: the topics of others do not exist
   */
  DashboardFeed(Endpoint endpoint, Set<Extension> extensions) {
    this.endpoint = endpoint;
    this.extensions = Set.copyOf(extensions);
  }

  /** Starts the views, in the background; retries until the topics exist. */
  void start() {
    thread.start();
  }

  /**
   * Returns the dashboard.
   *
   * @param token accepts the tokens that may change something; empty for a read-only dashboard
   */
  Dashboard dashboard(Optional<Predicate<String>> token) {
    return new Dashboard(views::get, this, token);
  }

  private void run() {
    long waitSeconds = RESTART_SECONDS;
    try {
      while (closed.getCount() > 0) {
        CountDownLatch ended = new CountDownLatch(1);
        AtomicReference<RuntimeException> failure = new AtomicReference<>();
        try (Views now =
            Views.start(
                endpoint,
                extensions,
                error -> {
                  failure.set(error);
                  ended.countDown();
                })) {
          views.set(Optional.of(now));
          while (closed.getCount() > 0 && !ended.await(100, TimeUnit.MILLISECONDS)) {
            if (now.isCaughtUp()) {
              waitSeconds = RESTART_SECONDS;
            }
          }
        } catch (RuntimeException e) {
          failure.set(e);
        } finally {
          views.set(Optional.empty());
        }
        if (failure.get() != null && closed.getCount() > 0) {
          log.warn("The dashboard restarts in {} s: {}", waitSeconds, describe(failure.get()));
          closed.await(waitSeconds, TimeUnit.SECONDS);
          waitSeconds = Math.min(MAX_RESTART_SECONDS, 2 * waitSeconds);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static String describe(RuntimeException error) {
    return error instanceof AuthorizationException
        ? error.getMessage()
            + "; ./shardtide rights --role dashboard prints the commands that grant what this user"
            + " needs"
        : error.getMessage();
  }

  @Override
  public Object why(String planId) throws IOException {
    Optional<String> workload = views.get().flatMap(v -> v.log().workloadOf(planId));
    try (KafkaLogRecords log = KafkaLogRecords.open(endpoint, workload, () -> {})) {
      return ProvenanceJson.of(ProvenanceCollector.collect(log, planId));
    }
  }

  @Override
  public String promote(String modelId) throws IOException {
    try (KafkaLogRecords log = new KafkaLogRecords(endpoint)) {
      return ModelChoice.promote(log, modelId);
    }
  }

  @Override
  public String rollback(String hardware) throws IOException {
    try (KafkaLogRecords log = new KafkaLogRecords(endpoint)) {
      return ModelChoice.rollback(log, hardware);
    }
  }

  @Override
  public void close() {
    closed.countDown();
    try {
      thread.join(TimeUnit.SECONDS.toMillis(CLOSE_SECONDS));
      // A cluster that does not answer would hold it for as long as its clients wait.
      thread.interrupt();
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
