package io.shardtide.embedded;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A Java program of this class path in a process of its own, which can be killed, paused and
 * started again. What it prints goes to a file.
 */
public final class JavaProcess implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofMinutes(3);
  private static final long STOP_SECONDS = 40;

  private final ProcessBuilder builder;
  private final Path output;
  private final String ready;
  private Process process;
  private long printedBefore;

  private JavaProcess(ProcessBuilder builder, Path output, String ready) {
    this.builder = builder;
    this.output = output;
    this.ready = ready;
  }

  /**
   * Prepares a process; {@link #start} starts it.
   *
   * @param output file that it prints to, after what the file has already
   * @param ready what it prints when it is ready
   * @param options options of its JVM
   * @param environment added to this process's own
   * @param command the name of its main class, and its arguments
   */
  public static JavaProcess prepare(
      Path output,
      String ready,
      List<String> options,
      Map<String, String> environment,
      List<String> command) {
    List<String> all = new ArrayList<>();
    all.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    all.addAll(options);
    all.addAll(List.of("-cp", System.getProperty("java.class.path")));
    all.addAll(command);
    ProcessBuilder builder =
        new ProcessBuilder(all)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(output.toFile()));
    builder.environment().putAll(environment);
    return new JavaProcess(builder, output, ready);
  }

  /** Ends this process when another one has ended, however it did. */
  static void endWith(long pid) {
    ProcessHandle parent =
        ProcessHandle.of(pid)
            .orElseThrow(() -> new IllegalStateException("Process %d has ended".formatted(pid)));
    Thread watch =
        new Thread(
            () -> {
              parent.onExit().join();
              Runtime.getRuntime().halt(1);
            },
            "parent");
    watch.setDaemon(true);
    watch.start();
  }

  /** Starts it; again, if it has ended. */
  public void start() throws IOException {
    if (isAlive()) {
      throw new IllegalStateException("Process %d runs already".formatted(process.pid()));
    }
    Files.createDirectories(output.toAbsolutePath().getParent());
    Files.write(output, new byte[0], StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    printedBefore = Files.size(output);
    process = builder.start();
  }

  /** Returns its command line, for whoever starts it by itself. */
  public List<String> command() {
    return List.copyOf(builder.command());
  }

  /** Returns whether it runs, or is paused. */
  public boolean isAlive() {
    return process != null && process.isAlive();
  }

  /** Returns the id of its process. */
  public long pid() {
    return process.pid();
  }

  /** Returns what it has printed since it was started. */
  public String output() throws IOException {
    byte[] printed = Files.readAllBytes(output);
    int before = (int) printedBefore;
    return new String(printed, before, printed.length - before, StandardCharsets.UTF_8);
  }

  /** Returns whether it has printed that it is ready since it was started. */
  public boolean isReady() throws IOException {
    return output().contains(ready);
  }

  /**
   * Waits until it is ready.
   *
   * @throws IllegalStateException if it ends before, or is not ready after three minutes
   */
  public void awaitReady() throws IOException, InterruptedException {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!isReady()) {
      if (!isAlive() || System.nanoTime() > end) {
        throw new IllegalStateException("No \"%s\" in:\n%s".formatted(ready, output()));
      }
      Thread.sleep(10);
    }
  }

  /** Ends it as {@code kill -9} does, and returns when it has ended. */
  public void kill() {
    process.toHandle().destroyForcibly();
    process.onExit().join();
  }

  /** Ends it as an operator does, with SIGTERM, and returns when it has ended; kills it at last. */
  public void stop() {
    process.toHandle().destroy();
    process.onExit().completeOnTimeout(process, STOP_SECONDS, TimeUnit.SECONDS).join();
    kill();
  }

  /** Stops it where it is; it does not learn of that. */
  public void pause() throws IOException, InterruptedException {
    signal("STOP");
  }

  /** Lets it continue. */
  public void resume() throws IOException, InterruptedException {
    signal("CONT");
  }

  private void signal(String name) throws IOException, InterruptedException {
    int status =
        new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor();
    if (status != 0) {
      throw new IOException("kill -%s %d ended with %d".formatted(name, process.pid(), status));
    }
  }

  /** Stops it if it runs. */
  @Override
  public void close() {
    if (isAlive()) {
      stop();
    }
  }
}
