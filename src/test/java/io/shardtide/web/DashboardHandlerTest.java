package io.shardtide.web;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the dashboard's server lets in, over real sockets, while there is no log to show. */
class DashboardHandlerTest {
  private static final Path FILES = Path.of("src/main/resources/dashboard");
  private static final Optional<Predicate<String>> TOKEN = Optional.of("s3cret"::equals);

  private final List<String> done = new ArrayList<>();
  private WebServer server;

  /** Notes what it is asked for. */
  private class Noted implements Dashboard.Actions {
    @Override
    public Object why(String planId) {
      throw new IllegalStateException("There is no log");
    }

    @Override
    public String promote(String modelId) throws IOException {
      if (modelId.equals("away")) {
        throw new IOException("The Kafka cluster does not answer");
      }
      if (modelId.equals("none")) {
        throw new IllegalArgumentException("There is no such model; legal is one");
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
    start(reads, changes, new Noted());
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
            () -> new Health(List.of(Health.Part.up("kafka"))),
            () -> "a_total 1.0\n",
            reads,
            Optional.of(new Dashboard(Optional::empty, actions, changes)));
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  private String ask(String request, String... headers) throws IOException {
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

  private static int status(String answer) {
    return Integer.parseInt(answer.substring(9, 12));
  }

  @Test
  void every_answer_has_the_policy_and_nothing_for_other_sites() throws Exception {
    start(Optional.empty(), TOKEN);
    for (String path :
        List.of(
            "/", "/app.js", "/api/workloads", "/api/promote", "/nowhere", "/api/openapi.json")) {
      String answer = ask("GET " + path).toLowerCase(Locale.ROOT);
      assertThat(answer)
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
    assertThat(ask("GET /health")).startsWith("HTTP/1.1 200");
  }

  @Test
  void each_file_is_served_and_no_other() throws Exception {
    start(Optional.empty(), TOKEN);
    TreeSet<String> served = new TreeSet<>(StaticPages.FILES);
    served.add("openapi.json");
    try (Stream<Path> files = Files.list(FILES)) {
      assertThat(files.map(file -> file.getFileName().toString()))
          .as("what is in the folder is what is served")
          .containsExactlyInAnyOrderElementsOf(served);
    }
    for (String file : StaticPages.FILES) {
      assertThat(status(ask("GET /" + file))).as(file).isEqualTo(200);
    }
    assertThat(ask("GET /")).contains("text/html", "<title>Shardtide</title>");
    assertThat(ask("HEAD /app.js")).contains("text/javascript").endsWith("\r\n\r\n");
    assertThat(status(ask("GET /openapi.json"))).isEqualTo(404);
    assertThat(status(ask("GET /../logback.xml"))).isIn(400, 404);
    assertThat(status(ask("GET /dashboard/app.js"))).isEqualTo(404);
  }

  /** Scripts import only what is there, and nothing sets markup or comes from elsewhere. */
  @Test
  void files_name_only_one_another() throws Exception {
    start(Optional.empty(), TOKEN);
    for (String file : StaticPages.FILES) {
      String text = Files.readString(FILES.resolve(file));
      assertThat(text)
          .as(file)
          .doesNotContain("innerHTML", "insertAdjacentHTML", "document.write", "eval(", " style=")
          .doesNotContainPattern("(src|href)=\"(https?:)?//");
      Matcher imported = Pattern.compile("from \"\\./([^\"]+)\"").matcher(text);
      while (imported.find()) {
        assertThat(StaticPages.FILES).contains(imported.group(1));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "x:80"})
  void a_name_that_may_point_anywhere_is_refused(String host) throws Exception {
    start(Optional.empty(), TOKEN);
    for (String path : List.of("/", "/api/workloads")) {
      String answer = ask("GET " + path, "Host: " + host);
      assertThat(status(answer)).isEqualTo(403);
      assertThat(answer).contains("legal are addresses, localhost, and http.host");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"localhost", "localhost:8080", "127.0.0.1", "[::1]:1", "10.1.2.3"})
  void addresses_and_localhost_are_legal(String host) throws Exception {
    start(Optional.empty(), TOKEN);
    assertThat(status(ask("GET /", "Host: " + host))).isEqualTo(200);
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
    assertThat(status(ask("GET /api/workloads", header))).isEqualTo(403);
    assertThat(status(ask("POST /api/promote?model=ab", header, "Authorization: Bearer s3cret")))
        .isEqualTo(403);
    assertThat(done).isEmpty();
  }

  @Test
  void changes_need_the_token() throws Exception {
    start(Optional.empty(), TOKEN);
    String bare = ask("POST /api/promote?model=ab");
    assertThat(status(bare)).isEqualTo(401);
    assertThat(bare).contains("WWW-Authenticate: Bearer");
    for (String wrong : List.of("Bearer s3cre", "Bearer s3crett", "Basic s3cret", "s3cret")) {
      assertThat(status(ask("POST /api/rollback?hardware=h", "Authorization: " + wrong)))
          .isEqualTo(401);
    }
    assertThat(status(ask("POST /api/promote?model=ab&token=s3cret"))).isEqualTo(401);
    assertThat(done).isEmpty();
    String origin = "Origin: " + server.url();
    assertThat(
            ask(
                "POST /api/promote?model=ab",
                origin,
                "Sec-Fetch-Site: same-origin",
                "Authorization: Bearer s3cret"))
        .startsWith("HTTP/1.1 200")
        .endsWith("{\"done\":\"done\"}");
    assertThat(status(ask("POST /api/rollback?hardware=a%2Fb", "Authorization: bearer s3cret")))
        .isEqualTo(200);
    assertThat(done).containsExactly("promote ab", "rollback a/b");
  }

  @Test
  void where_there_is_no_token_nobody_changes_anything() throws Exception {
    start(Optional.empty(), Optional.empty());
    assertThat(status(ask("POST /api/promote?model=ab", "Authorization: Bearer "))).isEqualTo(403);
    assertThat(done).isEmpty();
  }

  @Test
  void where_reading_needs_the_token_only_the_files_are_for_all() throws Exception {
    start(TOKEN, TOKEN);
    assertThat(status(ask("GET /", "Host: planner.example"))).isEqualTo(200);
    for (String path : List.of("workloads", "stream", "entries", "plan?id=a", "nowhere")) {
      assertThat(status(ask("GET /api/" + path))).as(path).isEqualTo(401);
    }
    String known = ask("GET /api/workloads", "Authorization: Bearer s3cret");
    assertThat(status(known)).isEqualTo(503);
    assertThat(known).contains("The log is being read; try again in a moment");
  }

  @ParameterizedTest
  @CsvSource({
    "POST /api/promote, 400, There is no parameter model; legal is one",
    "POST /api/promote?model=none, 400, There is no such model; legal is one",
    "POST /api/promote?model=away, 502, The Kafka cluster does not answer",
    "GET /api/promote?model=ab, 405, Legal are POST",
    "'POST /api/workloads', 405, 'Legal are GET, HEAD'",
    "'DELETE /', 405, 'Legal are GET, HEAD'",
    "GET /api/nowhere, 404, There are /",
    "GET /api/workloads, 503, The log is being read",
    "GET /api/stream, 503, The log is being read",
  })
  void errors_say_what_is_legal(String request, int status, String problem) throws Exception {
    start(Optional.empty(), TOKEN);
    String answer = ask(request, "Authorization: Bearer s3cret");
    assertThat(status(answer)).isEqualTo(status);
    assertThat(answer).contains("{\"problem\":\"" + problem);
  }

  @Test
  void one_reading_of_the_log_at_a_time() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    start(
        Optional.empty(),
        TOKEN,
        new Noted() {
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
                first[0] = ask("POST /api/rollback?hardware=h", "Authorization: Bearer s3cret");
              } catch (IOException e) {
                first[0] = e.toString();
              }
            });
    slow.start();
    assertThat(begun.await(30, TimeUnit.SECONDS)).isTrue();
    assertThat(status(ask("POST /api/promote?model=ab", "Authorization: Bearer s3cret")))
        .isEqualTo(429);
    end.countDown();
    slow.join();
    assertThat(first[0]).contains("rolled back");
    assertThat(status(ask("POST /api/promote?model=ab", "Authorization: Bearer s3cret")))
        .isEqualTo(200);
  }

  @Test
  void what_is_documented_is_served() throws Exception {
    start(Optional.empty(), TOKEN);
    String answer = ask("GET /api/openapi.json");
    JsonNode document =
        new ObjectMapper().readTree(answer.substring(answer.indexOf("\r\n\r\n") + 4));
    List<String> paths = new ArrayList<>();
    document.get("paths").fieldNames().forEachRemaining(paths::add);
    assertThat(paths).hasSize(12);
    for (String path : paths) {
      String method = document.get("paths").get(path).has("post") ? "POST " : "GET ";
      assertThat(status(ask(method + path))).as(path).isIn(401, 503);
    }
  }
}
