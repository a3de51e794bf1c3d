package io.shardtide.web;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Which requests the dashboard's server accepts, over real sockets, while there is no log to show.
 */
class DashboardHandlerTest {
  private static final Path FILES = Path.of("src/service/src/main/resources/dashboard");
  private static final Optional<Predicate<String>> TOKEN = Optional.of("s3cret"::equals);

  private final List<String> done = new ArrayList<>();
  private WebServer server;

  /** Records its calls. */
  private class RecordedActions implements Dashboard.Actions {
    @Override
    public Object why(String planId) {
      throw new IllegalStateException("there is no log");
    }

    @Override
    public String promote(String modelId) throws IOException {
      if (modelId.equals("away")) {
        throw new IOException("The Kafka cluster does not response");
      }
      if (modelId.equals("none")) {
        throw new IllegalArgumentException("There is no model none");
      }
      done.add("promote " + modelId);
      return "done";
    }

    @Override
    public String rollback(String hardware) {
      done.add("rollback " + hardware);
      return "done";
    }
  }

  private void start(Optional<Predicate<String>> reads, Optional<Predicate<String>> changes)
      throws IOException {
    start(reads, changes, new RecordedActions());
  }

  private void start(
      Optional<Predicate<String>> reads,
      Optional<Predicate<String>> changes,
      Dashboard.Actions actions)
      throws IOException {
    server =
        WebServer.start(
            "127.0.0.1",
            0,
            () -> new Health(List.of(Health.Component.up("kafka"))),
            () -> true,
            () -> "a_total 1.0\n",
            reads,
            Optional.of(new Dashboard(Optional::empty, actions, changes)));
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  private String request(String request, String... headers) throws IOException {
    URI uri = URI.create(server.url());
    StringBuilder text = new StringBuilder(request).append(" HTTP/1.1\r\nConnection: close\r\n");
    boolean hasHost = false;
    for (String header : headers) {
      text.append(header).append("\r\n");
      hasHost |= header.startsWith("Host:");
    }
    if (!hasHost) {
      text.append("Host: 127.0.0.1:").append(uri.getPort()).append("\r\n");
    }
    try (Socket socket = new Socket(uri.getHost(), uri.getPort())) {
      OutputStream out = socket.getOutputStream();
      out.write(text.append("\r\n").toString().getBytes(StandardCharsets.UTF_8));
      out.flush();
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static int status(String response) {
    return Integer.parseInt(response.substring(9, 12));
  }

  @Test
  void every_response_has_the_policy_and_nothing_for_other_sites() throws Exception {
    start(Optional.empty(), TOKEN);
    for (String path :
        List.of(
            "/", "/app.js", "/api/workloads", "/api/promote", "/nowhere", "/api/openapi.json")) {
      String response = request("GET " + path).toLowerCase(Locale.ROOT);
      assertThat(response)
          .as(path)
          .contains(
              "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self';",
              "frame-ancestors 'none'",
              "x-content-type-options: nosniff",
              "referrer-policy: no-referrer",
              "cross-origin-resource-policy: same-origin",
              "cache-control: no-store")
          .doesNotContain("access-control-", "unsafe-", "jetty");
    }
    assertThat(request("GET /health")).startsWith("HTTP/1.1 200");
  }

  /** Returns the names of the pages' files. */
  private static List<String> files() throws IOException {
    try (Stream<Path> files = Files.list(FILES)) {
      List<String> names = files.map(file -> file.getFileName().toString()).toList();
      assertThat(names).contains("index.html", "app.js", "openapi.json");
      return names.stream().filter(name -> !name.equals("openapi.json")).toList();
    }
  }

  @Test
  void each_file_is_served_and_no_other() throws Exception {
    start(Optional.empty(), TOKEN);
    for (String file : files()) {
      assertThat(status(request("GET /" + file))).as(file).isEqualTo(200);
    }
    assertThat(request("GET /echarts.js"))
        .contains("text/javascript", "Apache Software Foundation");
    assertThat(request("GET /")).contains("text/html", "<title>Shardtide</title>");
    assertThat(request("HEAD /app.js")).contains("text/javascript").endsWith("\r\n\r\n");
    assertThat(status(request("GET /openapi.json"))).isEqualTo(404);
    assertThat(status(request("GET /../io/shardtide/config/version.properties"))).isIn(400, 404);
    assertThat(status(request("GET /dashboard/app.js"))).isEqualTo(404);
  }

  /** Scripts import only existing files, and none sets HTML or loads from other sites. */
  @Test
  void files_refer_only_to_one_another() throws Exception {
    start(Optional.empty(), TOKEN);
    for (String file : files()) {
      String text = Files.readString(FILES.resolve(file));
      assertThat(text)
          .as(file)
          .doesNotContain("innerHTML", "insertAdjacentHTML", "document.write", "eval(", " style=")
          .doesNotContainPattern("(src|href)=\"(https?:)?//");
      Matcher imported = Pattern.compile("(?:from |import\\()\"\\./([^\"]+)\"").matcher(text);
      while (imported.find()) {
        assertThat(status(request("GET /" + imported.group(1)))).isEqualTo(200);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "x:80"})
  void a_host_name_that_could_resolve_to_any_machine_is_rejected(String host) throws Exception {
    start(Optional.empty(), TOKEN);
    for (String path : List.of("/", "/api/workloads")) {
      String response = request("GET " + path, "Host: " + host);
      assertThat(status(response)).isEqualTo(403);
      assertThat(response)
          .contains("must be an address, localhost or the value of http.host, got ");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"localhost", "localhost:8080", "127.0.0.1", "[::1]:1", "10.1.2.3"})
  void addresses_and_localhost_are_accepted(String host) throws Exception {
    start(Optional.empty(), TOKEN);
    assertThat(status(request("GET /", "Host: " + host))).isEqualTo(200);
  }

  @ParameterizedTest
  @CsvSource({
    "Origin: http://evil.example",
    "Origin: null",
    "Sec-Fetch-Site: cross-site",
    "Sec-Fetch-Site: same-site",
  })
  void other_sites_can_neither_read_nor_change(String header) throws Exception {
    start(Optional.empty(), TOKEN);
    assertThat(status(request("GET /api/workloads", header))).isEqualTo(403);
    assertThat(
            status(request("POST /api/promote?model=ab", header, "Authorization: Bearer s3cret")))
        .isEqualTo(403);
    assertThat(done).isEmpty();
  }

  @Test
  void changes_need_the_token() throws Exception {
    start(Optional.empty(), TOKEN);
    String bare = request("POST /api/promote?model=ab");
    assertThat(status(bare)).isEqualTo(401);
    assertThat(bare).contains("WWW-Authenticate: Bearer");
    for (String wrong : List.of("Bearer s3cre", "Bearer s3crett", "Basic s3cret", "s3cret")) {
      assertThat(status(request("POST /api/rollback?hardware=h", "Authorization: " + wrong)))
          .isEqualTo(401);
    }
    assertThat(status(request("POST /api/promote?model=ab&token=s3cret"))).isEqualTo(401);
    assertThat(done).isEmpty();
    String origin = "Origin: " + server.url();
    assertThat(
            request(
                "POST /api/promote?model=ab",
                origin,
                "Sec-Fetch-Site: same-origin",
                "Authorization: Bearer s3cret"))
        .startsWith("HTTP/1.1 200")
        .endsWith("{\"done\":\"done\"}");
    assertThat(status(request("POST /api/rollback?hardware=a%2Fb", "Authorization: bearer s3cret")))
        .isEqualTo(200);
    assertThat(done).containsExactly("promote ab", "rollback a/b");
  }

  @Test
  void without_a_token_changes_are_disabled() throws Exception {
    start(Optional.empty(), Optional.empty());
    assertThat(status(request("POST /api/promote?model=ab", "Authorization: Bearer ")))
        .isEqualTo(403);
    assertThat(done).isEmpty();
  }

  @Test
  void where_reading_needs_the_token_only_the_files_do_not() throws Exception {
    start(TOKEN, TOKEN);
    assertThat(status(request("GET /", "Host: planner.example"))).isEqualTo(200);
    for (String path : List.of("workloads", "stream", "entries", "plan?id=a", "nowhere")) {
      assertThat(status(request("GET /api/" + path))).as(path).isEqualTo(401);
    }
    String known = request("GET /api/workloads", "Authorization: Bearer s3cret");
    assertThat(status(known)).isEqualTo(503);
    assertThat(known).contains("The server is still reading the log; retry in a few seconds");
  }

  @ParameterizedTest
  @CsvSource({
    "POST /api/promote, 400, Parameter model is missing",
    "POST /api/promote?model=none, 400, There is no model none",
    "POST /api/promote?model=away, 502, The Kafka cluster does not response",
    "'GET /api/promote?model=ab', 405, 'The method must be POST, got GET'",
    "'POST /api/workloads', 405, 'The method must be GET or HEAD, got POST'",
    "'DELETE /', 405, 'The method must be GET or HEAD, got DELETE'",
    "GET /api/nowhere, 404, There is nothing at this path",
    "GET /api/workloads, 503, The server is still reading the log",
    "GET /api/stream, 503, The server is still reading the log",
  })
  void errors_say_what_is_expected(String request, int status, String problem) throws Exception {
    start(Optional.empty(), TOKEN);
    String response = request(request, "Authorization: Bearer s3cret");
    assertThat(status(response)).isEqualTo(status);
    assertThat(response).contains("{\"problem\":\"" + problem);
  }

  @Test
  void one_request_at_a_time_reads_the_log() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    start(
        Optional.empty(),
        TOKEN,
        new RecordedActions() {
          @Override
          public String rollback(String hardware) {
            begun.countDown();
            try {
              end.await(30, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
            return "rolled back";
          }
        });
    String[] first = new String[1];
    Thread slow =
        new Thread(
            () -> {
              try {
                first[0] = request("POST /api/rollback?hardware=h", "Authorization: Bearer s3cret");
              } catch (IOException e) {
                first[0] = e.toString();
              }
            });
    slow.start();
    assertThat(begun.await(30, TimeUnit.SECONDS)).isTrue();
    assertThat(status(request("POST /api/promote?model=ab", "Authorization: Bearer s3cret")))
        .isEqualTo(429);
    end.countDown();
    slow.join();
    assertThat(first[0]).contains("rolled back");
    assertThat(status(request("POST /api/promote?model=ab", "Authorization: Bearer s3cret")))
        .isEqualTo(200);
  }

  @Test
  void every_documented_path_is_served() throws Exception {
    start(Optional.empty(), TOKEN);
    String response = request("GET /api/openapi.json");
    JsonNode document =
        new ObjectMapper().readTree(response.substring(response.indexOf("\r\n\r\n") + 4));
    List<String> paths = new ArrayList<>();
    document.get("paths").fieldNames().forEachRemaining(paths::add);
    assertThat(paths).hasSize(14);
    for (String path : paths) {
      String method = document.get("paths").get(path).has("post") ? "POST " : "GET ";
      assertThat(status(request(method + path))).as(path).isIn(401, 503);
    }
  }

  private CompletableFuture<HttpResponse<String>> send(HttpClient client, String path) {
    return client.sendAsync(
        HttpRequest.newBuilder(URI.create(server.url() + path)).build(),
        HttpResponse.BodyHandlers.ofString());
  }

  /** Requests that wait for plans, and more of the others than the server has threads. */
  @Test
  void probes_are_answered_while_all_requests_of_the_dashboard_wait_for_the_log() throws Exception {
    CountDownLatch answers = new CountDownLatch(1);
    server =
        WebServer.start(
            "127.0.0.1",
            0,
            () -> new Health(List.of(Health.Component.up("kafka"))),
            () -> true,
            () -> "a_total 1.0\n",
            Optional.empty(),
            Optional.of(
                new Dashboard(
                    () -> {
                      try {
                        answers.await();
                      } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                      }
                      return Optional.empty();
                    },
                    new RecordedActions(),
                    Optional.empty())));
    HttpClient client = HttpClient.newHttpClient();
    int mayWait = DashboardHandler.PLAN_THREADS + DashboardHandler.MAX_WAITING_FOR_PLANS;
    List<CompletableFuture<HttpResponse<String>>> plans =
        IntStream.rangeClosed(0, mayWait)
            .mapToObj(i -> send(client, i % 2 == 0 ? "/api/plan?id=1" : "/api/diff?earlier=1"))
            .toList();
    CompletableFuture.anyOf(plans.toArray(CompletableFuture[]::new)).get();
    HttpResponse<String> tooMany =
        plans.stream().filter(CompletableFuture::isDone).findFirst().orElseThrow().get();
    assertThat(tooMany.statusCode()).isEqualTo(503);
    assertThat(tooMany.body()).contains("At most 64 requests may wait for plans, and as many do.");
    assertThat(tooMany.headers().firstValue("cache-control")).contains("no-store");
    assertThat(plans.stream().filter(CompletableFuture::isDone)).hasSize(1);

    List<CompletableFuture<HttpResponse<String>>> others =
        IntStream.range(0, 40).mapToObj(i -> send(client, "/api/workloads")).toList();
    for (String path : List.of("/live", "/health", "/metrics")) {
      assertThat(send(client, path).get().statusCode()).as(path).isEqualTo(200);
    }
    assertThat(others.stream().filter(CompletableFuture::isDone)).isEmpty();
    answers.countDown();
    for (CompletableFuture<HttpResponse<String>> other : others) {
      assertThat(other.get().body()).contains("still reading the log");
    }
    for (CompletableFuture<HttpResponse<String>> plan : plans) {
      assertThat(plan.get().statusCode()).isEqualTo(503);
    }
  }
}
