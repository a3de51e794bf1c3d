package io.shardtide.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.cli.Shardtide;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * {@code shardtide run} in a process of its own.
 *
 * @param process the process
 * @param home where it writes what it says
 * @param token what it asks callers for; empty if nothing
 */
public record RunningService(Process process, Path home, Optional<String> token) {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /** Starts it with a settings file, beside which it writes what it says. */
  public static RunningService start(Path settings) throws IOException {
    return start(settings, System.getProperty("java.class.path"));
  }

  /** Starts that of another version, by its class path. */
  public static RunningService start(Path settings, String classPath) throws IOException {
    Path home = settings.getParent();
    return new RunningService(
        program(classPath, "run", "--config", settings.toString())
            .redirectOutput(home.resolve("out").toFile())
            .redirectError(home.resolve("err").toFile())
            .start(),
        home,
        Optional.empty());
  }

  /**
   * Runs another command of a version, and returns its status.
   *
   * @param home where it writes what it says
   */
  public static int run(Path home, String classPath, String... arguments)
      throws IOException, InterruptedException {
    return program(classPath, arguments)
        .redirectErrorStream(true)
        .redirectOutput(home.resolve(arguments[0] + ".out").toFile())
        .start()
        .waitFor();
  }

  /**
   * Recomputes the plans of a cluster's log with a version, and returns the status of the command.
   *
   * @param home where it writes what it says
   * @param made where it writes the plans
   */
  public static int replay(
      Path home,
      String classPath,
      String bootstrapServers,
      String registryUrl,
      String prefix,
      Path made)
      throws IOException, InterruptedException {
    return run(
        home,
        classPath,
        "replay",
        "--bootstrap",
        bootstrapServers,
        "--registry",
        registryUrl,
        "--prefix",
        prefix,
        "--out",
        made.toString());
  }

  /** Starts fast, and stays small. */
  private static ProcessBuilder program(String classPath, String... arguments) {
    return program(List.of("-Xmx512m", "-XX:TieredStopAtLevel=1"), classPath, arguments);
  }

  /**
   * Returns how to start the program of a version.
   *
   * @param options of its JVM, beside those that it always has
   */
  public static ProcessBuilder program(
      List<String> options, String classPath, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(options);
    command.addAll(
        List.of(
            "-XX:+UseSerialGC",
            "-Dorg.bytedeco.javacpp.maxphysicalbytes=0",
            "-cp",
            classPath,
            Shardtide.class.getName()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().put("TF_CPP_MIN_LOG_LEVEL", "2");
    return builder;
  }

  /** The same, asked with a token. */
  public RunningService with(String newToken) {
    return new RunningService(process, home, Optional.of(newToken));
  }

  public String out() throws IOException {
    return Files.readString(home.resolve("out"));
  }

  public String err() throws IOException {
    return Files.readString(home.resolve("err"));
  }

  /** Waits until it says something. */
  public void says(String text) {
    await()
        .atMost(PATIENCE)
        .failFast(() -> !process.isAlive())
        .untilAsserted(() -> assertThat(out() + err()).contains(text));
  }

  /** Returns where a page is served. */
  public URI address(String page) throws IOException {
    Matcher url = Pattern.compile("(http://\\S+)/" + page).matcher(out());
    assertThat(url.find()).as(out()).isTrue();
    return URI.create(url.group());
  }

  public HttpResponse<String> ask(String page) throws Exception {
    HttpRequest.Builder request = HttpRequest.newBuilder(address(page));
    token.ifPresent(t -> request.header("Authorization", "Bearer " + t));
    return HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  /** Waits until health has this status, and returns what it says. */
  public JsonNode health(int status) {
    return await()
        .atMost(PATIENCE)
        .failFast(() -> !process.isAlive())
        .until(() -> ask("health"), answer -> answer.statusCode() == status)
        .body()
        .transform(RunningService::json);
  }

  /** Waits until health says that something is wrong with a part, and returns what it says. */
  public JsonNode health(String part, String problem) {
    return await()
        .atMost(PATIENCE)
        .failFast(() -> !process.isAlive())
        .until(
            () -> json(ask("health").body()), health -> problem(health, part).startsWith(problem));
  }

  /** Returns what is wrong with a part, or an empty text. */
  public static String problem(JsonNode health, String part) {
    for (JsonNode candidate : health.get("parts")) {
      if (candidate.get("name").textValue().equals(part)) {
        return candidate.path("problem").asText("");
      }
    }
    throw new AssertionError("no " + part + " in " + health);
  }

  private static JsonNode json(String text) {
    try {
      return JSON.readTree(text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Ends it as an operator does; it has to end well. */
  public void terminate() throws InterruptedException {
    process.toHandle().destroy();
    assertThat(process.waitFor(30, TimeUnit.SECONDS)).as("ended").isTrue();
    assertThat(process.exitValue()).as("ended by SIGTERM").isEqualTo(143);
  }

  /** Ends it as {@code kill -9} does, and returns when it has ended. */
  public void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }
}
