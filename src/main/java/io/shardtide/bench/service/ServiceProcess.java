package io.shardtide.bench.service;

import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.domain.PlanningSettings;
import io.shardtide.topology.PlannerService;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The planner in a process of its own, which ends when its standard input does. */
public final class ServiceProcess implements AutoCloseable {
  private static final long PATIENCE_SECONDS = 60;

  private final Process process;

  private ServiceProcess(Process process) {
    this.process = process;
  }

  /** Starts the process, with the settings of this JVM. */
  static ServiceProcess start(BenchmarkCluster site) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(ServiceProcess.class.getName());
    command.addAll(
        List.of(site.bootstrapServers(), site.registryUrl(), site.stateDirectory().toString()));
    return new ServiceProcess(
        new ProcessBuilder(command)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start());
  }

  /** Runs in the process. */
  public static void main(String[] args) throws Exception {
    PlannerService service =
        BenchmarkCluster.start(
            args[0], args[1], Path.of(args[2]), PlanningSettings.DEFAULTS, TensorFlowTowers::new);
    System.in.transferTo(java.io.OutputStream.nullOutputStream());
    service.close();
    System.exit(0);
  }

  /** Throws if the process has ended by itself. */
  void check() {
    if (!process.isAlive()) {
      throw new IllegalStateException(
          "The planner's process ended with status " + process.exitValue());
    }
  }

  /** Stops the planner as an operator does, and returns when it has stopped. */
  @Override
  public void close() throws IOException {
    process.getOutputStream().close();
    try {
      if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
