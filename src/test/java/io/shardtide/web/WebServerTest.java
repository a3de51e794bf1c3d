package io.shardtide.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Health and metrics over a real socket. */
class WebServerTest {
  private final AtomicReference<Health> health =
      new AtomicReference<>(new Health(List.of(Health.Part.up("kafka"))));
  private WebServer server;

  @BeforeEach
  void start() throws IOException {
    server = WebServer.start("127.0.0.1", 0, health::get, () -> "a_total 1.0\n", Optional.empty());
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  private HttpResponse<String> ask(String method, String path)
      throws IOException, InterruptedException {
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(URI.create(server.url() + path))
                .method(method, HttpRequest.BodyPublishers.noBody())
                .build(),
            HttpResponse.BodyHandlers.ofString());
  }

  @Test
  void health_is_200_or_503_with_what_is_wrong() throws Exception {
    HttpResponse<String> up = ask("GET", "/health");
    assertThat(up.statusCode()).isEqualTo(200);
    assertThat(up.headers().firstValue("content-type")).contains("application/json");
    assertThat(up.body())
        .isEqualToIgnoringWhitespace(
            """
            {"status": "UP", "parts": [{"name": "kafka", "status": "UP"}]}
            """);
    health.set(
        new Health(
            List.of(Health.Part.up("kafka"), Health.Part.down("registry", "It is \"away\"."))));
    HttpResponse<String> down = ask("GET", "/health");
    assertThat(down.statusCode()).isEqualTo(503);
    assertThat(down.body())
        .isEqualToIgnoringWhitespace(
            """
            {"status": "DOWN", "parts": [
              {"name": "kafka", "status": "UP"},
              {"name": "registry", "status": "DOWN", "problem": "It is \\"away\\"."}]}
            """);
    assertThat(ask("HEAD", "/health").statusCode()).isEqualTo(503);
    assertThat(ask("HEAD", "/health").body()).isEmpty();
  }

  @Test
  void metrics_are_in_the_format_of_prometheus() throws Exception {
    HttpResponse<String> answer = ask("GET", "/metrics");
    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(answer.headers().firstValue("content-type").orElseThrow())
        .isEqualToIgnoringWhitespace(WebServer.PROMETHEUS);
    assertThat(answer.body()).isEqualTo("a_total 1.0\n");
    assertThat(answer.headers().map()).doesNotContainKey("server");
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
  void all_else_is_refused(String method, String path, int status) throws Exception {
    String answer =
        raw("%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".formatted(method, path));
    assertThat(answer).startsWith("HTTP/1.1 " + status + " ");
    assertThat(answer.toLowerCase(java.util.Locale.ROOT))
        .doesNotContain("jetty", "server:", "\tat ");
    if (status == 405) {
      assertThat(answer).contains("Allow: GET, HEAD");
    }
  }

  @ParameterizedTest
  @CsvSource({"NONSENSE", "GET", "GET /health HTTP/9.9"})
  void what_is_not_http_is_told_no_more_than_that(String line) throws Exception {
    String answer = raw(line + "\r\nHost: x\r\nConnection: close\r\n\r\n");
    assertThat(answer).startsWith("HTTP/1.1 ").doesNotContain("HTTP/1.1 200");
    assertThat(answer.toLowerCase(java.util.Locale.ROOT)).doesNotContain("jetty", "\tat ");
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
  void a_supplier_that_fails_shows_nothing_of_it() throws Exception {
    try (WebServer broken =
        WebServer.start(
            "127.0.0.1",
            0,
            health::get,
            () -> {
              throw new IllegalStateException("hunter2");
            },
            Optional.empty())) {
      HttpResponse<String> answer =
          HttpClient.newHttpClient()
              .send(
                  HttpRequest.newBuilder(URI.create(broken.url() + "/metrics")).build(),
                  HttpResponse.BodyHandlers.ofString());
      assertThat(answer.statusCode()).isEqualTo(500);
      assertThat(answer.body()).isEmpty();
    }
  }

  @Test
  void a_port_that_is_taken_is_named() {
    int port = URI.create(server.url()).getPort();
    assertThatThrownBy(
            () -> WebServer.start("127.0.0.1", port, health::get, () -> "", Optional.empty()))
        .isInstanceOf(IOException.class)
        .hasMessage(
            "http.host and http.port are 127.0.0.1 and %d, and nothing can listen there: Address already in use"
                .formatted(port));
  }

  private static final String TOKEN = "a-token-that-nobody-guesses";

  /** What is asked for a token, and how it is sent, if it is. */
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
  void a_token_opens_what_is_not_for_everybody(String path, String authorization, int status)
      throws Exception {
    try (WebServer open = guarded()) {
      HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(open.url() + path));
      if (authorization != null) {
        request.header("Authorization", authorization);
      }
      HttpResponse<String> answer =
          HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
      assertThat(answer.statusCode()).isEqualTo(status);
      assertThat(answer.body() + answer.headers().map()).doesNotContain("nobody-guesses", "wrong");
      assertThat(answer.headers().firstValue("www-authenticate").isPresent())
          .isEqualTo(status == 401);
    }
  }

  /** A load balancer learns whether it works; what is away is for those who have the token. */
  @Test
  void health_tells_strangers_no_more_than_up_or_down() throws Exception {
    health.set(new Health(List.of(Health.Part.down("kafka", "Kafka at k-1.inside is away."))));
    try (WebServer open = guarded()) {
      HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(open.url() + "/health"));
      HttpResponse<String> stranger =
          HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
      assertThat(stranger.statusCode()).isEqualTo(503);
      assertThat(stranger.body()).isEqualToIgnoringWhitespace("{\"status\": \"DOWN\"}");
      HttpResponse<String> operator =
          HttpClient.newHttpClient()
              .send(
                  request.header("Authorization", "Bearer " + TOKEN).build(),
                  HttpResponse.BodyHandlers.ofString());
      assertThat(operator.body()).contains("Kafka at k-1.inside is away.");
    }
  }

  private WebServer guarded() throws IOException {
    return WebServer.start(
        "127.0.0.1", 0, health::get, () -> "a_total 1.0\n", Optional.of(TOKEN::equals));
  }
}
