package io.shardtide.testing;

import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;

/** A process of Apicurio Registry, in memory, from its artifact on Maven Central. */
public final class Apicurio implements AutoCloseable {
  /** The last line that runs on Java 17. */
  private static final String VERSION = "3.0.9";

  private static final String NAME = "apicurio-registry-app-" + VERSION;
  private static final Path FOLDER = Path.of("target", "apicurio").toAbsolutePath();
  private static final long MINUTES = 5;

  private final Process process;
  private final String url;

  private Apicurio(Process process, String url) {
    this.process = process;
    this.url = url;
  }

  /**
   * Starts, and returns when it serves. Skips the test where its artifact (109 MB, kept in
   * target/apicurio) cannot be had.
   */
  public static Apicurio start() throws IOException, InterruptedException {
    Path runner = FOLDER.resolve(NAME + "-runner.jar");
    Files.createDirectories(FOLDER);
    if (!Files.exists(runner)) {
      run(
          "mvn",
          "--batch-mode",
          "dependency:copy",
          "-Dartifact=io.apicurio:apicurio-registry-app:%s:tar.gz:all".formatted(VERSION),
          "-DoutputDirectory=" + FOLDER);
      run("tar", "-xzf", FOLDER.resolve(NAME + "-all.tar.gz").toString());
    }
    int port;
    try (ServerSocket free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    ProcessBuilder builder =
        command(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx512m",
            "-jar",
            runner.toString());
    builder.environment().put("QUARKUS_HTTP_HOST", "127.0.0.1");
    builder.environment().put("QUARKUS_HTTP_PORT", Integer.toString(port));
    Apicurio apicurio =
        new Apicurio(builder.start(), "http://127.0.0.1:%d/apis/ccompat/v7".formatted(port));
    try {
      // As Confluent's registry begins.
      Awaitility.await()
          .atMost(Duration.ofMinutes(MINUTES))
          .ignoreExceptionsInstanceOf(IOException.class)
          .until(() -> apicurio.put("/config", "{\"compatibility\": \"BACKWARD\"}") == 200);
    } catch (RuntimeException e) {
      apicurio.close();
      throw e;
    }
    return apicurio;
  }

  private int put(String path, String body) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url + path))
            .header("Content-Type", "application/json")
            .PUT(HttpRequest.BodyPublishers.ofString(body))
            .build();
    return HttpClient.newHttpClient()
        .send(request, HttpResponse.BodyHandlers.discarding())
        .statusCode();
  }

  private static ProcessBuilder command(String... command) {
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(FOLDER.toFile())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(FOLDER.resolve("log").toFile()));
    // Those of a test's own JVM.
    List.of("JAVA_TOOL_OPTIONS", "MAVEN_OPTS", "MAVEN_ARGS").forEach(builder.environment()::remove);
    return builder;
  }

  private static void run(String... command) throws IOException, InterruptedException {
    Process process;
    try {
      process = command(command).start();
    } catch (IOException e) {
      abort("%s is not installed: %s".formatted(command[0], e.getMessage()));
      throw e;
    }
    if (!process.waitFor(MINUTES, TimeUnit.MINUTES) || process.exitValue() != 0) {
      process.destroyForcibly();
      abort(
          "Apicurio %s cannot be had: %s fails; see %s"
              .formatted(VERSION, String.join(" ", command), FOLDER.resolve("log")));
    }
  }

  /** Returns where it serves Confluent's protocol. */
  public String url() {
    return url;
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
