package io.shardtide.cli;

import io.shardtide.testing.Browser;
import io.shardtide.testing.Fixtures;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Tests of the view of the latest events. */
abstract class DashboardEventsPage {
  private final DashboardSite site;
  private final Browser browser;

  DashboardEventsPage(DashboardSite site) {
    this.site = site;
    browser = site.browser();
  }

  @Test
  void rejections_and_workloads_that_do_not_fit_are_events() throws Exception {
    site.openTable("events", "Events");
    site.publish(DashboardSite.WORKLOAD, List.of(Fixtures.drop("user_00")), OptionalLong.of(1));
    browser.await(
        "the rejection", "document.querySelector('main').innerText.includes('STALE_GENERATION')");
    site.publish(
        "too-large", List.of(Fixtures.set(1, 1000), Fixtures.upsert("t", 1_000_000, 64, 1)));
    browser.await(
        "the event",
        "[...document.querySelectorAll('tbody tr')].some(r => r.innerText.includes('too-large') && r.innerText.includes('short'))");
    browser.await("the lag", "document.getElementById('statistics').innerText.includes('lag 0')");
    site.checkBothSchemes("events");
    site.openTable("", "Overview");
    browser.await(
        "its health",
        "[...document.querySelectorAll('tbody tr')].some(r => r.innerText.includes('too-large') && r.innerText.includes('does not fit'))");
  }
}
