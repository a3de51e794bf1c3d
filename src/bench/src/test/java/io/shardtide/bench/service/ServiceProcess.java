package io.shardtide.bench.service;

import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.JavaProcess;
import io.shardtide.state.PlanningSettings;
import io.shardtide.topology.PlannerService;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The planner in a separate process, which ends when its standard input is closed. */
public final class ServiceProcess implements AutoCloseable {
  private static final long TIMEOUT_SECONDS = 60;
  private static final String READY = "The planner processes changes.";

  private final Process process;

  private ServiceProcess(Process process) {
    this.process = process;
  }

  /** Starts the process with the options of this JVM. */
  static ServiceProcess start(BenchmarkCluster cluster) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(ServiceProcess.class.getName());
    command.addAll(
        List.of(
            cluster.bootstrapServers(),
            cluster.registryUrl(),
            cluster.stateDirectory().toString(),
            Integer.toString(cluster.partitions())));
    return new ServiceProcess(
        new ProcessBuilder(command)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start());
  }

  /**
   * Prepares one of several planners, whose output is kept.
   *
   * @param cluster the cluster
   * @param name name of the planner, of its state directory and of its output
   * @param heapMiB its largest heap
   */
  static JavaProcess prepare(BenchmarkCluster cluster, String name, int heapMiB) {
    Path folder = cluster.directory().resolve(name);
    return JavaProcess.prepare(
        folder.resolve("output"),
        READY,
        List.of(
            "-Xmx%dm".formatted(heapMiB),
            "-XX:+UseSerialGC",
            "-Dorg.bytedeco.javacpp.maxphysicalbytes=0"),
        Map.of("TF_CPP_MIN_LOG_LEVEL", "2"),
        List.of(
            ServiceProcess.class.getName(),
            cluster.bootstrapServers(),
            cluster.registryUrl(),
            folder.resolve("state").toString(),
            Integer.toString(cluster.partitions())));
  }

  /** Runs in the process. */
  public static void main(String[] args) throws Exception {
    PlannerService service =
        BenchmarkCluster.start(
            args[0],
            args[1],
            Path.of(args[2]),
            Integer.parseInt(args[3]),
            PlanningSettings.DEFAULTS,
            TensorFlowTowers::new);
    Runtime.getRuntime().addShutdownHook(new Thread(service::close));
    BenchmarkCluster.awaitRunning(service, (phase, done, total) -> {});
    System.out.println(READY);
    System.in.transferTo(java.io.OutputStream.nullOutputStream());
    System.exit(0);
  }

  /** Throws if the process has ended. */
  void check() {
    if (!process.isAlive()) {
      throw new IllegalStateException(
          "The planner's process ended with status " + process.exitValue());
    }
  }

  /** Stops the planner and waits for the end of its process. */
  @Override
  public void close() throws IOException {
    process.getOutputStream().close();
    try {
      if (!process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
