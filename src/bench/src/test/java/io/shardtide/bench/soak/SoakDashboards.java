package io.shardtide.bench.soak;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Reads which plans the planners' dashboards show at the end of a soak, until they are the latest
 * ones on the log or a while has passed, and notes them in the ledger.
 */
final class SoakDashboards {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final HttpClient http = HttpClient.newHttpClient();
  private final ObjectMapper json = new ObjectMapper();
  private final Ledger ledger;
  private final Supplier<Map<String, String>> latest;

  /**
   * @param ledger notes what the dashboards show
   * @param latest returns the id of each workload's latest plan on the log
   */
  SoakDashboards(Ledger ledger, Supplier<Map<String, String>> latest) {
    this.ledger = ledger;
    this.latest = latest;
  }

  /** Reads the dashboard of a planner, from its port for HTTP. */
  void read(int port) throws InterruptedException {
    long end = System.nanoTime() + PATIENCE.toNanos();
    Map<String, String> expected = latest.get();
    Map<String, String> shown = shown(port);
    // A background search may still find a plan, and a dashboard follows the log a moment later.
    while (!shown.equals(expected) && System.nanoTime() < end) {
      Thread.sleep(200);
      shown = shown(port);
      expected = latest.get();
    }
    for (Map.Entry<String, String> plan : expected.entrySet()) {
      ledger.add(
          new Ledger.ShownPlan(
              "the planner at port " + port,
              plan.getKey(),
              shown.getOrDefault(plan.getKey(), ""),
              plan.getValue()));
    }
  }

  /** Returns the plans that a dashboard shows, by workload; none if it does not answer. */
  private Map<String, String> shown(int port) throws InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:%d/api/workloads".formatted(port)))
            .timeout(TIMEOUT)
            .build();
    try {
      JsonNode rows =
          json.readTree(http.send(request, HttpResponse.BodyHandlers.ofString()).body());
      Map<String, String> shown = new TreeMap<>();
      rows.forEach(
          row -> shown.put(row.path("workloadId").asText(), row.path("planId").asText("")));
      return shown;
    } catch (IOException e) {
      return Map.of();
    }
  }
}
