package io.shardtide.cli;

import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.Bottleneck;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.Effort;
import io.shardtide.plan.Explanation;
import io.shardtide.plan.Insight;
import io.shardtide.plan.PlanMoves;
import io.shardtide.plan.PlanOrigin;
import io.shardtide.plan.PlanPrediction;
import io.shardtide.plan.Region;
import io.shardtide.plan.Replication;
import io.shardtide.plan.SearchRun;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanningSettings;
import io.shardtide.testing.Browser;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.workload.Change;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.SourcePosition;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Measures the dashboard in a real browser with 200 workloads, one of them with 613 tables on 128
 * devices, and ten plans a second: time to the first view, time of interactions, latency of
 * updates, growth of the heap. Prints the figures and writes them to {@code
 * target/dashboard/figures.txt}. Neither Surefire nor Failsafe runs it by itself:
 *
 * <pre>mvn test -Dtest=DashboardBenchmark -Dshardtide.dashboard.seconds=600</pre>
 *
 * <p>The seconds are those of the updates, 20 by default; the slope of the heap needs minutes. It
 * is a test class because {@code ./shardtide bench} would need the browser's driver, a test
 * dependency, in production.
 */
class DashboardBenchmark {
  private static final int WORKLOADS = 200;
  private static final int PER_SECOND = 10;
  private static final String LARGE = Fixtures.WORKLOAD;
  private static final String DEVICES =
      "document.querySelector('.chart')?.ariaValueMax === '127' && document.querySelector('.chart svg')";

  @TempDir private Path folder;

  private final Random random = new Random(1);
  private final List<String> figures = new ArrayList<>();

  private ShardingPlan plan(String workload, long generation, Optional<String> previous) {
    int tables = 40;
    int devices = 8;
    List<Shard> shards = new ArrayList<>();
    for (int t = 0; t < tables; t++) {
      for (int half = 0; half < 2; half++) {
        shards.add(
            new Shard(
                "table_%03d".formatted(t),
                new Region(32 * half, 32, 0, 1_000_000),
                random.nextInt(devices),
                ShardKind.COLUMN_WISE));
      }
    }
    List<DeviceCost> costs = new ArrayList<>();
    for (int d = 0; d < devices; d++) {
      costs.add(
          new DeviceCost(
              5 + random.nextDouble(),
              3 + random.nextDouble(),
              2,
              (1L << 30) + random.nextInt(),
              0));
    }
    return new ShardingPlan(
            "",
            new PlanOrigin(
                workload,
                generation,
                generation,
                Effort.QUICK,
                new SourcePosition("shardtide.workload-changes", 0, generation),
                TestModels.bundle().modelId(),
                SearchSettings.DEFAULTS,
                previous,
                List.of()),
            "a table has changed",
            shards,
            Replication.NONE,
            List.of(),
            List.of(),
            new PlanPrediction(
                costs,
                costs.stream().mapToDouble(DeviceCost::totalMs).max().orElseThrow(),
                new Insight(
                    8,
                    0,
                    new Bottleneck(1, Explanation.Cause.COMPUTATION, "table_000", 0.1),
                    List.of(),
                    List.of()),
                List.of(),
                0,
                List.of(),
                List.of()),
            new PlanMoves(List.of(), List.of()),
            new SearchRun(1000, 1.5, Instant.now()))
        .identified();
  }

  private void figure(String format, Object... values) {
    String line = String.format(Locale.ROOT, format, values);
    figures.add(line);
    System.out.println(line);
  }

