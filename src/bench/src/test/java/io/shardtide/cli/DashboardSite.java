package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.CURRENT_FORECASTS;
import static io.shardtide.wire.TopicType.DEVICE_SPEEDS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.client.Endpoint;
import io.shardtide.client.PlanSubscriber;
import io.shardtide.client.TrainerReports;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.growth.TableForecasts;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.pool.Claim;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.state.PlanningSettings;
import io.shardtide.testing.Browser;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.wire.Extension;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.openqa.selenium.Keys;

/**
 * A real planner on a real broker with some workloads, and a browser that shows its dashboard. All
 * page tests share one.
 */
final class DashboardSite implements AutoCloseable {
  /** A workload with 41 tables, whose third plan moved shards from 8 to 9 devices. */
  static final String WORKLOAD = "feed-ranking";

  /** A workload with a table that only all devices together can hold, and with small ones. */
  static final String KINDS = "marketplace";

  /** A workload whose name a page must not parse. */
  static final String HOSTILE = "w/%2F?#&\"><img src=x onerror=\"window.owned=1\">";

  /** A workload with slow devices, see {@link #slowDown}. */
  static final String SLOW = "ads-cvr";

  /** A pool of twelve nodes of four devices in three racks, see {@link #publishPool}. */
  static final String POOL = "gpus";

  /** The name of its table. */
  static final String HOSTILE_TABLE =
      "<img src=x onerror=\"window.owned=1\"><script>owned=1</script>";

  private static final List<String> OTHERS =
      List.of("ads-ctr", SLOW, "home-feed", "notifications", "search", "shop-similar");

  /** The workloads of {@link #POOL}, by the devices that they can use. */
  static final SortedMap<Integer, String> POOLED =
      new TreeMap<>(Map.of(4, "new-arrivals", 12, "video-ranking", 24, "search-ads"));

  private static final List<Integer> WIDTHS = List.of(1_280, 1_400);

  /** Returns what does not fit: tables that most people read, and the page itself. */
  private static final String TOO_WIDE =
      """
      const page = document.documentElement;
      const tables = [...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth)
        .map(box => box.ariaLabel + ' of ' + box.scrollWidth + ' pixels').filter(name => /^(Plans of|Events)/.test(name));
      return page.scrollWidth > page.clientWidth ? [...tables, 'page of ' + page.scrollWidth] : tables;
      """;

  private static final Path SCREENSHOTS = Path.of("target/dashboard");
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final Map<String, ShardingPlan> latest = new ConcurrentHashMap<>();
  private final Endpoint endpoint;
  private final DemoPlanner planner;
  private final WorkloadPublisher publisher;
  private final Browser browser;
  private final ShardingPlan third;

  private DashboardSite(Path folder) throws Exception {
    try {
      CompletableFuture<Browser> starting = CompletableFuture.supplyAsync(() -> browser(folder));
      EmbeddedKafka kafka = opened(EmbeddedKafka.start(folder.resolve("kafka")));
      DevelopmentRegistry registry =
          opened(DevelopmentRegistry.start(0, Optional.of(folder.resolve("registry"))));
      endpoint = Endpoint.of(kafka.bootstrapServers(), registry.url());
      planner =
          opened(
              DemoPlanner.start(
                  kafka,
                  registry,
                  Map.of(),
                  folder.resolve("state"),
                  List.of(TestModels.bundle(), ModelFiles.shippedForNodes()),
                  PlanningSettings.eachGeneration(SearchSettings.DEFAULTS),
                  TestSettings.NO_TRAINING,
                  EnumSet.allOf(Extension.class),
                  0));
      publisher = opened(WorkloadPublisher.connect(endpoint, "test"));
      opened(
          PlanSubscriber.start(
              endpoint,
              Optional.empty(),
              update -> latest.put(update.plan().workloadId(), update.plan())));
      change(WORKLOAD, first());
      change(WORKLOAD, List.of(Fixtures.upsert("clicks", 2_000_000, 64, 30)));
      change(WORKLOAD, List.of(Fixtures.set(9, Fixtures.GIB)));
      third = latest(WORKLOAD);
      change(
          HOSTILE,
          List.of(Fixtures.upsert(HOSTILE_TABLE, 1000, 16, 3), Fixtures.set(2, Fixtures.GIB)));
      change(KINDS, kinds());
      publishOthers();
      browser = opened(starting.get(1, TimeUnit.MINUTES));
      browser.open(planner.url() + "/");
    } catch (Exception e) {
      close();
      throw e;
    }
  }

