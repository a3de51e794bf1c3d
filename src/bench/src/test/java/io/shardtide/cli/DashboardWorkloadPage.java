package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.growth.Fill;
import io.shardtide.growth.FillHistory;
import io.shardtide.growth.MemoryEnd;
import io.shardtide.growth.Range;
import io.shardtide.growth.TableForecast;
import io.shardtide.growth.TableForecasts;
import io.shardtide.growth.TableGrowth;
import io.shardtide.growth.TableInputs;
import io.shardtide.plan.CostPart;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Browser;
import io.shardtide.testing.Fixtures;
import io.shardtide.workload.ShardKind;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.openqa.selenium.Keys;
import org.openqa.selenium.interactions.Actions;

/** Tests of the view of a workload. */
abstract class DashboardWorkloadPage {
  private final DashboardSite site;
  private final Browser browser;

  DashboardWorkloadPage(DashboardSite site) {
    this.site = site;
    browser = site.browser();
  }

  @Test
  void devices_are_chosen_by_the_arrow_keys_and_the_mouse() throws Exception {
    site.openWorkload(DashboardSite.WORKLOAD);
    ShardingPlan plan = site.latest(DashboardSite.WORKLOAD);
    int devices = plan.prediction().deviceCosts().size();
    assertThat(browser.find(".chart").getAttribute("aria-valuemax"))
        .isEqualTo(Integer.toString(devices - 1));
    browser.run("document.querySelector('.chart').focus()");
    site.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN);
    assertDetailOf(2, plan);
    assertThat(browser.find(".chart").getAttribute("aria-valuetext"))
        .startsWith("Device 2: ")
        .contains("backward communication", "idle", "forward communication", "memory");
    site.checkBothSchemes("workload");
    site.press(Keys.END);
    assertDetailOf(devices - 1, plan);
    new Actions(browser.driver()).moveToElement(browser.find(".chart"), -100, -60).perform();
    browser.await(
        "another device", "document.querySelector('.chart').ariaValueNow < " + (devices - 1));
    browser.await(
        "its shards",
        "document.querySelector('.detail h3').innerText === 'Device ' + document.querySelector('.chart').ariaValueNow");
  }

  private void assertDetailOf(int device, ShardingPlan plan) {
    assertThat(browser.text(".detail h3")).isEqualTo("Device " + device);
    assertThat(
            plan.shards().stream()
                .filter(s -> s.device() == device || s.isCopied())
                .map(Shard::table))
        .allSatisfy(table -> assertThat(browser.text(".detail")).contains(table));
  }

  @Test
  void rows_are_listed_and_drawn_and_a_copy_is_shown_once() throws Exception {
    site.openWorkload(DashboardSite.KINDS);
    ShardingPlan plan = site.latest(DashboardSite.KINDS);
    List<Shard> rows =
        ofKind(plan, ShardKind.ROW_WISE).stream()
            .filter(shard -> shard.table().equals("member_id"))
            .toList();
    String copied = ofKind(plan, ShardKind.DATA_PARALLEL).get(0).table();
    assertThat(rows).hasSize(plan.prediction().deviceCosts().size());
    assertThat(browser.text("main")).contains("row_wise", "data_parallel");
    browser.run("document.querySelector('.chart').focus()");
    site.press(Keys.ARROW_DOWN);
    Shard second = rows.get(1);
    assertThat(browser.text(".detail"))
        .contains(
            "%s, row_wise: columns 0 to %d, rows %,d to %,d"
                .formatted(
                    second.table(),
                    second.columns() - 1,
                    second.rowOffset(),
                    second.region().rowEnd() - 1))
        .contains(copied + ", data_parallel: a copy, as on every device");
    draw(second.table());
    assertThat(browser.count(".cut rect")).isEqualTo(rows.size());
    assertThat(browser.count(".cut .chosen")).isEqualTo(1);
    assertThat(browser.text(".cut")).contains("device 1", "on devices 0 to 7");
    site.checkBothSchemes("kinds");
    draw(copied);
    assertThat(browser.count(".cut rect")).isEqualTo(1);
    assertThat(browser.text(".cut")).contains("a copy on every device");
  }

  private static List<Shard> ofKind(ShardingPlan plan, ShardKind kind) {
    return plan.shards().stream().filter(shard -> shard.kind() == kind).toList();
  }

  private void draw(String table) {
    browser.run(
        "[...document.querySelectorAll('button')].find(b => b.ariaLabel?.startsWith('Draw the ') && b.ariaLabel.endsWith(' of ' + arguments[0])).click()",
        table);
  }

  /** Returns what was reported of a table that took in 2,000 ids a day for 40 days. */
  private static TableInputs grown() {
    FillHistory history = FillHistory.of(new Fill(daysBefore(40), 10_000));
    for (int days = 39; days >= 0; days--) {
      history = history.with(new Fill(daysBefore(days), 90_000 - 2_000 * days));
    }
    return new TableInputs(new TableGrowth(history, 125_000, 400_000, daysBefore(3)), 0, false, 8);
  }

  private static long daysBefore(int days) {
    return Fixtures.TIME.minus(Duration.ofDays(days)).toEpochMilli();
  }

  @Test
  void forecasts_of_hash_tables_are_shown_as_they_come() throws Exception {
    site.openWorkload(DashboardSite.KINDS);
    assertThat(browser.text("main")).doesNotContain("Hash tables");
    Range soon = new Range(2.6, 3.2, 4.1);
    Range now = new Range(0, 0, 0);
    Range ids = new Range(90_000, 91_000.4, 1_236_000);
    site.forecast(
        new TableForecasts(
            DashboardSite.KINDS,
            "report",
            Fixtures.TIME,
            1,
            List.of(
                new TableForecast(
                    "category_00",
                    960,
                    1_000,
                    1_000,
                    0,
                    0,
                    0,
                    ids,
                    ids,
                    ids,
                    Optional.of(now),
                    Optional.empty()),
                new TableForecast(
                    "listing_id",
                    90_000,
                    125_000,
                    400_000,
                    0,
                    0,
                    0,
                    new Range(92_400, 93_000, 93_800),
                    new Range(104_000, 109_000, 117_000),
                    new Range(138_000, 152_000, 185_000),
                    Optional.of(soon),
                    Optional.of(grown())),
                new TableForecast(
                    "member_id",
                    110_000,
                    100_000,
                    100_000,
                    0,
                    0,
                    0,
                    ids,
                    ids,
                    ids,
                    Optional.empty(),
                    Optional.empty())),
            List.of(),
            Optional.of(new MemoryEnd(soon, Fixtures.GIB)),
            Optional.empty()));
    browser.await("the forecasts", "document.querySelectorAll('.fill').length === 3");
    browser.run("document.querySelector('.fill').scrollIntoView({block: 'center'})");
    browser.await(
        "the rows, which are laid out in view",
        "document.querySelector('main').innerText.includes('not expected')");
    assertThat(browser.text("main"))
        .contains(
            "Memory holds the tables for 3.2 days (2.6 to 4.1) after the report",
            "1.0 GiB are missing",
            "72.0 %",
            "91,000 (90,000 to 1.24M)",
            "3.2 days (2.6 to 4.1)",
            "400,000",
            "110.0 %",
            "not expected");
    assertThat(browser.count(".fill .all")).as("full, and makes no room by itself").isEqualTo(1);
    assertDrawn();
    site.checkBothSchemes("forecasts");
    site.click("summary", "Ids over time as a table");
    browser.await(
        "29 reported and 3 forecast",
        "[...document.querySelectorAll('details')].at(-1).querySelectorAll('tbody tr').length === 32");
  }

  /** The table that is full first is drawn, with a forecast alone; then the one with a history. */
  private void assertDrawn() {
    String chart = "document.querySelector('.chart[aria-label^=\"Ids of \"]')";
    assertThat(browser.run("return %s.ariaLabel".formatted(chart)))
        .isEqualTo(
            "Ids of category_00: 960 on 2026-11-21; 1,000 slots; forecast:"
                + " 91,000 (90,000 to 1.24M) on 2026-11-22, 91,000 (90,000 to 1.24M) on 2026-11-28,"
                + " 91,000 (90,000 to 1.24M) on 2026-12-19; full");
    browser.run(
        "[...document.querySelectorAll('button')].find(b => b.ariaLabel?.startsWith('Draw the 90,000 ids of listing_id')).focus()");
    site.press(Keys.ENTER);
    browser.await(
        "the other table", "%s.ariaLabel.startsWith('Ids of listing_id: ')".formatted(chart));
    assertThat(browser.run("return %s.ariaLabel".formatted(chart)))
        .asString()
        .contains(
            ", 90,000 on 2026-11-21; 125,000 slots; ",
            "; full on 2026-11-24 (2026-11-2",
            "; resized to 400,000 slots on 2026-11-18");
    assertThat(browser.text("tr.marked:has(.fill)")).startsWith("listing_id");
    browser.await(
        "the picture",
        "['slots given', 'full: 80 %% of the slots', 'resized 2026-11-18', 'full 2026-11-24'].every(t => %s.textContent.includes(t))"
            .formatted(chart));
    new Actions(browser.driver())
        .moveToElement(browser.find(".chart[aria-label^='Ids of ']"), -200, 0)
        .perform();
    browser.await(
        "what was reported then",
        "/2026-1\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d\\d\\d,\\d+ ids/.test(%s.textContent)"
            .formatted(chart));
  }

  /** Each chart has its data as a table, for those who cannot see it. */
  @Test
  void the_costs_of_the_devices_are_listed() {
    site.openWorkload(DashboardSite.WORKLOAD);
    ShardingPlan plan = site.latest(DashboardSite.WORKLOAD);
    site.click("summary", "Devices as a table");
    browser.await(
        "a row for each device",
        "document.querySelectorAll('details tbody tr').length === "
            + plan.prediction().deviceCosts().size());
    assertThat(browser.text("details tbody"))
        .contains("%.2f ms".formatted(plan.prediction().deviceCosts().get(0).computeMs()), "yes");
  }

  @Test
  void an_older_plan_is_opened_from_the_chart_by_the_keyboard() {
    site.openWorkload(DashboardSite.WORKLOAD);
    browser.run("document.querySelectorAll('.chart')[1].focus()");
    site.press(Keys.HOME, Keys.ENTER);
    browser.await(
        "the first plan", "document.querySelector('h2').innerText.includes('generation 1')");
    site.click("a", "Show the latest plan");
    browser.await("the latest plan", "document.querySelector('h2').innerText === 'Latest plan'");
  }

  @Test
  void hostile_names_stay_text() {
    site.openWorkload(DashboardSite.HOSTILE);
    assertThat(browser.text("main")).contains(DashboardSite.HOSTILE_TABLE);
    site.click("a", "why?");
    browser.await("the explanation", "document.querySelector('.story')");
    assertThat(browser.text("main")).contains(DashboardSite.HOSTILE_TABLE);
    site.openTable("events", "Events");
    assertThat(browser.text("main")).contains(DashboardSite.HOSTILE_TABLE);
    assertThat(browser.count("img, main script, iframe")).isZero();
  }

  /** Builds two charts of the page's own module, one of them far below the visible part. */
  @Test
  void a_chart_is_drawn_when_it_comes_near_the_visible_part_or_is_saved() {
    site.openTable("", "Overview");
    assertThat(
            browser.runAsync(
                """
                    const done = arguments[0];
                    import('/chart.js').then(async ({Chart}) => {
                      const option = () => ({xAxis: {data: ['a']}, yAxis: {}, series: [{type: 'bar', data: [1]}]});
                      const charts = ['near', 'far', 'saved'].map((name) => new Chart(name));
                      charts.forEach((chart) => chart.show(option, {label: chart.name, height: 100}));
                      const space = document.createElement('div');
                      space.style.height = '5000px';
                      document.querySelector('main').replaceChildren(charts[0].node, space, charts[1].node, charts[2].node);
                      const saved = (await charts[2].svg()).text;
                      window.drawn = () => charts.filter((chart) => chart.canvas.querySelector('svg')).map((chart) => chart.name).join();
                      window.far = charts[1].node;
                      done(saved);
                    });
                    """))
        .asString()
        .startsWith("<svg");
    browser.await("the chart at the top", "drawn() === 'near,saved'");
    browser.run("far.scrollIntoView()");
    browser.await("the chart below", "drawn() === 'near,far,saved'");
  }

  /** Those that are far below the visible part of the page, too. */
  @Test
  void charts_are_printed_on_white_in_the_dark_scheme() {
    String ground = "querySelector('svg rect')?.getAttribute('fill')";
    browser.scheme("dark");
    site.openWorkload(DashboardSite.WORKLOAD);
    browser.await(
        "a dark chart", "document.querySelector('.chart').%s === '#1c2024'".formatted(ground));
    browser
        .driver()
        .executeCdpCommand(
            "Emulation.setEmulatedMedia",
            Map.of(
                "media",
                "print",
                "features",
                List.of(Map.of("name", "prefers-color-scheme", "value", "dark"))));
    browser.await(
        "white charts",
        "[...document.querySelectorAll('.chart')].filter(c => c.offsetParent).map(c => c.%s).join() === '#ffffff,#ffffff'"
            .formatted(ground));
    browser.print(false);
  }

  /** ECharts keeps each of its charts that is not disposed of. */
  @Test
  void a_chart_that_has_left_the_page_is_disposed_of() {
    site.openWorkload(DashboardSite.WORKLOAD);
    browser.run("window.left = document.querySelector('.chart > div')");
    assertThat(browser.run("return !!echarts.getInstanceByDom(left)")).isEqualTo(true);
    site.openTable("events", "Events");
    browser.await("its end", "!echarts.getInstanceByDom(left)");
  }

  @Test
  void slow_devices_are_named_marked_and_listed() throws Exception {
    DeviceSpeed speed = new DeviceSpeed(1, CostPart.COMPUTATION, 2, 0.05, Fixtures.TIME);
    site.slowDown(List.of(speed));
    site.openWorkload(DashboardSite.SLOW);
    browser.await(
        "the speed", "document.querySelector('main').innerText.includes('2.0 times slower')");
    assertThat(browser.text("main")).contains("Slow: device 1 computes 2.0 times slower since ");
    assertThat(browser.run("return document.querySelector('.chart svg').textContent"))
        .asString()
        .contains("1 slow");
    browser.run("document.querySelector('.chart').focus()");
    site.press(Keys.ARROW_DOWN);
    assertThat(browser.find(".chart").getAttribute("aria-valuetext"))
        .startsWith("Device 1: ")
        .contains("device 1 computes 2.0 times slower");
    site.checkBothSchemes("slow");
    site.openTable("", "Overview");
    browser.await(
        "the problem",
        "[...document.querySelectorAll('tbody tr')].find(r => r.cells[0].innerText === arguments[0])?.querySelector('span[title]').title === arguments[1]",
        DashboardSite.SLOW,
        "The latest plan gives slow devices less work: " + speed.describe());
  }

  /** The model of the test does not say how uncertain it is. */
  @Test
  void a_step_is_shown_with_its_standard_deviation() {
    site.openTable("", "Overview");
    assertThat(
            browser.runAsync(
                """
                    const done = arguments[0];
                    import('/text.js').then(({stepOf}) =>
                      done([0, 0.25].map((uncertaintyMs) => stepOf({predictedMs: 3, insight: {uncertaintyMs}}))));
                    """))
        .isEqualTo(List.of("3.00 ms", "3.00 ms ± 0.250 ms"));
  }

  @Test
  void charts_and_tables_are_saved() throws Exception {
    site.openWorkload(DashboardSite.WORKLOAD);
    browser.find("button[aria-label='Save plan of feed-ranking as SVG']").click();
    assertThat(Files.readString(browser.download("plan_of_feed-ranking.svg")))
        .startsWith("<svg")
        .contains("xmlns=\"http://www.w3.org/2000/svg\"", "backward communication");
    browser.find("button[aria-label='Save plan of feed-ranking as PNG']").click();
    assertThat(Files.readAllBytes(browser.download("plan_of_feed-ranking.png")))
        .startsWith(0x89, 'P', 'N', 'G');
    browser.find("button[aria-label='Save Tables as CSV']").click();
    assertThat(Files.readString(browser.download("Tables.csv")))
        .startsWith(
            "Table,Rows,Columns,Pooling factor,Size,Sharding,Shards,Predicted alone,Share of cost\r\n")
        .contains("clicks,2000000,64,30,512000000,");
  }
}
