package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Browser;
import org.junit.jupiter.api.Test;
import org.openqa.selenium.Keys;

/** Tests of the views that compare two plans and that explain a plan. */
abstract class DashboardPlanPages {
  private static final String COMPARISON =
      "document.querySelector('h1')?.innerText.startsWith('Two plans') && document.querySelector('.chart svg')";

  private final DashboardSite site;
  private final Browser browser;

  DashboardPlanPages(DashboardSite site) {
    this.site = site;
    browser = site.browser();
  }

  @Test
  void two_plans_are_compared_with_the_keyboard_only() {
    site.openTable("", "Overview");
    browser.run("document.activeElement.blur()");
    site.tabTo("a", DashboardSite.WORKLOAD);
    site.press(Keys.ENTER);
    browser.await("the plan", "document.querySelector('.chart svg')");
    for (int box = 0; box < 2; box++) {
      site.tabTo("input[type=checkbox]", "");
      site.press(Keys.SPACE);
    }
    site.tabTo("button", "Compare the two selected plans");
    site.press(Keys.ENTER);
    browser.await("the comparison", COMPARISON);
    assertThat(browser.run("return document.activeElement.id")).isEqualTo("main");
  }

  @Test
  void moved_shards_are_drawn_and_listed() throws Exception {
    ShardingPlan later = site.third();
    site.open("compare", later.origin().previousPlanId().orElseThrow(), later.planId());
    browser.await("the comparison", COMPARISON);
    assertThat(browser.text("main")).contains("8 → 9", "Shards on another device");
    Object moved =
        browser.run(
            "return [...document.querySelectorAll('table')].find(t => t.caption.textContent === 'Shards on another device').tBodies[0].rows.length");
    assertThat((Long) moved).isPositive();
    assertThat(browser.run("return document.querySelector('.chart').ariaLabel"))
        .asString()
        .contains(moved + " shards that move between them");
    site.checkBothSchemes("compare");
  }

  /** The device with the only part sends copies; a new device gets one from the first device. */
  @Test
  void a_move_to_every_device_is_drawn_to_each() {
    site.openTable("", "Overview");
    assertThat(
            browser.runAsync(
                """
                    const done = arguments[0];
                    import('/plots.js').then(({diffOption}) => {
                      const cost = {computeMs: 1, forwardCommMs: 1, backwardCommMs: 1, memoryBytes: 1};
                      const plan = (devices, groups = 1, layout = 'CONSECUTIVE') => ({generation: 1, predictedMs: 3,
                        deviceCosts: Array(devices).fill(cost), replication: {groups, layout}});
                      const drawn = (shards, before, after) => diffOption(shards, before, after)({}).series
                        .filter((s) => s.type === 'line').flatMap((s) => s.data).filter((p) => p[0] !== null);
                      const moved = [
                        {fromDevice: 1, toDevice: -1, bytes: 20},
                        {fromDevice: -1, toDevice: 2, bytes: 10}];
                      // Ranks 4 and 5 of two groups are device 2 of each, or devices 4 and 5 of one group.
                      const inGroups = [{fromDevice: 1, toDevice: 5, bytes: 20}];
                      done(JSON.stringify([
                        drawn(moved, plan(2), plan(3)),
                        drawn(inGroups, plan(4, 2, 'STRIDED'), plan(4, 2, 'STRIDED')),
                        drawn(inGroups, plan(8), plan(4, 2)),
                      ]));
                    });
                    """))
        .isEqualTo("[[[0,1],[1,0],[0,1],[1,2],[0,0],[1,2]],[[0,0],[1,2]],[[0,1],[1,1]]]");
  }

  @Test
  void the_kind_of_a_table_is_explained() throws Exception {
    ShardingPlan plan = site.latest(DashboardSite.KINDS);
    site.open("why", plan.planId());
    browser.await("the explanation", "document.querySelector('.story')");
    assertThat(browser.text(".story"))
        .containsPattern("Tables: .*row_wise")
        .containsPattern("member_id\\s+row_wise\\s+memory");
    site.checkBothSchemes("why-kinds");
  }

  /** The server reads the log for one request at a time; a second page waits for its turn. */
  @Test
  void a_plan_is_explained_while_another_one_is() throws Exception {
    ShardingPlan plan = site.third();
    site.openTable("", "Overview");
    browser.run(
        "import('/why.js').then(({why}) => why(arguments[0])).then(view => { window.other = view.title; })",
        plan.origin().previousPlanId().orElseThrow());
    site.open("why", plan.planId());
    browser.await("the explanation", "document.querySelector('.story')");
    assertThat(browser.text(".story"))
        .contains("Events", "from test", "Lower bound of every plan", "Bottleneck: device");
    site.checkBothSchemes("why");
    browser.await("the other explanation", "window.other?.startsWith('Why plan ')");
    assertThat(browser.complaints()).allMatch(complaint -> complaint.contains("429"));
  }
}