  private static Browser browser(Path folder) {
    try {
      return Browser.start(folder);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Starts a site with its files in a folder. */
  static DashboardSite start(Path folder) throws Exception {
    return new DashboardSite(folder);
  }

  private <C extends AutoCloseable> C opened(C closeable) {
    opened.push(closeable);
    return closeable;
  }

  private static List<Change> first() {
    List<Change> changes = new ArrayList<>(List.of(Fixtures.set(8, Fixtures.GIB)));
    String[] kinds = {"user", "item", "shop", "page"};
    for (int t = 0; t < 40; t++) {
      changes.add(
          Fixtures.upsert(
              "%s_%02d".formatted(kinds[t % 4], t),
              15_000L * (1 + t * 7 % 40),
              16 + 16 * (t % 4),
              1 + t * t % 37));
    }
    return changes;
  }

  /** Returns tables of all sizes on two nodes of four devices. */
  private static List<Change> kinds() {
    List<Change> changes = new ArrayList<>();
    changes.add(
        new Change.ClusterSet(
            new ClusterSpec(
                8, 60 * Fixtures.GIB, 16_384, 4, ModelFiles.shippedForNodes().hardware())));
    changes.add(Fixtures.upsert("member_id", 1L << 34, 4, 20));
    changes.add(Fixtures.upsert("listing_id", 40_000_000, 128, 60));
    for (int t = 0; t < 12; t++) {
      changes.add(Fixtures.upsert("category_%02d".formatted(t), 200 + t, 128, 150));
    }
    return changes;
  }

  private void publishOthers() throws Exception {
    Random random = new Random(1);
    for (String name : OTHERS) {
      List<Change> changes =
          new ArrayList<>(List.of(Fixtures.set(2 + random.nextInt(7), Fixtures.GIB)));
      for (int t = 0; t < 10 + random.nextInt(20); t++) {
        changes.add(Fixtures.upsert("t%02d".formatted(t), 10_000, 64, 1 + random.nextInt(50)));
      }
      publish(name, changes);
    }
  }

  Browser browser() {
    return browser;
  }

  DemoPlanner planner() {
    return planner;
  }

  Endpoint endpoint() {
    return endpoint;
  }

  /** Returns the latest plan of a workload that has one. */
  ShardingPlan latest(String workload) {
    return latest.get(workload);
  }

  /** Returns the plan for generation 3 of {@link #WORKLOAD}. */
  ShardingPlan third() {
    return third;
  }

  /** Publishes changes without waiting for the plan. */
  void publish(String workload, List<Change> changes) throws Exception {
    publish(workload, changes, OptionalLong.empty());
  }

  void publish(String workload, List<Change> changes, OptionalLong expected) throws Exception {
    publisher
        .publish(
            new WorkloadChange(
                UUID.randomUUID(), workload, Fixtures.TIME, "test", expected, changes))
        .get(30, TimeUnit.SECONDS);
  }

  /** Publishes changes that lead to the next generation, and waits for its plan. */
  void change(String workload, List<Change> changes) throws Exception {
    long next = latest.containsKey(workload) ? latest(workload).generation() + 1 : 1;
    publish(workload, changes);
    awaitPlan(workload, next);
  }

  private void awaitPlan(String workload, long generation) {
    Awaitility.await("generation " + generation)
        .atMost(PATIENCE)
        .pollInterval(Duration.ofMillis(20))
        .until(() -> latest.containsKey(workload) && latest(workload).generation() >= generation);
  }

  /** Publishes workloads and a pool on which each has a claim, and one with names not to parse. */
  void publishPool() throws Exception {
    String hardware = ModelFiles.shippedForNodes().hardware();
    List<PoolUpdate> updates = new ArrayList<>();
    List<PoolNode> nodes = new ArrayList<>();
    for (int n = 1; n <= 12; n++) {
      nodes.add(new PoolNode("node-%02d".formatted(n), "r" + (1 + (n - 1) / 4)));
    }
    updates.add(new PoolUpdate.PoolSet(Pool.of(4, 16 * Fixtures.GIB, 0, hardware, nodes)));
    for (Map.Entry<Integer, String> workload : POOLED.entrySet()) {
      List<Change> changes = new ArrayList<>();
      changes.add(
          new Change.ClusterSet(new ClusterSpec(4, 16 * Fixtures.GIB, 65_536, 4, hardware)));
      for (int t = 0; t < workload.getKey(); t++) {
        changes.add(
            Fixtures.upsert(
                "t%02d".formatted(t), 200_000L * (1 + t % 5), 64 + 32 * (t % 3), 5 + 7 * t % 60));
      }
      change(workload.getValue(), changes);
      updates.add(claim(workload.getValue(), Math.min(16, workload.getKey())));
    }
    change(POOL, updates.toArray(PoolUpdate[]::new));
    change(
        HOSTILE,
        new PoolUpdate.PoolSet(
            Pool.of(
                1,
                Fixtures.GIB,
                0,
                TestModels.bundle().hardware(),
                List.of(new PoolNode(HOSTILE_TABLE, HOSTILE), new PoolNode("b", HOSTILE)))),
        new PoolUpdate.ClaimSet(new Claim(HOSTILE, 2, 2, 1, 0)));
  }

  /** Returns a claim of a workload of {@link #POOL}. */
  static PoolUpdate claim(String workload, int mostDevices) {
    return new PoolUpdate.ClaimSet(new Claim(workload, 4, mostDevices, 1, 0));
  }

  /** Publishes an event of a pool. */
  void change(String pool, PoolUpdate... updates) throws Exception {
    write(
        POOL_CHANGES,
        new PoolChange(UUID.randomUUID(), pool, Fixtures.TIME, "test", List.of(updates)));
  }

  /** Publishes a model, and waits until {@link #WORKLOAD} has a plan with its predictions. */
  void publishOtherModel() throws Exception {
    write(COST_MODELS, TestModels.otherBundle());
    awaitModel(TestModels.otherBundle().modelId());
  }

  /** Publishes speeds of devices as the feedback topology does, and waits for the plan for them. */
  ShardingPlan slowDown(List<DeviceSpeed> slow) throws Exception {
    awaitPlan(SLOW, 1);
    write(DEVICE_SPEEDS, new DeviceSpeeds(SLOW, latest(SLOW).planId(), Fixtures.TIME, slow));
    Awaitility.await("the plan for slow devices")
        .atMost(PATIENCE)
        .until(() -> latest(SLOW).origin().slow().equals(slow));
    return latest(SLOW);
  }

  /** Publishes forecasts as the growth topology does. */
  void forecast(TableForecasts forecasts) throws Exception {
    write(CURRENT_FORECASTS, forecasts);
  }

  private <V> void write(TopicType<V> type, V value) throws Exception {
    try (KafkaLogRecords log = new KafkaLogRecords(endpoint)) {
      log.write("test", List.of(log.record(type, value)));
    }
  }

  /** Waits until the latest plan of {@link #WORKLOAD} is based on a model. */
  void awaitModel(String modelId) {
    Awaitility.await("plans of model " + modelId)
        .atMost(PATIENCE)
        .until(() -> latest(WORKLOAD).origin().modelId().equals(modelId));
  }

  /**
   * Reports 40 steps of about the predicted cost of the latest plan, then 30 that are 1.5 times as
   * slow.
   */
  void measure(String workload) throws Exception {
    ShardingPlan plan = latest(workload);
    Random random = new Random(1);
    try (var schemas = endpoint.connectRegistry();
        TrainerReports reports = TrainerReports.connect(endpoint, schemas, "trainer", "run")) {
      reports.adopted(plan, 0).get(30, TimeUnit.SECONDS);
      AtomicLong step = new AtomicLong();
      // The planner may not know the plan yet: it sets measurements of an unknown plan aside.
      Awaitility.await("the first measurement")
          .atMost(PATIENCE)
          .pollInterval(Duration.ofMillis(200))
          .until(
              () -> {
                report(reports, plan, step.incrementAndGet(), 1);
                return points(workload) > 0;
              });
      for (int i = 0; i < 70; i++) {
        double factor = (i < 40 ? 1 : 1.5) * (1 + 0.02 * random.nextGaussian());
        report(reports, plan, step.incrementAndGet(), factor);
      }
    }
  }

  /** Returns how many measurements of a workload the browser gets from the server. */
  private long points(String workload) {
    return ((Number)
            browser.runAsync(
                "const [id, done] = arguments; fetch('/api/learning').then(r => r.json()).then(views =>"
                    + " done(views.flatMap(v => v.residuals).filter(l => l.workloadId === id).flatMap(l => l.points).length))",
                workload))
        .longValue();
  }

  /** Reports a step; returns when the report is on the log, so that no two have the same time. */
  private static void report(TrainerReports reports, ShardingPlan plan, long step, double factor)
      throws Exception {
    List<MeasuredDevice> devices = new ArrayList<>();
    for (DeviceCost cost : plan.prediction().deviceCosts()) {
      devices.add(
          new MeasuredDevice(
              cost.computeMs() * factor,
              cost.forwardCommMs() * factor,
              cost.backwardCommMs() * factor));
    }
    reports.measured(plan, step, 1, devices).get(30, TimeUnit.SECONDS);
  }

  /** Opens a view, even if it is open already, without loading the page; encodes each part. */
  void open(String... parts) {
    StringBuilder path = new StringBuilder("#");
    for (String part : parts) {
      path.append('/').append(URLEncoder.encode(part, StandardCharsets.UTF_8).replace("+", "%20"));
    }
    String hash = path.length() == 1 ? "#/" : path.toString();
    if (Boolean.TRUE.equals(browser.run("return location.hash === arguments[0]", hash))) {
      browser.run("location.hash = '#/none'");
      browser.await("no view", "document.querySelector('.problem')");
    }
    browser.run(
        "document.querySelector('main').replaceChildren(); location.hash = arguments[0]", hash);
  }

  /** Opens a view, and waits for its heading and at least one row of a table. */
  void openTable(String path, String heading) {
    open(path);
    browser.await(
        heading,
        "document.querySelector('h1')?.innerText === arguments[0] && document.querySelectorAll('tbody tr').length",
        heading);
  }

  void openWorkload(String id) {
    open("workload", id);
    browser.await(
        "the plan",
        "document.querySelector('h1')?.innerText === arguments[0] && document.querySelector('.chart svg')",
        id);
  }

  /** Clicks the first element of a selector with this text. */
  void click(String selector, String text) {
    assertThat(
            browser.run(
                "const e = [...document.querySelectorAll(arguments[0])].find(n => n.innerText === arguments[1]); e?.click(); return !!e",
                selector,
                text))
        .as("%s with the text %s", selector, text)
        .isEqualTo(true);
  }

  /** Sends keys to the element that has the focus. */
  void press(CharSequence... keys) {
    browser.driver().switchTo().activeElement().sendKeys(keys);
  }

  /** Presses Tab until such an element has the focus. */
  void tabTo(String selector, String text) {
    for (int i = 0; i < 200; i++) {
      press(Keys.TAB);
      if (Boolean.TRUE.equals(
          browser.run(
              "const a = document.activeElement; return a.matches(arguments[0]) && a.innerText === arguments[1] && !a.checked",
              selector,
              text))) {
        return;
      }
    }
    throw new AssertionError("The keyboard does not reach %s \"%s\"".formatted(selector, text));
  }

  /**
   * Checks the page's accessibility and takes a screenshot, in the light and the dark scheme; only
   * colours depend on the scheme. The light one is taken from top to bottom in two widths.
   */
  void checkBothSchemes(String name) throws Exception {
    browser.scheme("light");
    assertThat(browser.violations()).as(name + ", light").isEmpty();
    browser.screenshot(SCREENSHOTS.resolve(name + "-light.png"));
    for (int width : WIDTHS) {
      browser.wholePage(width);
      assertThat(browser.run(TOO_WIDE)).as("%s, %d pixels", name, width).isEqualTo(List.of());
      browser.screenshot(SCREENSHOTS.resolve("%s-%d.png".formatted(name, width)));
    }
    browser.window();
    browser.scheme("dark");
    assertThat(browser.violations("color-contrast")).as(name + ", dark").isEmpty();
    browser.screenshot(SCREENSHOTS.resolve(name + "-dark.png"));
  }

  @Override
  public void close() throws IOException {
    while (!opened.isEmpty()) {
      try {
        opened.pop().close();
      } catch (Exception e) {
        throw new IOException("The site did not close", e);
      }
    }
  }
}
