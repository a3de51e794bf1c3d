package io.shardtide.bench.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.testing.RunningService;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** {@code shardtide run} of some version in a process of its own, which can start again. */
final class PlannerProcess implements AutoCloseable {
  private static final Pattern RESTORED = Pattern.compile("Restored (\\d+) records of ");
  private static final Pattern HEAP =
      Pattern.compile("(?:generation|heap)\\s+total \\d+K, used (\\d+)K");
  private static final Pattern RESIDENT = Pattern.compile("VmRSS:\\s+(\\d+) kB");

  private final Path home;
  private final ProcessBuilder builder;
  private Process process;

  /**
   * Prepares a planner.
   *
   * @param partitions of each topic
   * @param classPath of its version
   * @param heapMiB its largest heap
   */
  PlannerProcess(
      BenchmarkCluster cluster, String name, int partitions, String classPath, int heapMiB)
      throws IOException {
    home = Files.createDirectories(cluster.directory().resolve(name));
    Path settings =
        Files.writeString(
            home.resolve("shardtide.properties"),
            """
            bootstrap.servers=%s
            schema.registry.url=%s
            state.directory=%s
            topics.partitions=%d
            topics.replication=1
            http.port=0
            """
                .formatted(
                    cluster.endpoint().bootstrapServers(),
                    cluster.endpoint().registryUrl(),
                    state(),
                    partitions));
    builder =
        RunningService.program(
                List.of("-Xmx%dm".formatted(heapMiB)),
                classPath,
                "run",
                "--config",
                settings.toString())
            .redirectErrorStream(true)
            .redirectOutput(home.resolve("output").toFile());
  }

  /** Returns the folder of its state. */
  Path state() {
    return home.resolve("state");
  }

  /** Starts it; does not wait for it. */
  void start() throws IOException {
    process = builder.start();
  }

  void awaitServing() {
    await()
        .atMost(Duration.ofMinutes(3))
        .failFast(() -> assertThat(process.isAlive()).as(output()).isTrue())
        .until(() -> output().contains("Serving."));
  }

  /** Ends it as {@code kill -9} does. */
  void kill() {
    process.destroyForcibly().onExit().join();
  }

  /** Ends it as an operator does. */
  void stop() throws InterruptedException {
    process.toHandle().destroy();
    assertThat(process.waitFor(1, TimeUnit.MINUTES)).as("ended").isTrue();
  }

  private String output() throws IOException {
    return Files.readString(home.resolve("output"));
  }

  /** Returns how many records of changelogs it has restored since it was started. */
  double restored() {
    try {
      return sum(RESTORED, output());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns its heap after a collection, in KiB. */
  double heap() {
    jcmd(process.pid(), "GC.run");
    return sum(HEAP, jcmd(process.pid(), "GC.heap_info"));
  }

  /** Returns its resident memory in KiB. */
  double resident() {
    try {
      return sum(RESIDENT, Files.readString(Path.of("/proc/%d/status".formatted(process.pid()))));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns its processor time in milliseconds. */
  double cpuMillis() {
    return process.info().totalCpuDuration().orElseThrow().toNanos() / 1e6;
  }

  /** Returns the processor time of its threads with such names, in milliseconds. */
  double cpuMillis(String threads) {
    return cpuMillis(process.pid(), threads);
  }

  /** Returns the processor time of the threads of a JVM with such names, in milliseconds. */
  static double cpuMillis(long pid, String threads) {
    return sum(
        Pattern.compile("(?m)^\"%s\".* cpu=([0-9.]+)ms".formatted(threads)),
        jcmd(pid, "Thread.print"));
  }

  private static String jcmd(long pid, String command) {
    try {
      Process jcmd =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                  Long.toString(pid),
                  command)
              .redirectErrorStream(true)
              .start();
      return new String(jcmd.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static double sum(Pattern pattern, String text) {
    return pattern
        .matcher(text)
        .results()
        .mapToDouble(found -> Double.parseDouble(found.group(1)))
        .sum();
  }

  /** Returns the bytes of all files of a folder. */
  static long bytes(Path folder) {
    try (Stream<Path> files = Files.walk(folder)) {
      // RocksDB deletes files meanwhile: they have 0 bytes.
      return files.mapToLong(file -> file.toFile().isFile() ? file.toFile().length() : 0).sum();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    if (process != null) {
      kill();
    }
  }
}
