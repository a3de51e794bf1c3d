package io.shardtide.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.openqa.selenium.By;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;

/** A real browser without a window, which reaches nothing but this machine. */
public final class Browser implements AutoCloseable {
  private final ChromeDriver driver;
  private final Path downloads;

  private Browser(ChromeDriver driver, Path downloads) {
    this.driver = driver;
    this.downloads = downloads;
  }

  /** Returns whether there is a browser and its driver. */
  public static boolean isThere() {
    return program("chromium", "chromium-browser", "google-chrome").isPresent()
        && program("chromedriver").isPresent();
  }

  private static Optional<Path> program(String... names) {
    return Stream.of(names)
        .flatMap(
            name ->
                Stream.of(System.getenv("PATH").split(java.io.File.pathSeparator))
                    .map(path -> Path.of(path, name)))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /** Starts one, with its profile and downloads in a folder. */
  public static Browser start(Path folder) throws IOException {
    Path downloads = Files.createDirectories(folder.resolve("downloads"));
    ChromeOptions options = new ChromeOptions();
    options.setBinary(
        program("chromium", "chromium-browser", "google-chrome").orElseThrow().toString());
    options.addArguments(
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--enable-precise-memory-info",
        "--js-flags=--expose-gc",
        "--window-size=1400,1000",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
        "--user-data-dir=" + folder.resolve("profile"));
    options.setExperimentalOption(
        "prefs", Map.of("download.default_directory", downloads.toString()));
    LoggingPreferences logs = new LoggingPreferences();
    logs.enable(LogType.BROWSER, java.util.logging.Level.ALL);
    options.setCapability("goog:loggingPrefs", logs);
    ChromeDriver driver =
        new ChromeDriver(
            new ChromeDriverService.Builder()
                .usingDriverExecutable(program("chromedriver").orElseThrow().toFile())
                .build(),
            options);
    driver.manage().timeouts().scriptTimeout(Duration.ofMinutes(2));
    return new Browser(driver, downloads);
  }

  public ChromeDriver driver() {
    return driver;
  }

  /** Opens an address; a fragment alone does not load the page again. */
  public void open(String url) {
    driver.get(url);
  }

  public Object run(String script, Object... arguments) {
    return driver.executeScript(script, arguments);
  }

  /** Runs a script that passes its result to a callback, its last argument. */
  public Object runAsync(String script, Object... arguments) {
    return driver.executeAsyncScript(script, arguments);
  }

  public String text(String selector) {
    return (String)
        run(
            "const n = document.querySelector(arguments[0]); return n ? n.innerText : ''",
            selector);
  }

  public long count(String selector) {
    return (long) run("return document.querySelectorAll(arguments[0]).length", selector);
  }

  public WebElement find(String selector) {
    return driver.findElement(By.cssSelector(selector));
  }

  /** Waits until an expression in the page is true; says what the page says if that never is. */
  public void await(String what, String expression, Object... arguments) {
    try {
      Awaitility.await(what)
          .atMost(Duration.ofMinutes(1))
          .pollInterval(Duration.ofMillis(100))
          .until(() -> Boolean.TRUE.equals(run("return !!(" + expression + ")", arguments)));
    } catch (ConditionTimeoutException e) {
      String page = text("main");
      throw new AssertionError(
          "%s: %s on the page %s, which says%n%s"
              .formatted(
                  what,
                  expression,
                  driver.getCurrentUrl(),
                  page.substring(0, Math.min(1500, page.length()))),
          e);
    }
  }

  public void scheme(String name) {
    driver.executeCdpCommand(
        "Emulation.setEmulatedMedia",
        Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", name))));
  }

  /**
   * Gives the page a width, and a height at which all of it is seen, up to 4,000 pixels; returns
   * when its charts are drawn.
   */
  public void wholePage(int width) {
    for (int pass = 0; pass < 2; pass++) {
      size(width, (long) run("return Math.min(4000, document.documentElement.scrollHeight)"));
    }
    await(
        "all charts",
        "[...document.querySelectorAll('.chart')].every(c => !c.offsetParent || c.offsetTop > 4000 || c.querySelector('svg'))");
  }

  private void size(int width, long height) {
    driver.executeCdpCommand(
        "Emulation.setDeviceMetricsOverride",
        Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", false));
  }

  /** Gives the page the size of the window again. */
  public void window() {
    driver.executeCdpCommand("Emulation.clearDeviceMetricsOverride", Map.of());
  }

  /** Shows the page as it is printed, or on the screen. */
  public void print(boolean isPrinted) {
    driver.executeCdpCommand(
        "Emulation.setEmulatedMedia", Map.of("media", isPrinted ? "print" : "screen"));
  }

  /** Returns how many elements take space on the page. */
  public long shown(String selector) {
    return (long)
        run(
            "return [...document.querySelectorAll(arguments[0])].filter(n => n.getClientRects().length).length",
            selector);
  }

  /**
   * Returns what axe finds wrong with the page as it is, a line for each.
   *
   * @param rules the rules to check; all if there are none
   */
  @SuppressWarnings("unchecked")
  public List<String> violations(String... rules) {
    if (Boolean.FALSE.equals(run("return !!window.axe"))) {
      run(axe());
    }
    return (List<String>)
        driver.executeAsyncScript(
            """
            const [rules, done] = arguments;
            axe.run(document, {resultTypes: ['violations'], runOnly: rules.length ? rules : undefined}).then(result => done(
              result.violations.flatMap(v => v.nodes.map(n => v.id + ': ' + n.html.slice(0, 200) + ' ' + n.failureSummary))),
              error => done(['axe failed: ' + error]));
            """,
            List.of(rules));
  }

  private static String axe() {
    try (InputStream in = Browser.class.getResourceAsStream("/axe.min.js")) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8) + "\nwindow.axe = axe;";
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns what the browser complained of since the last call: errors, and broken policies. */
  public List<String> complaints() {
    return driver.manage().logs().get(LogType.BROWSER).getAll().stream()
        .filter(entry -> entry.getLevel().intValue() >= java.util.logging.Level.WARNING.intValue())
        .map(entry -> entry.getMessage())
        .toList();
  }

  public void screenshot(Path file) throws IOException {
    Files.createDirectories(file.getParent());
    Files.write(file, driver.getScreenshotAs(OutputType.BYTES));
  }

  /** Waits for a download, and returns it. */
  public Path download(String ending) {
    return Awaitility.await("a file " + ending)
        .atMost(Duration.ofSeconds(30))
        .until(
            () -> {
              try (Stream<Path> files = Files.list(downloads)) {
                return files.filter(f -> f.toString().endsWith(ending)).findFirst();
              }
            },
            Optional::isPresent)
        .orElseThrow();
  }

  @Override
  public void close() {
    driver.quit();
  }
}
