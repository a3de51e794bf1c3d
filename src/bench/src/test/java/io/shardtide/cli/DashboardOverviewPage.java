package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.testing.Browser;
import io.shardtide.testing.Fixtures;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests of the view of all workloads, and of the table that all views use. */
abstract class DashboardOverviewPage {
  private static final int BURST = 40;

  private final DashboardSite site;
  private final Browser browser;

  DashboardOverviewPage(DashboardSite site) {
    this.site = site;
    browser = site.browser();
  }

  @Test
  void a_plan_appears_without_reload() throws Exception {
    site.openTable("", "Overview");
    browser.run("window.before = 1");
    long generation = site.latest(DashboardSite.WORKLOAD).generation() + 1;
    site.change(
        DashboardSite.WORKLOAD, List.of(Fixtures.upsert("late" + generation, 10_000, 32, 2)));
    awaitGeneration(DashboardSite.WORKLOAD, generation);
    assertThat(browser.run("return window.before")).as("the page is the same").isEqualTo(1L);
    site.checkBothSchemes("overview");
  }

  /** Builds the view of the page's own module with one of its workloads. */
  @Test
  void where_there_are_few_workloads_the_latest_plan_is_drawn_and_each_has_its_steps_over_time()
      throws Exception {
    site.openTable("", "Overview");
    assertThat(browser.count(".chart svg")).as("where there are many").isZero();
    browser.runAsync(
        """
        const [id, done] = arguments;
        Promise.all([import('/lists.js'), import('/live.js')]).then(([{overview}, {state}]) => {
          const rows = state.rows;
          state.rows = new Map([[id, rows.get(id)]]);
          document.querySelector('main').replaceChildren(overview().node);
          state.rows = rows;
          done();
        });
        """,
        DashboardSite.WORKLOAD);
    browser.await("the picture", "document.querySelector('.chart svg')");
    assertThat(browser.text("main h2")).isEqualTo("Latest plan of " + DashboardSite.WORKLOAD);
    assertThat(browser.find("svg.line").getAttribute("aria-label"))
        .startsWith("Predicted steps of the latest ");
    site.checkBothSchemes("overview-one");
  }

  /** Rows are updated in batches; after a burst each row shows its latest generation. */
  @Test
  void no_update_of_a_burst_is_lost() throws Exception {
    site.openTable("", "Overview");
    List<String> workloads = List.of("ads-ctr", "search", "home-feed");
    for (int i = 0; i < BURST; i++) {
      site.publish(
          workloads.get(i % workloads.size()),
          List.of(Fixtures.upsert("burst", 10_000 + i, 32, 2)));
    }
    for (int w = 0; w < workloads.size(); w++) {
      int changes = (BURST - w + workloads.size() - 1) / workloads.size();
      awaitGeneration(workloads.get(w), 1 + changes);
    }
  }

  private void awaitGeneration(String workload, long generation) {
    browser.await(
        "generation %d of %s".formatted(generation, workload),
        "[...document.querySelectorAll('tbody tr')].find(r => r.cells[0].innerText === arguments[0])?.cells[2].innerText === arguments[1]",
        workload,
        Long.toString(generation));
  }

  @Test
  void rows_are_sorted_and_filtered() {
    site.openTable("", "Overview");
    String first = "tbody tr:first-child td";
    site.click("th button", "Tables");
    assertThat(browser.count("th[aria-sort='descending']")).isEqualTo(1);
    assertThat(browser.text(first)).isEqualTo(DashboardSite.WORKLOAD);
    site.click("th button", "Tables");
    assertThat(browser.text(first)).isEqualTo(DashboardSite.HOSTILE);
    browser.find("input[type=search]").sendKeys("feed-rank");
    browser.await("one row", "document.querySelectorAll('tbody tr').length === 1");
    assertThat(browser.text(first)).isEqualTo(DashboardSite.WORKLOAD);
  }

  /** Builds a table of the page's own module with 300 rows, of which one has no value. */
  @Test
  void a_table_shows_250_rows_until_all_are_wanted_and_missing_values_last() {
    site.openTable("", "Overview");
    browser.runAsync(
        """
            const done = arguments[0];
            import('/table.js').then(({Table}) => {
              const table = new Table({caption: 'test', key: r => r.id, largest: 'Size',
                columns: [{title: 'Id', value: r => r.id}, {title: 'Size', kind: 'number', value: r => r.size}]});
              table.set([...Array(300).keys()].map(id => ({id, size: id === 7 ? null : id})));
              document.querySelector('main').replaceChildren(table.node);
              window.table = table;
              done();
            });
            """);
    assertThat(browser.count("tbody tr")).isEqualTo(250);
    assertThat(browser.text(".tools")).contains("250 of 300 rows");
    browser.run("table.put({id: 3, size: 1000})");
    browser.await(
        "a row that was not shown",
        "document.querySelector('tbody tr').innerText.split('\\t').join() === '3,1000'");
    browser.run("table.put({id: 3, size: 3})");
    site.click("button", "Show all");
    assertThat(browser.count("tbody tr")).isEqualTo(300);
    assertThat(browser.text("tbody tr:first-child td")).isEqualTo("299");
    assertThat(browser.text("tbody tr:last-child td")).isEqualTo("7");
    site.click("th button", "Size");
    assertThat(browser.text("tbody tr:first-child td")).isEqualTo("0");
    assertThat(browser.text("tbody tr:last-child td")).isEqualTo("7");
  }

  @Test
  void cells_that_a_spreadsheet_would_run_are_quoted() {
    site.openTable("", "Overview");
    assertThat(
            browser.runAsync(
                """
                    const done = arguments[0];
                    import('/export.js').then(({csvCell}) =>
                      done(['=1+1', '+1', '@a', 'a,b', 'a"b', 'a\\nb', -1, null, 'a'].map(csvCell)));
                    """))
        .isEqualTo(
            List.of("'=1+1", "'+1", "'@a", "\"a,b\"", "\"a\"\"b\"", "\"a\nb\"", "-1", "", "a"));
  }

  @Test
  void headings_are_explained_and_a_printed_page_has_no_buttons() {
    site.openTable("", "Overview");
    assertThat(browser.find("th[title]").getAttribute("title")).isNotBlank();
    assertThat(
            browser.run(
                "return [...document.querySelectorAll('th')].find(h => h.innerText === 'Imbalance').title"))
        .isEqualTo(
            "How much later than the mean the last device is ready for the forward communication.");
    browser.print(true);
    assertThat(browser.shown("nav, .tools")).isZero();
    assertThat(browser.shown("th button")).isPositive();
    browser.print(false);
    assertThat(browser.shown("nav, .tools")).isPositive();
  }
}
