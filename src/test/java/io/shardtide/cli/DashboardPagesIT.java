package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.shardtide.client.Endpoint;
import io.shardtide.client.PlanSubscriber;
import io.shardtide.client.TrainerReports;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.domain.Change;
import io.shardtide.domain.DeviceCost;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.testing.Browser;
import io.shardtide.testing.Fixtures;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.openqa.selenium.Keys;

/**
 * The dashboard in a real browser, of a real planner on a real broker. Where there is no browser,
 * it skips. Screenshots of each view are written to {@code target/dashboard}.
 */
class DashboardPagesIT {
  private static final String WORKLOAD = "feed-ranking";
  private static final String HOSTILE = "w/%2F?#&\"><img src=x onerror=\"window.owned=1\">";
  private static final String TABLE =
      "<img src=x onerror=\"window.owned=1\"><script>owned=1</script>";
  private static final Path PICTURES = Path.of("target/dashboard");

  @TempDir private static Path folder;

  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;
  private static DemoPlanner planner;
  private static WorkloadPublisher publisher;
  private static PlanSubscriber plans;
  private static Browser browser;
  private static final Map<String, ShardingPlan> LATEST = new ConcurrentHashMap<>();
  private static ShardingPlan third;

  @BeforeAll
  static void start() throws Exception {
    assumeTrue(Browser.isThere(), "There is no chromium with chromedriver");
    kafka = EmbeddedKafka.start(folder.resolve("kafka"));
    registry = DevelopmentRegistry.start(0, Optional.of(folder));
    planner =
        DemoPlanner.start(kafka, registry, folder.resolve("state"), List.of(Fixtures.bundle()), 0);
    Endpoint endpoint = Endpoint.of(kafka.bootstrapServers(), registry.url());
    publisher = WorkloadPublisher.connect(endpoint, "test");
    plans =
        PlanSubscriber.start(
            endpoint,
            Optional.empty(),
            update -> LATEST.put(update.plan().workloadId(), update.plan()));
    change(WORKLOAD, 1, first());
    change(WORKLOAD, 2, List.of(Fixtures.upsert("clicks", 2_000_000, 64, 30)));
    change(WORKLOAD, 3, List.of(Fixtures.set(9, Fixtures.GIB)));
    third = LATEST.get(WORKLOAD);
    change(HOSTILE, 1, List.of(Fixtures.upsert(TABLE, 1000, 16, 3), Fixtures.set(2, Fixtures.GIB)));
    others();
    awaitPlan("video", 1);
    browser = Browser.start(folder);
    open("/");
  }

  @AfterAll
  static void stop() throws Exception {
    for (AutoCloseable one :
        new AutoCloseable[] {browser, plans, publisher, planner, registry, kafka}) {
      if (one != null) {
        one.close();
      }
    }
  }

  @BeforeEach
  void light() {
    browser.scheme("light");
  }

