package io.shardtide.cli;

import io.shardtide.client.Endpoint;
import io.shardtide.domain.DetectorKind;
import io.shardtide.replay.PlanProvenance;
import io.shardtide.replay.ProvenanceCollector;
import io.shardtide.views.Views;
import io.shardtide.web.Dashboard;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.apache.kafka.common.errors.AuthorizationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Feeds the dashboard: follows the log, begins anew whenever that ends, and does what the pages ask
 * for. What it meets never concerns the planner.
 */
final class DashboardFeed implements Dashboard.Actions, AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(DashboardFeed.class);
  private static final long PAUSE_SECONDS = 2;

  /** The longest pause: where a right is missing, it is for a person to give it. */
  private static final long LONGEST_PAUSE_SECONDS = 64;

  private final Endpoint endpoint;
  private final DetectorKind detector;
  private final AtomicReference<Optional<Views>> views = new AtomicReference<>(Optional.empty());
  private final CountDownLatch closed = new CountDownLatch(1);
  private final Thread thread = new Thread(this::follow, "dashboard");

  /**
   * @param endpoint where the log is
   * @param detector how the planner notices drifts
   */
  DashboardFeed(Endpoint endpoint, DetectorKind detector) {
    this.endpoint = endpoint;
    this.detector = detector;
    thread.setDaemon(true);
  }

  /** Begins to follow: when there are topics, since it asks for them again and again. */
  void start() {
    thread.start();
  }

  /**
   * Returns what the pages show.
   *
   * @param token tells the token of who may change something; empty if nobody may
   */
  Dashboard dashboard(Optional<Predicate<String>> token) {
    return new Dashboard(views::get, this, token);
  }

  private void follow() {
    long pause = PAUSE_SECONDS;
    try {
      while (closed.getCount() > 0) {
        CountDownLatch ended = new CountDownLatch(1);
        AtomicReference<RuntimeException> failure = new AtomicReference<>();
        try (Views now =
            Views.start(
                endpoint,
                detector,
                error -> {
                  failure.set(error);
                  ended.countDown();
                })) {
          views.set(Optional.of(now));
          while (closed.getCount() > 0 && !ended.await(100, TimeUnit.MILLISECONDS)) {
            if (now.isCaughtUp()) {
              pause = PAUSE_SECONDS;
            }
          }
        } catch (RuntimeException e) {
          failure.set(e);
        } finally {
          views.set(Optional.empty());
        }
        if (failure.get() != null && closed.getCount() > 0) {
          log.warn("The dashboard begins anew in {} s: {}", pause, describe(failure.get()));
          closed.await(pause, TimeUnit.SECONDS);
          pause = Math.min(LONGEST_PAUSE_SECONDS, 2 * pause);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static String describe(RuntimeException error) {
    return error instanceof AuthorizationException
        ? error.getMessage()
            + "; ./shardtide acls --role dashboard prints the commands that give this user what it needs"
        : error.getMessage();
  }

  @Override
  public Object why(String planId) throws IOException {
    Optional<String> workload =
        views.get().flatMap(v -> v.line(planId)).map(line -> line.workloadId());
    try (ClusterOption.Connection connection = connect(workload)) {
      return told(ProvenanceCollector.tell(connection.records(), planId));
    }
  }

  /** Returns a story without the plans, which the pages have by themselves. */
  private static Map<String, Object> told(PlanProvenance story) {
    Map<String, Object> told = new LinkedHashMap<>();
    told.put("planId", story.plan().planId());
    told.put("previousPlanId", story.previous().map(plan -> plan.planId()));
    told.put("previousGeneration", story.previous().map(plan -> plan.generation()));
    told.put("previousMs", story.previous().map(plan -> plan.predictedMs()));
    told.put("cluster", story.cluster());
    told.put("events", story.events());
    told.put("tables", story.tables());
    told.put("infeasible", story.infeasible());
    told.put("statuses", story.statuses());
    return told;
  }

  private ClusterOption.Connection connect(Optional<String> workload) throws IOException {
    return ClusterOption.connect(endpoint, workload, () -> {});
  }

  @Override
  public String promote(String modelId) throws IOException {
    try (ClusterOption.Connection connection = connect(Optional.empty())) {
      return ModelChoice.promote(connection, modelId);
    }
  }

  @Override
  public String rollback(String hardware) throws IOException {
    try (ClusterOption.Connection connection = connect(Optional.empty())) {
      return ModelChoice.rollback(connection, hardware);
    }
  }

  @Override
  public void close() {
    closed.countDown();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
