package io.shardtide.bench.service;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.bench.Figures;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.views.Views;
import io.shardtide.web.Dashboard;
import io.shardtide.web.Health;
import io.shardtide.web.WebServer;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A dashboard on the log of years: its start, its memory, and what browsers that follow it cost.
 */
@Tag("nightly")
class DashboardLogIT {
  private static final int WORKLOADS = Integer.getInteger("bench.workloads", 10);
  private static final int TABLES = Integer.getInteger("bench.tables", 5);
  private static final int CHANGES = Integer.getInteger("bench.changes", 1_000);
  private static final int PLANS = Integer.getInteger("bench.plans", 4 * WORKLOADS);
  private static final int PER_SECOND = Integer.getInteger("bench.per.second", 20);
  private static final String BROWSERS = System.getProperty("bench.browsers", "1,3");
  private static final int BURST_SECONDS = 10;
  private static final double MIB = 1 << 20;

  private final Figures figures = new Figures("a dashboard on a long log", "value");

  @Test
  void a_dashboard_shows_all_of_it_to_every_browser() throws Exception {
    try (BenchmarkCluster cluster = new BenchmarkCluster(6)) {
      LongLog log = new LongLog(cluster, TABLES);
      log.write(WORKLOADS, PLANS, CHANGES);
      figures.add("changes on the log", "%,d", CHANGES);
      figures.add("plans on the log", "%,d", PLANS);
      figures.add("workloads of %d tables".formatted(TABLES), "%,d", WORKLOADS);
      double heapBefore = heapMib();
      double cpu = cpuMillis();
      long began = System.nanoTime();
      try (Views views = Views.start(cluster.endpoint(), Set.of(), error -> {})) {
        await("start until all workloads are shown", views::isCaughtUp, began);
        await("start until all tables are shown", () -> views.statistics().tablesAreRead(), began);
        figures.add(
            "the same, processor time, with the broker's", "%,.1f s", (cpuMillis() - cpu) / 1e3);
        figures.add("heap of the dashboard", "%,.0f MiB", heapMib() - heapBefore);
        assertThat(views.log().rows()).hasSize(WORKLOADS);
        follow(cluster, log, views);
      }
    }
    System.out.println(figures);
  }

  private void await(String what, Callable<Boolean> condition, long began) {
    Awaitility.await()
        .atMost(Duration.ofMinutes(5))
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(10))
        .until(condition);
    figures.add(what, "%,.1f s", (System.nanoTime() - began) / 1e9);
  }

  private void follow(BenchmarkCluster cluster, LongLog log, Views views) throws Exception {
    try (WebServer server =
            WebServer.start(
                "127.0.0.1",
                0,
                () -> new Health(List.of(Health.Component.up("kafka"))),
                () -> true,
                () -> "",
                Optional.empty(),
                Optional.of(
                    new Dashboard(() -> Optional.of(views), new NoActions(), Optional.empty())));
        WorkloadPublisher publisher = WorkloadPublisher.connect(cluster.endpoint(), "bench")) {
      for (int browsers :
          Arrays.stream(BROWSERS.split(",", -1)).mapToInt(Integer::parseInt).toArray()) {
        follow(server.url(), browsers, log, publisher);
      }
    }
  }

  /** Opens browsers, publishes changes, and measures what following costs. */
  private void follow(String url, int browsers, LongLog log, WorkloadPublisher publisher)
      throws Exception {
    HttpClient client = HttpClient.newHttpClient();
    AtomicLong received = new AtomicLong();
    List<Stream<String>> streams = new ArrayList<>();
    for (int b = 0; b < browsers; b++) {
      HttpResponse<Stream<String>> response =
          client.send(
              HttpRequest.newBuilder(URI.create(url + "/api/stream")).build(),
              BodyHandlers.ofLines());
      assertThat(response.statusCode()).as("browser %d", b).isEqualTo(200);
      streams.add(response.body());
      Thread reader =
          new Thread(
              () ->
                  response
                      .body()
                      .filter(line -> line.equals("event: event"))
                      .forEach(line -> received.incrementAndGet()),
              "browser");
      reader.setDaemon(true);
      // The stream is closed under it.
      reader.setUncaughtExceptionHandler((thread, error) -> {});
      reader.start();
    }
    double before = cpuMillis();
    int count = PER_SECOND * BURST_SECONDS;
    Random random = new Random(browsers);
    long began = System.nanoTime();
    for (int i = 0; i < count; i++) {
      TimeUnit.NANOSECONDS.sleep(began + i * (1_000_000_000L / PER_SECOND) - System.nanoTime());
      log.change(publisher, random, WORKLOADS);
    }
    Awaitility.await()
        .atMost(Duration.ofMinutes(1))
        .untilAsserted(
            () ->
                assertThat(received.get())
                    .as("updates at %d browsers", browsers)
                    .isGreaterThanOrEqualTo((long) count * browsers));
    figures.add(
        "processor time of a change, with %,d browsers".formatted(browsers),
        "%,.1f ms",
        (cpuMillis() - before) / count);
    streams.forEach(Stream::close);
  }

  /** What a browser cannot do here. */
  private static final class NoActions implements Dashboard.Actions {
    @Override
    public Object why(String planId) {
      throw new IllegalArgumentException("Not measured");
    }

    @Override
    public String promote(String modelId) {
      throw new IllegalArgumentException("Not measured");
    }

    @Override
    public String rollback(String hardware) {
      throw new IllegalArgumentException("Not measured");
    }
  }

  /** Returns the processor time of this process. */
  private static double cpuMillis() {
    return ProcessHandle.current().info().totalCpuDuration().orElseThrow().toNanos() / 1e6;
  }

  private static double heapMib() {
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() / MIB;
  }
}