  @Test
  void two_hundred_workloads() throws Exception {
    assumeTrue(Browser.isThere(), "There is no chromium with chromedriver");
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("kafka"));
        DevelopmentRegistry registry = DevelopmentRegistry.start(0, Optional.of(folder));
        DemoPlanner planner =
            DemoPlanner.start(
                kafka,
                registry,
                Map.of(),
                folder.resolve("state"),
                List.of(TestModels.bundle()),
                PlanningSettings.eachGeneration(SearchSettings.DEFAULTS),
                TestSettings.NO_TRAINING,
                Set.of(),
                0);
        LogClient log = new LogClient(kafka.bootstrapServers(), registry.url(), "shardtide.");
        Browser browser = Browser.start(folder)) {
      ShardingPlan[] latest = new ShardingPlan[WORKLOADS];
      latest[0] = large(log);
      for (int w = 1; w < WORKLOADS; w++) {
        latest[w] = plan("w%03d".formatted(w), 1, Optional.empty());
        publish(log, latest[w]);
      }
      firstView(browser, planner.url());
      interactions(browser, latest[0]);
      updates(browser, planner.url(), log, latest);
    }
    Path file = Path.of("target/dashboard/figures.txt");
    Files.createDirectories(file.getParent());
    Files.write(file, figures);
  }

  /** Has the planner plan 612 tables on 128 devices, twice; returns the second plan. */
  private static ShardingPlan large(LogClient log) throws Exception {
    List<Change> changes = new ArrayList<>();
    for (int t = 0; t < 612; t++) {
      changes.add(
          Fixtures.upsert(
              "table_%03d".formatted(t), 1_000L << (t % 14), 16 << (t % 4), 1 + t % 40));
    }
    changes.add(Fixtures.set(128, 4 * Fixtures.GIB));
    log.publish(Fixtures.event(changes.toArray(Change[]::new)));
    log.plans(1);
    log.publish(Fixtures.event(Fixtures.upsert("table_new", 30_000_000, 128, 60)));
    return log.plans(2).get(1);
  }

  private static void publish(LogClient log, ShardingPlan plan) throws Exception {
    log.publishValue(log.topics().of(SHARDING_PLANS), plan.workloadId(), plan);
    log.publishValue(log.topics().of(CURRENT_PLANS), plan.workloadId(), plan);
  }

  private void firstView(Browser browser, String url) {
    browser
        .driver()
        .executeCdpCommand(
            "Page.addScriptToEvaluateOnNewDocument",
            Map.of(
                "source",
                """
                addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
                  if (!window.shownAt && document.querySelectorAll('tbody tr').length >= 200) window.shownAt = performance.now();
                }).observe(document.body, {childList: true, subtree: true}));
                """));
    List<Double> times = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      browser.open("about:blank");
      browser.open(url + "/");
      browser.await("all workloads", "window.shownAt");
      times.add(((Number) browser.run("return window.shownAt")).doubleValue());
    }
    times.remove(0);
    times.sort(Comparator.naturalOrder());
    figure(
        "first view of %d workloads, from the request to the rows: median %.0f ms, max %.0f ms of 5",
        WORKLOADS, times.get(2), times.get(4));
  }

  private void interactions(Browser browser, ShardingPlan large) {
    interaction(
        browser, "sort 200 workloads", "[...document.querySelectorAll('th button')][5].click()");
    interaction(
        browser,
        "filter 200 workloads",
        "const f = document.querySelector('input[type=search]'); f.value = f.value ? '' : 'w1'; f.dispatchEvent(new Event('input'))");
    figure(
        "a workload of 612 tables on 128 devices, opened first after the overview: %.0f ms",
        open(browser, "#/workload/" + LARGE, DEVICES));
    assertThat(browser.text("main")).contains(large.planId().substring(0, 12));
    interaction(
        browser,
        "next device of 128",
        "const g = document.querySelector('.chart'); g.focus(); g.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}))");
    interaction(
        browser,
        "sort plans",
        "[...document.querySelectorAll('table')].find(t => t.caption.textContent.startsWith('Plans')).querySelector('th button').click()");
    opened(browser, "a workload of 612 tables on 128 devices", "#/workload/" + LARGE, DEVICES);
    interaction(
        browser,
        "sort 613 tables",
        "[...document.querySelectorAll('th button')].find(b => b.textContent === 'Rows').click()");
    interaction(
        browser,
        "filter 613 tables",
        "const f = document.querySelector('input[type=search]'); f.value = f.value ? '' : '_1'; f.dispatchEvent(new Event('input'))");
    opened(
        browser,
        "the comparison of two of its plans",
        "#/compare/" + large.origin().previousPlanId().orElseThrow() + "/" + large.planId(),
        "document.querySelector('h1')?.innerText.startsWith('Two plans') && document.querySelector('.chart svg')");
    interaction(
        browser,
        "sort its moves",
        "[...document.querySelectorAll('table')].find(t => t.caption.textContent.startsWith('Shards')).querySelector('th button').click()");
  }

  /** Measures the time from an action to the next frame. */
  private void interaction(Browser browser, String what, String action) {
    List<Double> times = new ArrayList<>();
    for (int i = 0; i < 11; i++) {
      times.add(
          ((Number)
                  browser.runAsync(
                      "const done = arguments[0], t = performance.now(); {%s} requestAnimationFrame(() => setTimeout(() => done(performance.now() - t)))"
                          .formatted(action + ";")))
              .doubleValue());
    }
    times.remove(0);
    times.sort(Comparator.naturalOrder());
    figure("%s: median %.0f ms, max %.0f ms of 10", what, times.get(5), times.get(9));
  }

  private void opened(Browser browser, String what, String hash, String until) {
    List<Double> times = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      browser.run("location.hash = '#/nowhere'");
      browser.await("nowhere", "document.querySelector('.problem')");
      times.add(open(browser, hash, until));
    }
    times.remove(0);
    times.sort(Comparator.naturalOrder());
    figure("%s, opened: median %.0f ms, max %.0f ms of 5", what, times.get(2), times.get(4));
  }

  /**
   * Returns the milliseconds from the change of the address until the page and its chart are there.
   */
  private static double open(Browser browser, String hash, String until) {
    return ((Number)
            browser.runAsync(
                "const done = arguments[0], t = performance.now(); location.hash = '%s'; const look = () => %s ? done(performance.now() - t) : requestAnimationFrame(look); look()"
                    .formatted(hash, until)))
        .doubleValue();
  }

  /** Measures the latency of updates on the overview, and how the heap grows. */
  private void updates(Browser browser, String url, LogClient log, ShardingPlan[] latest)
      throws Exception {
    int seconds = Integer.getInteger("shardtide.dashboard.seconds", 20);
    browser.open(url + "/#/");
    browser.await("all workloads", "document.querySelectorAll('tbody tr').length >= 200");
    browser.run(
        """
        window.seen = [];
        const rows = new Map([...document.querySelectorAll('tbody tr')].map(r => [r.cells[2], r.cells[0].innerText]));
        for (const [cell, id] of rows) new MutationObserver(() => {
          window.seen.push([id + ' ' + cell.innerText, Date.now()]);
          if (window.seen.length > 2000) window.seen.shift();
        }).observe(cell, {childList: true});
        """);
    Map<String, Long> sent = new java.util.HashMap<>();
    List<Double> heaps = new ArrayList<>();
    List<Double> times = new ArrayList<>();
    long begin = System.nanoTime();
    for (int i = 0; i < seconds * PER_SECOND; i++) {
      int w = 1 + i % (WORKLOADS - 1);
      latest[w] =
          plan(latest[w].workloadId(), latest[w].generation() + 1, Optional.of(latest[w].planId()));
      sent.put(latest[w].workloadId() + " " + latest[w].generation(), System.currentTimeMillis());
      publish(log, latest[w]);
      if (i % (PER_SECOND * Math.max(1, seconds / 20)) == 0) {
        browser.run("gc()");
        heaps.add(
            ((Number) browser.run("return performance.memory.usedJSHeapSize")).doubleValue()
                / (1 << 20));
        times.add((System.nanoTime() - begin) / 3.6e12);
      }
      long next = begin + (i + 1) * 1_000_000_000L / PER_SECOND;
      Thread.sleep(Math.max(0, (next - System.nanoTime()) / 1_000_000));
    }
    for (int w = 1; w < WORKLOADS; w++) {
      browser.await(
          "the latest plan of each",
          "[...document.querySelectorAll('tbody tr')].find(r => r.cells[0].innerText === arguments[0]).cells[2].innerText === arguments[1]",
          latest[w].workloadId(),
          Long.toString(latest[w].generation()));
    }
    List<Long> waits = new ArrayList<>();
    for (Object one : (List<?>) browser.run("return window.seen")) {
      List<?> pair = (List<?>) one;
      Long at = sent.get((String) pair.get(0));
      if (at != null) {
        waits.add(((Number) pair.get(1)).longValue() - at);
      }
    }
    waits.sort(Comparator.naturalOrder());
    assertThat(waits).isNotEmpty();
    figure(
        "%d plans in %d s, from sending to the page: median %d ms, p99 %d ms, max %d ms",
        sent.size(),
        seconds,
        waits.get(waits.size() / 2),
        waits.get((int) (waits.size() * 0.99)),
        waits.get(waits.size() - 1));
    int half = heaps.size() / 2;
    figure(
        "heap after garbage collection: %.2f MiB at the start, %.2f MiB at half time, %.2f MiB at the end; slope of the second half %.2f MiB per hour",
        heaps.get(0),
        heaps.get(half),
        heaps.get(heaps.size() - 1),
        slope(times.subList(half, times.size()), heaps.subList(half, heaps.size())));
  }

  private static double slope(List<Double> x, List<Double> y) {
    double mx = x.stream().mapToDouble(v -> v).average().orElseThrow();
    double my = y.stream().mapToDouble(v -> v).average().orElseThrow();
    double up = 0;
    double down = 0;
    for (int i = 0; i < x.size(); i++) {
      up += (x.get(i) - mx) * (y.get(i) - my);
      down += (x.get(i) - mx) * (x.get(i) - mx);
    }
    return down == 0 ? 0 : up / down;
  }
}
