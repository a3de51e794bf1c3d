package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.shardtide.testing.Browser;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/**
 * The dashboard in a real browser, with one planner and one browser for all its pages. Skipped
 * where there is no browser. Writes screenshots of each view to {@code target/dashboard}.
 */
class DashboardPagesIT {
  @TempDir private static Path folder;

  private static DashboardSite site;

  @BeforeAll
  static void start() throws Exception {
    assumeTrue(Browser.isThere(), "There is no chromium with chromedriver");
    site = DashboardSite.start(folder);
  }

  @AfterAll
  static void stop() throws Exception {
    if (site != null) {
      site.close();
    }
  }

  @BeforeEach
  void light() {
    site.browser().scheme("light");
  }

  @AfterEach
  void the_policy_blocked_nothing_and_no_script_failed() {
    assertThat(site.browser().complaints().stream().filter(c -> !c.contains("401"))).isEmpty();
    assertThat(site.browser().run("return window.owned")).isNull();
  }

  @Nested
  class Overview extends DashboardOverviewPage {
    Overview() {
      super(site);
    }
  }

  @Nested
  class WorkloadPage extends DashboardWorkloadPage {
    WorkloadPage() {
      super(site);
    }
  }

  @Nested
  @Tag("nightly")
  class PoolPages extends DashboardPoolPages {
    PoolPages() {
      super(site);
    }
  }

  @Nested
  class PlanPages extends DashboardPlanPages {
    PlanPages() {
      super(site);
    }
  }

  @Nested
  @Tag("nightly")
  class Events extends DashboardEventsPage {
    Events() {
      super(site);
    }
  }

  @Nested
  @Tag("nightly")
  class Learning extends DashboardLearningPage {
    Learning() {
      super(site);
    }
  }
}
