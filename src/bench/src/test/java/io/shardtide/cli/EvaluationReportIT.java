package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.shardtide.testing.Browser;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The report in a real browser that reaches no network. Skipped where there is no browser. */
class EvaluationReportIT {
  private static final Path REFERENCE = Path.of("src/models/src/test/resources/reference");

  @TempDir private Path folder;

  @Test
  void a_browser_without_a_network_draws_the_report() throws Exception {
    assumeTrue(Browser.isThere(), "There is no chromium with chromedriver");
    Path report = folder.resolve("deep/report.html");
    StringWriter err = new StringWriter();
    int status =
        Shardtide.run(
            new PrintWriter(new StringWriter()),
            new PrintWriter(err),
            "evaluate",
            "--samples",
            REFERENCE.resolve("valid").toString(),
            "--report",
            report.toString());
    assertThat(status).as(err.toString()).isZero();
    assertThat(Files.readString(report)).doesNotContain("src=\"http", "href=\"http");
    try (Browser browser = Browser.start(folder)) {
      browser.open(report.toUri().toString());
      assertThat(browser.count("svg")).isEqualTo(4);
      assertThat(browser.count("svg path")).as("shapes").isGreaterThan(500);
      assertThat(browser.text("main"))
          .contains("trained on simulated costs", "all_to_all")
          .contains("All samples are within the training range.");
      assertThat(browser.count("#worst-computations tbody tr")).isEqualTo(20);
      assertThat(browser.count("#worst-collectives tbody tr")).isEqualTo(20);
      browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })");
      assertThat(browser.count("details tbody tr")).as("data of the bars").isGreaterThan(10);
      DashboardSite.checkBothSchemes(browser, "evaluation");
      assertThat(browser.complaints()).isEmpty();
    }
  }
}
