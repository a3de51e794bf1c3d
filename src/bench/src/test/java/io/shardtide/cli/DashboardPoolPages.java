package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.pool.PoolUpdate;
import io.shardtide.testing.Browser;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.openqa.selenium.Keys;

/** Tests of the views of pools. */
abstract class DashboardPoolPages {
  private static final int NODES = 12;
  private static final String CURVES = ".chart[aria-label*='by number of devices']";
  private static final String PAST = ".chart[aria-label*='allocations']";

  private static boolean published;

  private final DashboardSite site;
  private final Browser browser;

  DashboardPoolPages(DashboardSite site) {
    this.site = site;
    browser = site.browser();
  }

  /** The first test also sees the navigation without pools. */
  @BeforeEach
  void publish() throws Exception {
    if (!published) {
      published = true;
      site.openTable("", "Overview");
      assertThat(browser.text("nav")).doesNotContain("Pools");
      site.publishPool();
      browser.await("the navigation", "document.querySelector('nav').innerText.includes('Pools')");
    }
    site.open("pool", DashboardSite.POOL);
    browser.await(
        "an allocation of all workloads",
        "document.querySelectorAll('.legend li').length > 3 && document.querySelector('h1')?.innerText === 'Pool gpus'");
  }

  private long nodes(String state) {
    return browser.count(".nodes .node." + state);
  }

  @Test
  void each_node_is_a_square_in_its_rack_with_its_workload() throws Exception {
    assertThat(browser.count(".nodes [role=group]")).isEqualTo(3);
    assertThat(browser.count(".nodes .node")).isGreaterThanOrEqualTo(NODES);
    assertThat(nodes("free")).isPositive();
    assertThat(browser.text(".nodes"))
        .contains(DashboardSite.POOLED.values())
        .contains("Rack r1", "free");
    browser.run("document.querySelector('.nodes').focus()");
    site.press(Keys.HOME, Keys.ARROW_RIGHT);
    assertChosen("node-02");
    site.press(Keys.ARROW_DOWN);
    assertThat(browser.text(".picture + .detail h3")).isNotEqualTo("Node node-02");
    browser.run("[...document.querySelectorAll('.nodes .node.taken')].at(-1).click()");
    String chosen = browser.find("[aria-selected=true]").getAttribute("aria-label");
    assertThat(DashboardSite.POOLED.values()).anyMatch(chosen::contains);
    assertThat(browser.text(".picture + .detail")).contains("Workload", "Devices");
  }

  private void assertChosen(String node) {
    assertThat(browser.text(".picture + .detail h3")).isEqualTo("Node " + node);
    assertThat(
            browser.run(
                "return document.getElementById(document.querySelector('.nodes').getAttribute('aria-activedescendant')).ariaLabel"))
        .asString()
        .startsWith(node + ", rack r1: ");
  }

  @Test
  void a_lost_node_is_shown_without_reload_and_the_history_has_its_allocation() throws Exception {
    browser.run("window.before = 1");
    assertThat(nodes("lost")).isZero();
    site.change(DashboardSite.POOL, DashboardSite.claim("search-ads", 24));
    awaitPast("Generation 2,");
    site.change(DashboardSite.POOL, new PoolUpdate.PoolNodeLost("node-01"));
    browser.await("the lost node", "document.querySelectorAll('.nodes .lost').length === 1");
    awaitPast("Generation 3,");
    browser.run("document.querySelector('.nodes').focus()");
    site.press(Keys.HOME);
    assertChosen("node-01");
    assertThat(browser.text(".picture + .detail")).contains("Lost");
    // Found and read at once: another allocation draws all nodes again.
    assertThat(browser.run("return document.querySelector('.nodes .lost').ariaLabel"))
        .asString()
        .contains(": lost");
    browser.await("the chart", "document.querySelector(\"%s svg\")".formatted(CURVES));
    size(1400, 1900);
    try {
      browser.await("the chart below", "document.querySelector(\"%s svg\")".formatted(PAST));
      site.checkBothSchemes("pool");
    } finally {
      browser.driver().executeCdpCommand("Emulation.clearDeviceMetricsOverride", Map.of());
    }
    browser.scheme("light");
    assertThat(browser.find(PAST).getAttribute("aria-valuetext"))
        .contains("search-ads 24, video-ranking 12, new-arrivals 4; 4 of 44 devices not used");
    browser.run("document.querySelector(\"%s\").focus()".formatted(PAST));
    site.press(Keys.HOME);
    assertThat(browser.find(PAST).getAttribute("aria-valuetext")).contains("16 of 48 devices");
    assertThat(browser.run("return window.before")).as("the page is the same").isEqualTo(1L);
  }

  /** Waits until the chart has an allocation, and the page has reported all of its generation. */
  private void awaitPast(String beginning) {
    browser.await(
        beginning,
        "!document.querySelector('main').innerText.includes('not allocated yet') && document.querySelector(\"%s\").getAttribute('aria-valuetext').startsWith(arguments[0])"
            .formatted(PAST),
        beginning);
  }

