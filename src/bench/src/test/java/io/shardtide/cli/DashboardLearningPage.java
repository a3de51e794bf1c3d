package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.testing.Browser;
import io.shardtide.testing.TestModels;
import java.util.List;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.interactions.Actions;

/** Tests of the view of cost models, measurements and alarms. */
abstract class DashboardLearningPage {
  private final DashboardSite site;
  private final Browser browser;

  DashboardLearningPage(DashboardSite site) {
    this.site = site;
    browser = site.browser();
  }

  @Test
  void measurements_are_drawn_and_models_are_promoted_with_the_token() throws Exception {
    site.publishOtherModel();
    site.measure(DashboardSite.WORKLOAD);
    site.open("learning");
    browser.await("the chart", "document.querySelector('.chart')");
    browser.run("document.querySelector('.chart').scrollIntoView({block: 'center'})");
    browser.await(
        "the points",
        "document.querySelector('.chart svg') && echarts.getInstanceByDom(document.querySelector('.chart > div')).getOption().series.some(s => s.name === arguments[0] && s.data.length >= 60)",
        DashboardSite.WORKLOAD);
    browser.await(
        "the alarm", "document.querySelector('main').textContent.includes('drift from the model')");
    // With what has come by now: the chart of a loaded machine was drawn without its alarm.
    browser.run("location.reload()");
    browser.await(
        "the page again",
        "document.querySelectorAll('.chart').length > 1 && document.querySelector('main').textContent.includes('drift from the model')");
    browser.run("document.querySelectorAll('.chart')[1].scrollIntoView({block: 'end'})");
    browser.await("the ratios", "document.querySelectorAll('.chart')[1].querySelector('svg')");
    browser.await(
        "the alarm's ratio",
        "echarts.getInstanceByDom(document.querySelectorAll('.chart > div')[1]).getOption().series.at(-1).data.length > 0");
    assertThat(
            browser.run(
                "return echarts.getInstanceByDom(document.querySelectorAll('.chart > div')[1]).getOption().series.at(-1).data[0][1]"))
        .as("the alarm is drawn where costs are 1.5 times as high")
        .asInstanceOf(InstanceOfAssertFactories.DOUBLE)
        .isGreaterThan(1.4);
    site.checkBothSchemes("learning");
    browser.run("document.querySelector('select').append(new Option('a'.repeat(300)))");
    assertThat(
            browser.run(
                "const page = document.documentElement; return page.scrollWidth - page.clientWidth"))
        .as("pixels by which a long name makes the page wider")
        .isEqualTo(0L);
    promote();
  }

  @Test
  void workloads_are_told_apart_and_points_fill_the_chart() throws Exception {
    site.measure(DashboardSite.WORKLOAD);
    site.measure(DashboardSite.HOSTILE);
    site.open("learning");
    browser.await("the chart", "document.querySelector('.chart')");
    browser.run("document.querySelector('.chart').scrollIntoView({block: 'center'})");
    browser.await(
        "both workloads",
        "document.querySelector('.chart svg') && echarts.getInstanceByDom(document.querySelector('.chart > div')).getOption().series.length > 1");
    List<?> looks =
        (List<?>)
            browser.run(
                """
                const option = echarts.getInstanceByDom(document.querySelector('.chart > div')).getOption();
                return option.series.map(series => series.symbol + ' ' + series.itemStyle.color);
                """);
    assertThat(looks).doesNotHaveDuplicates();
    assertThat(browser.text("main")).contains("Measured against predicted steps");
    assertThat(
            browser.run(
                """
                const chart = echarts.getInstanceByDom(document.querySelector('.chart > div'));
                const option = chart.getOption();
                const costs = option.series.flatMap(series => series.data).flat();
                const {min, max} = option.yAxis[0];
                return (Math.max(...costs) - Math.min(...costs)) / (max - min);
                """))
        .as("share of the axis that the costs take")
        .asInstanceOf(InstanceOfAssertFactories.DOUBLE)
        .isBetween(0.7, 1.0);
  }

  /** Of two labels that overlap, ECharts would hide both: the first one and the last one. */
  @Test
  void ratios_of_a_second_and_a_little_of_the_one_before_have_a_time() {
    site.openTable("", "Overview");
    browser.runAsync(
        """
        const done = arguments[0];
        Promise.all([import('/chart.js'), import('/plots.js')]).then(([{Chart}, {ratiosOption}]) => {
          const points = [...Array(60).keys()].map((i) =>
            ({measuredAt: `2026-11-21T10:15:3${i < 2 ? 0 : 1}.000Z`, ratio: 1, low: null, high: null, modelId: 'm'}));
          const chart = new Chart('ratios');
          chart.show(ratiosOption(points, []), {label: 'ratios', height: 280});
          document.querySelector('main').replaceChildren(chart.node);
          done();
        });
        """);
    browser.await("the chart", "document.querySelector('.chart svg')");
    assertThat(browser.run("return document.querySelector('.chart svg').textContent"))
        .asString()
        .contains(":15:30")
        .doesNotContain(":15:31");
  }

  private void promote() {
    browser.find("button[aria-label^='Promote']").click();
    browser.await("a refusal", "document.querySelector('[role=status].bad')");
    assertThat(browser.text("[role=status].bad")).contains("Enter the token first");
    browser.find("input[type=password]").sendKeys(site.planner().token());
    browser.find("button[aria-label^='Promote']").click();
    browser.await(
        "the promotion",
        "[...document.querySelectorAll('[role=status]')].some(n => n.innerText.includes('is now the current one'))");
    site.awaitModel(TestModels.bundle().modelId());
    browser.await(
        "the decision",
        "document.querySelector('main').textContent.includes('promoted by an operator')");
    browser.run("sessionStorage.clear()");
  }

  /** A tooltip is the one place where ECharts puts names into the page. */
  @Test
  void the_tooltip_of_a_hostile_name_is_text() throws Exception {
    site.measure(DashboardSite.HOSTILE);
    site.open("learning");
    browser.await(
        "a point of the workload",
        "document.querySelector('main').innerText.includes('Measured against')");
    browser.run("document.querySelector('.chart').scrollIntoView({block: 'center'})");
    browser.await("the points", "document.querySelector('.chart svg')");
    Awaitility.await("the tooltip")
        .until(
            () -> {
              pointAtFastestStep();
              return browser.text(".chart > div > div + div").contains(DashboardSite.HOSTILE);
            });
    assertThat(browser.count("main img, main script, iframe")).isZero();
  }

  private void pointAtFastestStep() {
    List<?> fromCenter =
        (List<?>)
            browser.run(
                """
                const chart = echarts.getInstanceByDom(document.querySelector('.chart > div'));
                const points = chart.getOption().series.flatMap(series => series.data);
                const point = points.reduce((a, b) => (b[1] < a[1] ? b : a));
                const at = chart.convertToPixel({gridIndex: 0}, point);
                return [at[0] - chart.getWidth() / 2, at[1] - chart.getHeight() / 2].map(Math.round);
                """);
    int x = ((Number) fromCenter.get(0)).intValue();
    int y = ((Number) fromCenter.get(1)).intValue();
    WebElement chart = browser.find(".chart > div");
    new Actions(browser.driver()).moveToElement(chart).moveToElement(chart, x, y).perform();
  }
}
