package io.shardtide.bench.soak;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Which alerts fire while a soak runs: a Prometheus of its own scrapes the planners every second
 * and evaluates docker/alerts.yaml, with the one difference that alerts that fire after 30 s or a
 * minute fire after 2 s, since the faults of a soak are short.
 */
final class SoakAlerts implements AutoCloseable {
  private static final String RULES = "/bench/alerts.yaml";
  private static final String SHORT = "for: (30s|1m)\\b";
  private static final String FOR = "for: 2s";
  private static final long PERIOD_MS = 500;
  private static final Duration TIMEOUT = Duration.ofSeconds(2);

  private final Process prometheus;
  private final URI address;
  private final HttpClient http = HttpClient.newHttpClient();
  private final ObjectMapper json = new ObjectMapper();
  private final NavigableMap<Long, Set<String>> firing = new TreeMap<>();
  private final Thread reader = new Thread(this::read, "soak-alerts");

  private SoakAlerts(Process prometheus, int port) {
    this.prometheus = prometheus;
    address = URI.create("http://127.0.0.1:%d/api/v1/alerts".formatted(port));
    reader.setDaemon(true);
  }

  /**
   * Starts Prometheus; empty if the machine has none.
   *
   * @param directory an empty folder for its data
   * @param port its own port
   * @param planners the planners' ports for HTTP
   */
  static Optional<SoakAlerts> start(Path directory, int port, List<Integer> planners)
      throws IOException {
    Files.createDirectories(directory);
    try (InputStream rules = SoakAlerts.class.getResourceAsStream(RULES)) {
      String text = new String(rules.readAllBytes(), StandardCharsets.UTF_8);
      Files.writeString(directory.resolve("alerts.yaml"), text.replaceAll(SHORT, FOR));
    }
    Path config = directory.resolve("prometheus.yaml");
    Files.writeString(
        config,
        """
        global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
        rule_files: [alerts.yaml]
        scrape_configs:
          - job_name: shardtide
            static_configs:
              - targets: [%s]
        """
            .formatted(
                planners.stream()
                    .map(planner -> "\"127.0.0.1:%d\"".formatted(planner))
                    .collect(Collectors.joining(", "))));
    try {
      Process prometheus =
          new ProcessBuilder(
                  "prometheus",
                  "--config.file=" + config,
                  "--storage.tsdb.path=" + directory.resolve("data"),
                  "--web.listen-address=127.0.0.1:" + port)
              .redirectErrorStream(true)
              .redirectOutput(directory.resolve("prometheus.out").toFile())
              .start();
      SoakAlerts alerts = new SoakAlerts(prometheus, port);
      alerts.reader.start();
      return Optional.of(alerts);
    } catch (IOException e) {
      // The machine has no such program.
      return Optional.empty();
    }
  }

  private void read() {
    HttpRequest request = HttpRequest.newBuilder(address).timeout(TIMEOUT).build();
    try {
      while (prometheus.isAlive()) {
        try {
          JsonNode answer =
              json.readTree(http.send(request, HttpResponse.BodyHandlers.ofString()).body());
          Set<String> names = new TreeSet<>();
          for (JsonNode alert : answer.path("data").path("alerts")) {
            if (alert.path("state").asText().equals("firing")) {
              names.add(alert.path("labels").path("alertname").asText());
            }
          }
          synchronized (firing) {
            firing.put(System.nanoTime(), names);
          }
        } catch (IOException e) {
          // It starts, or the machine is busy: the next answer tells.
        }
        Thread.sleep(PERIOD_MS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Returns the alerts that fired at some time.
   *
   * @param fromNanos beginning of the time, of {@link System#nanoTime}
   * @param toNanos end of the time, exclusive
   */
  Set<String> fired(long fromNanos, long toNanos) {
    synchronized (firing) {
      return firing.subMap(fromNanos, toNanos).values().stream()
          .flatMap(Set::stream)
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }

  @Override
  public void close() {
    reader.interrupt();
    prometheus.destroyForcibly();
  }
}