  /** Builds a picture of the page's own module. */
  @Test
  void many_nodes_are_small_squares_with_the_number_of_their_workload() throws Exception {
    browser.runAsync(
        """
            const done = arguments[0];
            Promise.all([import('/pool-picture.js'), import('/pool-plots.js')]).then(([{PoolPicture}, {Marks}]) => {
              const picture = new PoolPicture('many', new Marks());
              const nodes = [...Array(400).keys()].map((n) => ({
                name: 'n' + n, rack: 'r' + (n >> 6), state: n < 380 ? 'TAKEN' : n < 390 ? 'FREE' : 'LOST',
                workloadId: n < 380 ? 'w' + (n >> 5) : null, lostAt: null, transfer: null}));
              const workloads = [...Array(12).keys()].map((w) => ({
                workloadId: 'w' + w, reason: 'grows', nodes: nodes.filter((node) => node.workloadId === 'w' + w)}));
              picture.set({row: {devicesPerNode: 8, freeNodes: 10, lostNodes: 10}, nodes, workloads});
              document.querySelector('main > div').replaceChildren(document.querySelector('h1'), document.querySelector('h2'), picture.node);
              done();
            });
            """);
    assertThat(browser.text(".nodes [aria-label='n31, rack r0: w0, 8 devices']")).isEqualTo("1");
    assertThat(browser.text(".nodes [aria-label='n32, rack r0: w1, 8 devices']")).isEqualTo("2");
    assertThat(browser.text(".legend")).contains("w11: 28 nodes", "lost: 10 nodes");
    browser.run("document.querySelector('.nodes').focus()");
    site.press(Keys.END);
    assertThat(browser.text(".picture + .detail h3")).isEqualTo("Node n399");
    site.checkBothSchemes("pool-many");
  }

  @Test
  void hostile_names_of_nodes_racks_and_workloads_stay_text() {
    site.open("pool", DashboardSite.HOSTILE);
    browser.await(
        "its allocation",
        "document.querySelector('h1')?.innerText.includes('window.owned') && document.querySelectorAll('.nodes .taken').length === 2");
    assertThat(browser.text(".nodes")).contains(DashboardSite.HOSTILE_TABLE);
    assertThat(browser.count("main img, main script, iframe")).isZero();
  }

  @Test
  void curves_say_that_they_are_simulated_and_are_a_table_too() {
    browser.run("document.querySelector(\"%s\").scrollIntoView()".formatted(CURVES));
    browser.await("the chart", "document.querySelector(\"%s svg\")".formatted(CURVES));
    assertThat(
            browser.run("return document.querySelector(\"%s svg\").textContent".formatted(CURVES)))
        .asString()
        .contains("predicted samples/s (simulated)", "what it has", "video-ranking");
    assertThat(browser.find(CURVES).getAttribute("aria-label"))
        .contains("simulated", "video-ranking has 12 devices");
    site.click("summary", "Curves as a table");
    browser.await("its rows", "document.querySelectorAll('details[open] tbody tr').length > 6");
    assertThat(browser.text("details[open] tbody")).contains("/s (simulated)");
  }

  @Test
  void a_workload_and_its_pool_are_linked() throws Exception {
    assertThat(browser.text("main")).contains("Least devices", "Share of pool", "Reason");
    site.click("td a", "video-ranking");
    browser.await("the workload", "document.querySelector('h1').innerText === 'video-ranking'");
    assertThat(browser.text(".facts")).contains("gpus: 12 devices, claims 4 to 12; ");
    site.click(".facts a", "gpus");
    browser.await("the pool", "document.querySelector('h1').innerText === 'Pool gpus'");
    site.click("nav a", "Pools");
    browser.await("the row", "document.querySelectorAll('tbody tr').length === 2");
    assertThat(browser.text("tbody tr")).contains("gpus", "(simulated)");
    site.checkBothSchemes("pools");
    site.open("why", site.latest("video-ranking").planId());
    browser.await("the story", "document.querySelector('.facts') !== null");
    assertThat(browser.text(".facts")).containsPattern("12 of pool gpus, generation \\d+: \\D+");
  }

  private void size(int width, int height) {
    browser
        .driver()
        .executeCdpCommand(
            "Emulation.setDeviceMetricsOverride",
            Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", false));
  }

  @Test
  void a_narrow_screen_needs_no_scrolling_to_the_side() throws Exception {
    size(400, 2600);
    try {
      browser.await("the width", "innerWidth === 400");
      assertThat(
              browser.run(
                  "return document.documentElement.scrollWidth - document.documentElement.clientWidth"))
          .isEqualTo(0L);
      assertThat(browser.violations()).isEmpty();
      browser.screenshot(Path.of("target/dashboard/pool-narrow.png"));
    } finally {
      browser.driver().executeCdpCommand("Emulation.clearDeviceMetricsOverride", Map.of());
    }
  }
}
