package io.shardtide.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.workload.Quarantine;
import io.shardtide.workload.SourcePosition;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Health and metrics over a real socket. */
class WebServerTest {
  private final AtomicReference<Health> health =
      new AtomicReference<>(new Health(List.of(Health.Component.up("kafka"))));
  private WebServer server;

  @BeforeEach
  void start() throws IOException {
    server = start(0, () -> "a_total 1.0\n", Optional.empty());
  }

  private WebServer start(int port, Supplier<String> metrics, Optional<Predicate<String>> token)
      throws IOException {
    return WebServer.start(
        "127.0.0.1", port, health::get, () -> true, metrics, token, Optional.empty());
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  private HttpResponse<String> request(String method, String path)
      throws IOException, InterruptedException {
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(URI.create(server.url() + path))
                .method(method, HttpRequest.BodyPublishers.noBody())
                .build(),
            HttpResponse.BodyHandlers.ofString());
  }

  @Test
  void health_is_200_or_503_with_the_problems() throws Exception {
    HttpResponse<String> up = request("GET", "/health");
    assertThat(up.statusCode()).isEqualTo(200);
    assertThat(up.headers().firstValue("content-type")).contains("application/json");
    assertThat(up.body())
        .isEqualToIgnoringWhitespace(
            """
            {"status": "UP", "parts": [{"name": "kafka", "status": "UP"}]}
            """);
    health.set(
        new Health(
            List.of(
                Health.Component.up("kafka"),
                Health.Component.down("registry", "The registry is \"down\"."))));
    HttpResponse<String> down = request("GET", "/health");
    assertThat(down.statusCode()).isEqualTo(503);
    assertThat(down.body())
        .isEqualToIgnoringWhitespace(
            """
            {"status": "DOWN", "parts": [
              {"name": "kafka", "status": "UP"},
              {"name": "registry", "status": "DOWN", "problem": "The registry is \\"down\\"."}]}
            """);
    assertThat(request("HEAD", "/health").statusCode()).isEqualTo(503);
    assertThat(request("HEAD", "/health").body()).isEmpty();
  }

  @Test
  void health_names_keys_in_quarantine() throws Exception {
    Quarantine held =
        new Quarantine(
            "planning",
            "ads",
            true,
            "record: it failed",
            Optional.of(new SourcePosition("predictions", 0, 7)),
            true,
            true,
            false,
            "0.3.0",
            Instant.EPOCH);
    health.set(new Health(List.of(Health.Component.up("kafka")), List.of(held)));
    HttpResponse<String> up = request("GET", "/health");
    assertThat(up.statusCode()).isEqualTo(200);
    assertThat(up.body())
        .isEqualToIgnoringWhitespace(
            """
            {"status": "UP", "parts": [{"name": "kafka", "status": "UP"}],
              "quarantine": [
                {"topology": "planning", "key": "ads", "error": "record: it failed",
                 "incomplete": true}]}
            """);
  }

  /** A server that is away makes the service DOWN; only a broken process is not live. */
  @Test
  void live_says_whether_the_process_works() throws Exception {
    health.set(new Health(List.of(Health.Component.down("kafka", "Kafka at k-1 is away."))));
    assertThat(request("GET", "/health").statusCode()).isEqualTo(503);
    HttpResponse<String> live = request("GET", "/live");
    assertThat(live.statusCode()).isEqualTo(200);
    assertThat(live.headers().firstValue("content-type")).contains("application/json");
    assertThat(live.body()).isEqualToIgnoringWhitespace("{\"status\": \"UP\"}");
    try (WebServer broken =
        WebServer.start(
            "127.0.0.1",
            0,
            health::get,
            () -> false,
            () -> "",
            Optional.of(TOKEN::equals),
            Optional.empty())) {
      HttpResponse<String> dead =
          HttpClient.newHttpClient()
              .send(
                  HttpRequest.newBuilder(URI.create(broken.url() + "/live")).build(),
                  HttpResponse.BodyHandlers.ofString());
      assertThat(dead.statusCode()).as("no token is needed").isEqualTo(503);
      assertThat(dead.body()).isEqualToIgnoringWhitespace("{\"status\": \"DOWN\"}");
    }
  }