  @AfterEach
  void nothing_was_refused_by_the_policy_and_no_script_failed() {
    assertThat(browser.complaints().stream().filter(c -> !c.contains("401"))).isEmpty();
    assertThat(browser.run("return window.owned")).isNull();
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

  /** Has some more planned, without waiting. */
  private static void others() throws Exception {
    Random random = new Random(1);
    for (String name :
        List.of(
            "ads-ctr",
            "ads-cvr",
            "home-feed",
            "notifications",
            "search",
            "shop-similar",
            "video")) {
      List<Change> changes =
          new ArrayList<>(List.of(Fixtures.set(2 + random.nextInt(7), Fixtures.GIB)));
      for (int t = 0; t < 10 + random.nextInt(20); t++) {
        changes.add(Fixtures.upsert("t%02d".formatted(t), 10_000, 64, 1 + random.nextInt(50)));
      }
      send(name, changes, OptionalLong.empty());
    }
  }

  private static void send(String workload, List<Change> changes, OptionalLong expected)
      throws Exception {
    publisher
        .publish(
            new WorkloadChange(
                UUID.randomUUID(), workload, Fixtures.TIME, "test", expected, changes))
        .get(30, TimeUnit.SECONDS);
  }

  private static void change(String workload, long generation, List<Change> changes)
      throws Exception {
    send(workload, changes, OptionalLong.empty());
    awaitPlan(workload, generation);
  }

  private static void awaitPlan(String workload, long generation) {
    Awaitility.await("generation " + generation)
        .atMost(Duration.ofSeconds(60))
        .until(
            () -> LATEST.containsKey(workload) && LATEST.get(workload).generation() >= generation);
  }

  private static void open(String path, String... parts) {
    StringBuilder url = new StringBuilder(planner.url() + path);
    for (String part : parts) {
      url.append(browserEncoded(part));
    }
    browser.open(url.toString());
  }

  private static String browserEncoded(String text) {
    return java.net.URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  private static void openOverview() {
    open("/#/");
    browser.await(
        "rows",
        "document.querySelector('h1').innerText === 'Overview' && document.querySelectorAll('tbody tr').length >= 2");
  }

  private static void openStream() {
    open("/#/stream");
    browser.await(
        "entries",
        "document.querySelector('h1').innerText === 'The stream' && document.querySelectorAll('tbody tr').length");
  }

  private static void openWorkload() {
    openWorkload(WORKLOAD);
  }

  private static void openWorkload(String id) {
    open("/#/workload/", id);
    browser.await(
        "the plan",
        "document.querySelector('h1').innerText === arguments[0] && document.querySelectorAll('.picture [data-device]').length",
        id);
  }

  private static void inBothSchemes(String name) throws Exception {
    for (String scheme : List.of("light", "dark")) {
      browser.scheme(scheme);
      assertThat(browser.violations()).as(name + " " + scheme).isEmpty();
      browser.screenshot(PICTURES.resolve(name + "-" + scheme + ".png"));
    }
  }

  @Test
  void a_plan_appears_without_reload() throws Exception {
    openOverview();
    browser.run("window.before = 1");
    long generation = LATEST.get(WORKLOAD).generation() + 1;
    String row =
        "[...document.querySelectorAll('tbody tr')].find(r => r.cells[0].innerText === '%s').cells[2].innerText === '%d'"
            .formatted(WORKLOAD, generation);
    change(WORKLOAD, generation, List.of(Fixtures.upsert("late" + generation, 10_000, 32, 2)));
    browser.await("the new generation", row);
    assertThat(browser.run("return window.before")).as("the page is the same").isEqualTo(1L);
    inBothSchemes("overview");
  }

  @Test
  void rows_are_sorted_and_filtered() {
    openOverview();
    browser.run(
        "[...document.querySelectorAll('th button')].find(b => b.innerText === 'Tables').click()");
    assertThat(browser.count("th[aria-sort='descending']")).isEqualTo(1);
    assertThat(browser.text("tbody tr:first-child td")).isEqualTo(WORKLOAD);
    browser.run(
        "[...document.querySelectorAll('th button')].find(b => b.innerText === 'Tables').click()");
    assertThat(browser.text("tbody tr:first-child td")).isEqualTo(HOSTILE);
    browser.find("input[type=search]").sendKeys("feed-rank");
    browser.await("one row", "document.querySelectorAll('tbody tr').length === 1");
    assertThat(browser.text("tbody tr:first-child td")).isEqualTo(WORKLOAD);
  }

  @Test
  void a_workload_is_a_bar_for_each_device_with_shards_by_the_arrow_keys() throws Exception {
    openWorkload();
    ShardingPlan plan = LATEST.get(WORKLOAD);
    assertThat(browser.count(".picture [data-device]")).isEqualTo(plan.deviceCosts().size());
    browser.run("document.querySelector('[data-device=\"0\"]').focus()");
    browser.driver().switchTo().activeElement().sendKeys(Keys.ARROW_DOWN, Keys.ARROW_DOWN);
    assertThat(browser.text(".detail h3")).isEqualTo("Device 2");
    String shard =
        plan.shards().stream().filter(s -> s.device() == 2).findFirst().orElseThrow().table();
    assertThat(browser.text(".detail")).contains(shard);
    assertThat(browser.count("[data-device][aria-label*='bottleneck']")).isEqualTo(1);
    inBothSchemes("workload");
  }

  @Test
  void hostile_names_stay_text() throws Exception {
    openWorkload(HOSTILE);
    assertThat(browser.text("main")).contains(TABLE);
    browser.run(
        "[...document.querySelectorAll('main a')].find(a => a.innerText === 'why?').click()");
    browser.await("the story", "document.querySelector('.story')");
    assertThat(browser.text("main")).contains(TABLE);
    openStream();
    assertThat(browser.text("main")).contains(TABLE);
    assertThat(browser.count("img, main script, iframe")).isZero();
  }

  @Test
  void two_plans_are_compared_with_the_keyboard_only() throws Exception {
    openOverview();
    browser.run("document.activeElement.blur()");
    tabTo("a", WORKLOAD);
    press(Keys.ENTER);
    browser.await("the plan", "document.querySelectorAll('.picture [data-device]').length");
    for (int box = 0; box < 2; box++) {
      tabTo("input[type=checkbox]", "");
      press(Keys.SPACE);
    }
    tabTo("button", "Compare the two that are chosen");
    press(Keys.ENTER);
    browser.await(
        "the comparison", "document.querySelector('h1').innerText.startsWith('Two plans')");
    assertThat(browser.text("caption")).isEqualTo("What moved");
    inBothSchemes("compare");
  }

  @Test
  void what_moved_is_drawn_and_listed() throws Exception {
    openWorkload();
    browser.run(
        """
        const rows = [...document.querySelectorAll('tr')].filter(r => r.querySelector('input[type=checkbox]'));
        const of = g => rows.find(r => r.cells[1].innerText === g).querySelector('input');
        of('2').click();
        of('3').click();
        [...document.querySelectorAll('button')].find(b => b.innerText.startsWith('Compare the two')).click();
        """);
    browser.await(
        "the comparison", "document.querySelector('h1').innerText.startsWith('Two plans')");
    assertThat(browser.count("svg path[fill=none] title")).isPositive();
    assertThat(browser.count("tbody tr")).isPositive();
    assertThat(browser.text("main")).contains("8 → 9");
  }

  private static void press(CharSequence key) {
    browser.driver().switchTo().activeElement().sendKeys(key);
  }

  /** Presses Tab until the focus is on such an element; every such element must be reachable. */
  private static void tabTo(String selector, String text) {
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

  @Test
  void the_story_of_a_plan_is_told() throws Exception {
    open("/#/why/", third.planId());
    browser.await("the story", "document.querySelector('.story')");
    assertThat(browser.text(".story"))
        .contains("What happened", "from test", "No plan costs less than", "Bottleneck: device");
    inBothSchemes("why");
  }

  @Test
  void what_is_refused_is_in_the_stream_with_what_is_legal() throws Exception {
    openStream();
    send(WORKLOAD, List.of(Fixtures.drop("user_00")), OptionalLong.of(1));
    browser.await(
        "the rejection", "document.querySelector('main').innerText.includes('STALE_GENERATION')");
    send(
        "too-large",
        List.of(Fixtures.set(1, 1000), Fixtures.upsert("t", 1_000_000, 64, 1)),
        OptionalLong.empty());
    browser.await(
        "what does not fit",
        "[...document.querySelectorAll('tbody tr')].some(r => r.innerText.includes('too-large') && r.innerText.includes('short'))");
    browser.await("the lag", "document.getElementById('pulse').innerText.includes('lag 0')");
    inBothSchemes("stream");
    open("/#/");
    browser.await(
        "its health",
        "[...document.querySelectorAll('tbody tr')].some(r => r.innerText.includes('too-large') && r.innerText.includes('does not fit'))");
  }

  @Test
  void measurements_are_drawn_and_models_are_promoted_with_the_token() throws Exception {
    Endpoint endpoint = Endpoint.of(kafka.bootstrapServers(), registry.url());
    String other = Fixtures.otherBundle().modelId();
    try (ClusterOption.Connection connection =
        ClusterOption.connect(endpoint, Optional.empty(), () -> {})) {
      connection.write(
          "test",
          new ClusterOption.Written<>(
              connection.topics().costModels(),
              Fixtures.bundle().hardware(),
              Fixtures.otherBundle()));
    }
    Awaitility.await("plans with the other model")
        .atMost(Duration.ofSeconds(60))
        .until(() -> LATEST.get(WORKLOAD).modelId().equals(other));
    measure(endpoint, LATEST.get(WORKLOAD));
    open("/#/learning");
    browser.await("the points", "document.querySelectorAll('svg circle').length >= 60");
    browser.await(
        "the alarm", "document.querySelector('main').innerText.includes('the model is wrong')");
    browser.run("document.querySelectorAll('.picture')[1].scrollIntoView({block: 'end'})");
    inBothSchemes("learning");
    browser.find("button[aria-label^='Promote']").click();
    browser.await("a refusal", "document.querySelector('[role=status].bad')");
    assertThat(browser.text("[role=status].bad")).contains("enter the token first");
    browser.find("input[type=password]").sendKeys(planner.token());
    browser.find("button[aria-label^='Promote']").click();
    String first = Fixtures.bundle().modelId();
    browser.await(
        "the promotion",
        "[...document.querySelectorAll('[role=status]')].some(n => n.innerText.includes('from now on'))");
    Awaitility.await("plans with the first model")
        .atMost(Duration.ofSeconds(60))
        .until(() -> LATEST.get(WORKLOAD).modelId().equals(first));
    browser.await(
        "the decision",
        "document.querySelector('main').innerText.includes('a person promoted it')");
    browser.run("sessionStorage.clear()");
  }

  /** Says 40 times about what was predicted, and then half as much again. */
  private static void measure(Endpoint endpoint, ShardingPlan plan) throws Exception {
    Random random = new Random(1);
    try (var schemas = endpoint.connectRegistry();
        TrainerReports reports = TrainerReports.connect(endpoint, schemas, "trainer", "run")) {
      reports.adopted(plan, 0).get(30, TimeUnit.SECONDS);
      long step = 0;
      // Until the planner knows the plan, as a trainer would that takes a step in 200 ms.
      while (!answer("/api/learning").contains("\"points\":[{")) {
        report(reports, plan, ++step, 1);
        Thread.sleep(200);
      }
      for (int i = 0; i < 70; i++) {
        report(reports, plan, ++step, (i < 40 ? 1 : 1.5) * (1 + 0.02 * random.nextGaussian()));
      }
    }
  }

  private static void report(TrainerReports reports, ShardingPlan plan, long step, double factor)
      throws Exception {
    List<MeasuredDevice> devices = new ArrayList<>();
    for (DeviceCost cost : plan.deviceCosts()) {
      devices.add(
          new MeasuredDevice(
              cost.computeMs() * factor,
              cost.forwardCommMs() * factor,
              cost.backwardCommMs() * factor));
    }
    reports.measured(plan, step, 1, devices).get(30, TimeUnit.SECONDS);
  }

  private static String answer(String path) throws Exception {
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(URI.create(planner.url() + path)).build(),
            HttpResponse.BodyHandlers.ofString())
        .body();
  }

  @Test
  void pictures_and_tables_are_saved() throws Exception {
    openWorkload();
    browser.find("button[aria-label='Save plan of feed-ranking as SVG']").click();
    assertThat(Files.readString(browser.download("plan_of_feed-ranking.svg")))
        .startsWith("<svg")
        .contains("xmlns=\"http://www.w3.org/2000/svg\"", "Device 0");
    browser.find("button[aria-label='Save plan of feed-ranking as PNG']").click();
    assertThat(Files.readAllBytes(browser.download("plan_of_feed-ranking.png")))
        .startsWith(0x89, 'P', 'N', 'G');
    browser.find("button[aria-label='Save Tables as CSV']").click();
    assertThat(Files.readString(browser.download("Tables.csv")))
        .startsWith("Table,Rows,Columns,Lookups a sample,Size,Shards,Alone,Share of cost\r\n")
        .contains("clicks,2000000,64,30,512000000,");
  }
}
