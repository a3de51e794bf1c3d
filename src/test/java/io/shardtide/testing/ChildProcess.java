package io.shardtide.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** A Java program of this class path in a process of its own. What it prints goes to a file. */
public final class ChildProcess implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofMinutes(3);

  private final ProcessBuilder builder;
  private final Path output;
  private final String ready;
  private Process process;

  private ChildProcess(ProcessBuilder builder, Path output, String ready) throws IOException {
    this.builder = builder;
    this.output = output;
    this.ready = ready;
    process = builder.start();
  }

  /** Starts a broker with its data in a folder, and returns when it serves. */
  public static ChildProcess broker(Path folder) throws IOException, InterruptedException {
    ChildProcess child =
        start(folder, Map.of(), BrokerProgram.class, BrokerProgram.READY, folder.toString());
    child.awaitReady();
    return child;
  }

  /**
   * Starts a planner.
   *
   * @param output folder for what it prints
   * @param environment added to this process's own
   * @param arguments see {@link PlannerProgram}
   */
  public static ChildProcess planner(
      Path output, Map<String, String> environment, List<String> arguments) throws IOException {
    return start(
        output,
        environment,
        PlannerProgram.class,
        PlannerProgram.READY,
        arguments.toArray(new String[0]));
  }

  private static ChildProcess start(
      Path folder,
      Map<String, String> environment,
      Class<?> program,
      String ready,
      String... arguments)
      throws IOException {
    Files.createDirectories(folder);
    Path output = Files.createTempFile(folder, program.getSimpleName(), ".out");
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx512m",
                // These are started often and live for seconds.
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Dorg.bytedeco.javacpp.maxphysicalbytes=0",
                "-cp",
                System.getProperty("java.class.path"),
                program.getName()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
    builder.environment().put("TF_CPP_MIN_LOG_LEVEL", "2");
    builder.environment().putAll(environment);
    return new ChildProcess(builder, output, ready);
  }

  /** Returns where a broker serves. */
  public String address() throws IOException {
    return line(BrokerProgram.READY).orElseThrow().substring(BrokerProgram.READY.length());
  }

  /** Starts what was killed again, with the same arguments, and returns when it is ready. */
  public void again() throws IOException, InterruptedException {
    process = builder.start();
    awaitReady();
  }

  /** Waits until a broker serves, or a planner has its partitions. */
  public void awaitReady() throws IOException, InterruptedException {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (line(ready).isEmpty()) {
      if (!process.isAlive() || System.nanoTime() > end) {
        throw new IllegalStateException("No \"%s\" in:\n%s".formatted(ready, output()));
      }
      Thread.sleep(10);
    }
  }

  private Optional<String> line(String beginning) throws IOException {
    return Files.readAllLines(output).stream().filter(l -> l.startsWith(beginning)).findFirst();
  }

  /** Returns what it printed. */
  public String output() throws IOException {
    return Files.readString(output);
  }

  /** Ends it as {@code kill -9} does, and returns when it has ended. */
  public void kill() {
    process.toHandle().destroyForcibly();
    process.onExit().join();
  }

  /** Ends it as an operator does, and returns when it has ended. */
  @Override
  public void close() {
    process.toHandle().destroy();
    process.onExit().completeOnTimeout(process, 30, TimeUnit.SECONDS).join();
    kill();
  }
}
