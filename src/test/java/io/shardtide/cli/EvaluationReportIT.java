package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The report in a real browser that cannot reach any network. Skips where there is none. */
class EvaluationReportIT {
  private static final Path REFERENCE = Path.of("src/test/resources/reference");

  @TempDir private Path folder;

  @Test
  void a_browser_without_a_network_draws_the_report() throws Exception {
    Optional<Path> browser = browser();
    assumeTrue(browser.isPresent(), "no browser");
    Path report = folder.resolve("deep/report.html");
    int status =
        Shardtide.run(
            new PrintWriter(new StringWriter()),
            new PrintWriter(new StringWriter()),
            "evaluate",
            "--samples",
            REFERENCE.resolve("valid").toString(),
            "--report",
            report.toString());
    assertThat(status).isZero();
    String dom = dom(browser.orElseThrow(), report);
    assertThat(count(dom, "<svg")).isEqualTo(4);
    assertThat(count(dom, "<path")).as("what is drawn").isGreaterThan(500);
    assertThat(dom)
        .contains("trained on simulated costs", "forward exchange, 128 devices")
        .contains("All samples are inside.");
    assertThat(count(section(dom, "worst-computations"), "<tr>")).isEqualTo(21);
    assertThat(count(section(dom, "worst-exchanges"), "<tr>")).isEqualTo(21);
    assertThat(Files.readString(report)).doesNotContain("src=\"http", "href=\"http");
  }

  private static String section(String dom, String id) {
    int from = dom.indexOf("<table id=\"" + id + "\"");
    return dom.substring(from, dom.indexOf("</table>", from));
  }

  private static long count(String text, String part) {
    return Pattern.compile(Pattern.quote(part)).matcher(text).results().count();
  }

  private static Optional<Path> browser() {
    return Stream.of("chromium", "chromium-browser", "google-chrome")
        .flatMap(
            name ->
                Stream.of(System.getenv("PATH").split(java.io.File.pathSeparator))
                    .map(path -> Path.of(path, name)))
        .filter(Files::isExecutable)
        .findFirst();
  }

  private String dom(Path browser, Path page) throws IOException, InterruptedException {
    Path dom = folder.resolve("dom.html");
    Process process =
        new ProcessBuilder(
                List.of(
                    browser.toString(),
                    "--headless",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--host-resolver-rules=MAP * ~NOTFOUND",
                    "--user-data-dir=" + folder.resolve("profile"),
                    "--window-size=1300,2400",
                    "--dump-dom",
                    page.toUri().toString()))
            .redirectOutput(dom.toFile())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    assertThat(process.waitFor()).isZero();
    return Files.readString(dom);
  }
}