  @Test
  void metrics_are_in_the_format_of_prometheus() throws Exception {
    HttpResponse<String> response = request("GET", "/metrics");
    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("content-type").orElseThrow())
        .isEqualToIgnoringWhitespace(WebServer.PROMETHEUS);
    assertThat(response.body()).isEqualTo("a_total 1.0\n");
    assertThat(response.headers().map()).doesNotContainKey("server");
  }

  @ParameterizedTest
  @CsvSource({
    "GET, /, 404",
    "GET, /health/, 404",
    "GET, /Health, 404",
    "GET, /metrics/x, 404",
    "GET, /%68ealth, 404",
    "GET, /../etc/passwd, 400",
    "GET, /metrics;x=1, 404",
    "POST, /health, 405",
    "DELETE, /metrics, 405",
    "OPTIONS, /health, 405",
    "TRACE, /metrics, 405",
    "POST, /, 404",
  })
  void other_requests_are_rejected(String method, String path, int status) throws Exception {
    String response =
        raw("%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".formatted(method, path));
    assertThat(response).startsWith("HTTP/1.1 " + status + " ");
    assertThat(response.toLowerCase(java.util.Locale.ROOT))
        .doesNotContain("jetty", "server:", "\tat ");
    if (status == 405) {
      assertThat(response).contains("Allow: GET, HEAD");
    }
  }

  @ParameterizedTest
  @CsvSource({"NONSENSE", "GET", "GET /health HTTP/9.9"})
  void a_request_that_is_not_http_reveals_nothing_of_the_server(String line) throws Exception {
    String response = raw(line + "\r\nHost: x\r\nConnection: close\r\n\r\n");
    assertThat(response).startsWith("HTTP/1.1 ").doesNotContain("HTTP/1.1 200");
    assertThat(response.toLowerCase(java.util.Locale.ROOT)).doesNotContain("jetty", "\tat ");
  }

  private String raw(String text) throws IOException {
    URI uri = URI.create(server.url());
    try (Socket socket = new Socket(uri.getHost(), uri.getPort())) {
      OutputStream out = socket.getOutputStream();
      out.write(text.getBytes(StandardCharsets.US_ASCII));
      out.flush();
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  @Test
  void a_supplier_that_fails_reveals_no_message() throws Exception {
    try (WebServer broken =
        start(
            0,
            () -> {
              throw new IllegalStateException("hunter2");
            },
            Optional.empty())) {
      HttpResponse<String> response =
          HttpClient.newHttpClient()
              .send(
                  HttpRequest.newBuilder(URI.create(broken.url() + "/metrics")).build(),
                  HttpResponse.BodyHandlers.ofString());
      assertThat(response.statusCode()).isEqualTo(500);
      assertThat(response.body()).isEmpty();
    }
  }

  @Test
  void a_port_that_is_in_use_is_reported() {
    int port = URI.create(server.url()).getPort();
    assertThatThrownBy(() -> start(port, () -> "", Optional.empty()))
        .isInstanceOf(IOException.class)
        .hasMessage(
            "Cannot listen on http.host 127.0.0.1, http.port %d: Address already in use"
                .formatted(port));
  }

  private static final String TOKEN = "a-token-that-nobody-guesses";

  /** Which paths require the token, and in which form. */
  @ParameterizedTest
  @CsvSource(
      nullValues = "-",
      value = {
        "/metrics, -, 401",
        "/metrics, Bearer a-token-that-nobody-guesses, 200",
        "/metrics, bearer a-token-that-nobody-guesses, 200",
        "/metrics, Bearer a-token-that-nobody-guesse, 401",
        "/metrics, Bearer a-token-that-nobody-guessess, 401",
        "/metrics, Bearer, 401",
        "/metrics, a-token-that-nobody-guesses, 401",
        "/metrics, Basic a-token-that-nobody-guesses, 401",
        "/metrics?access_token=a-token-that-nobody-guesses, -, 401",
        "/health, -, 200",
        "/health, Bearer wrong, 200",
        "/nowhere, -, 404",
      })
  void metrics_require_the_token(String path, String authorization, int status) throws Exception {
    try (WebServer open = guarded()) {
      HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(open.url() + path));
      if (authorization != null) {
        request.header("Authorization", authorization);
      }
      HttpResponse<String> response =
          HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
      assertThat(response.statusCode()).isEqualTo(status);
      assertThat(response.body() + response.headers().map())
          .doesNotContain("nobody-guesses", "wrong");
      assertThat(response.headers().firstValue("www-authenticate").isPresent())
          .isEqualTo(status == 401);
    }
  }

  /** A load balancer gets the status; the problems are for those who have the token. */
  @Test
  void health_without_the_token_is_up_or_down() throws Exception {
    health.set(
        new Health(
            List.of(Health.Component.down("kafka", "Kafka at k-1.inside does not respond"))));
    try (WebServer open = guarded()) {
      HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(open.url() + "/health"));
      HttpResponse<String> anonymous =
          HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
      assertThat(anonymous.statusCode()).isEqualTo(503);
      assertThat(anonymous.body()).isEqualToIgnoringWhitespace("{\"status\": \"DOWN\"}");
      HttpResponse<String> operator =
          HttpClient.newHttpClient()
              .send(
                  request.header("Authorization", "Bearer " + TOKEN).build(),
                  HttpResponse.BodyHandlers.ofString());
      assertThat(operator.body()).contains("Kafka at k-1.inside does not respond");
    }
  }

  private WebServer guarded() throws IOException {
    return start(0, () -> "a_total 1.0\n", Optional.of(TOKEN::equals));
  }
}
