package io.shardtide.bench.service;

import io.shardtide.bench.service.ProcessorTime.ThreadKind;
import io.shardtide.client.Endpoint;
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
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/** A dashboard on a long log: its start, its memory, and browsers that follow it. */
public final class LogLimits {
  private static final int PARTITIONS = 6;
  private static final double MIB = 1 << 20;
  private static final int BURST_SECONDS = 10;

  /** Time for the last updates to reach all browsers. */
  private static final long SETTLE_MS = 2_000;

  private final LogOptions options;
  private final StepReporter steps;
  private final List<List<String>> rows = new ArrayList<>();

  /**
   * What to measure.
   *
   * @param workloads number of workloads
   * @param tables tables of each workload
   * @param changes changes on the log
   * @param plans plans on the log
   * @param browsers numbers of browsers, one after the other
   * @param perSecond changes a second while browsers follow
   */
  public record LogOptions(
      int workloads, int tables, int changes, int plans, List<Integer> browsers, double perSecond) {
    /** Copies what may change. */
    public LogOptions {
      browsers = List.copyOf(browsers);
    }
  }

  private LogLimits(LogOptions options, StepReporter steps) {
    this.options = options;
    this.steps = steps;
  }

  /**
   * Writes the log, and measures.
   *
   * @param steps receives the progress
   */
  public static ResultTable run(LogOptions options, StepReporter steps) throws Exception {
    LogLimits limits = new LogLimits(options, steps);
    limits.measure();
    return new ResultTable(List.of("a dashboard on a long log", "value", "unit"), limits.rows);
  }

  private void measure() throws Exception {
    try (BenchmarkCluster cluster = BenchmarkCluster.open(PARTITIONS)) {
      LongLog log = new LongLog(cluster, options.tables(), steps);
      log.plan();
      log.write(options.workloads(), options.plans(), options.changes());
      row("changes on the log", "%,d", options.changes(), "");
      row("plans on the log", "%,d", options.plans(), "");
      row("workloads of %d tables".formatted(options.tables()), "%,d", options.workloads(), "");
      double heapBefore = heapMib();
      ProcessorTime before = ProcessorTime.now();
      long began = System.nanoTime();
      try (Views views =
          Views.start(
              Endpoint.of(cluster.bootstrapServers(), cluster.registryUrl()),
              Set.of(),
              error -> {})) {
        await("reading plans", views::isCaughtUp);
        row("start until all workloads are shown", "%,.1f", since(began), "s");
        await("reading tables", () -> views.statistics().tablesAreRead());
        row("start until all tables are shown", "%,.1f", since(began), "s");
        row(
            "the same, processor time of all threads and of the broker",
            "%,.1f",
            ProcessorTime.now().microsSince(before, ThreadKind.ALL) / 1e6,
            "s");
        row("heap of the dashboard", "%,.0f", heapMib() - heapBefore, "MiB");
        if (views.log().rows().size() != options.workloads()) {
          throw new IllegalStateException(
              "%d of %d workloads are shown"
                  .formatted(views.log().rows().size(), options.workloads()));
        }
        follow(cluster, log, views);
      }
    }
  }

  private void follow(BenchmarkCluster cluster, LongLog log, Views views) throws Exception {
    Dashboard.Actions none =
        new Dashboard.Actions() {
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
        };
    try (WebServer server =
            WebServer.start(
                "127.0.0.1",
                0,
                () -> new Health(List.of(Health.Component.up("kafka"))),
                () -> true,
                () -> "",
                Optional.empty(),
                Optional.of(new Dashboard(() -> Optional.of(views), none, Optional.empty())));
        LoadPublisher publisher = new LoadPublisher(cluster, 0)) {
      for (int browsers : options.browsers()) {
        follow(server.url(), browsers, log, publisher);
      }
    }
  }

  /** Opens browsers, publishes changes, and measures what following costs. */
  private void follow(String url, int browsers, LongLog log, LoadPublisher publisher)
      throws Exception {
    HttpClient client = HttpClient.newHttpClient();
    int refused = 0;
    AtomicLong closed = new AtomicLong();
    AtomicLong received = new AtomicLong();
    ConcurrentHashMap<Integer, Boolean> open = new ConcurrentHashMap<>();
    List<Stream<String>> streams = new ArrayList<>();
    List<Thread> readers = new ArrayList<>();
    for (int b = 0; b < browsers; b++) {
      HttpResponse<Stream<String>> response =
          client.send(
              HttpRequest.newBuilder(URI.create(url + "/api/stream")).build(),
              BodyHandlers.ofLines());
      if (response.statusCode() != 200) {
        refused++;
        response.body().close();
        continue;
      }
      int browser = b;
      open.put(browser, true);
      streams.add(response.body());
      Thread reader =
          new Thread(
              () -> {
                try {
                  response
                      .body()
                      .filter(line -> line.equals("event: event"))
                      .forEach(line -> received.incrementAndGet());
                } catch (java.io.UncheckedIOException e) {
                  closed.incrementAndGet();
                }
                open.remove(browser);
              },
              "browser");
      reader.setDaemon(true);
      reader.start();
      readers.add(reader);
    }
    int streaming = open.size();
    ProcessorTime before = ProcessorTime.now();
    int count = (int) Math.round(options.perSecond() * BURST_SECONDS);
    Random random = new Random(browsers);
    long began = System.nanoTime();
    for (int i = 0; i < count; i++) {
      TimeUnit.NANOSECONDS.sleep(
          began + (long) (i * 1e9 / options.perSecond()) - System.nanoTime());
      publisher.publish(LongLog.workload(random.nextInt(options.workloads())), log.change(random));
      steps.at("%d browsers".formatted(browsers), i, count);
    }
    publisher.flush();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (received.get() < (long) count * open.size() && System.nanoTime() < end) {
      Thread.sleep(10);
    }
    double micros = ProcessorTime.now().microsSince(before, ThreadKind.ALL);
    Thread.sleep(SETTLE_MS);
    String what = "browsers: %,d".formatted(browsers);
    row(what + "; refused", "%,d", refused, "");
    row(what + "; disconnected", "%,d", (long) streaming - open.size(), "");
    row(
        what + "; updates that did not arrive",
        "%,d",
        Math.max(0, (long) count * streaming - received.get()),
        "");
    row(
        what + "; processor time of all, clients included, a change",
        "%,.1f",
        micros / 1e3 / count,
        "ms");
    streams.forEach(Stream::close);
    for (Thread reader : readers) {
      reader.join(SETTLE_MS);
    }
  }

  private void await(String what, BooleanSupplier condition) throws InterruptedException {
    while (!condition.getAsBoolean()) {
      steps.at(what, 0, 1);
      Thread.sleep(10);
    }
  }

  private static double since(long began) {
    return (System.nanoTime() - began) / 1e9;
  }

  private static double heapMib() {
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() / MIB;
  }

  private void row(String what, String format, Object value, String unit) {
    rows.add(List.of(what, format.formatted(value), unit));
  }
}
