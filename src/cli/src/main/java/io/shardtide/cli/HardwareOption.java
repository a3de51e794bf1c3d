package io.shardtide.cli;

import io.shardtide.samples.WorkloadTask;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.Names;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options that plan workloads on other hardware than their own. */
final class HardwareOption {
  private static final String ALL = "all";

  @Spec(Spec.Target.MIXEE)
  private CommandSpec command;

  @Option(
      names = "--hardware",
      paramLabel = "NAME[=GIB]",
      split = ",",
      mapFallbackValue = Option.NULL_VALUE,
      description =
          "Plans each workload on each of these kinds of hardware instead of its cluster's, and"
              + " prints a table. GIB: memory of a device in GiB (2^30 bytes). Default: that of the"
              + " cluster.")
  private Map<String, Optional<Double>> hardware = new LinkedHashMap<>();

  @Option(
      names = "--must-fit",
      paramLabel = "NAME",
      split = ",",
      description =
          "With --hardware: on which of it every workload must fit, or all. If one does not, the exit"
              + " status is 1.")
  private List<String> mustFit = List.of();

  /** Returns whether hardware is named. */
  boolean isGiven() {
    return !hardware.isEmpty();
  }

  /** Fails as wrong usage if hardware must fit that is not named. */
  void check() {
    for (String name : mustFit) {
      if (!hardware.containsKey(name) && !(isGiven() && name.equals(ALL))) {
        throw wrong(
            "--must-fit must be all, or names of --hardware: %s; got %s"
                .formatted(
                    hardware.keySet().stream().map(Names::quote).collect(Collectors.joining(", ")),
                    Names.quote(name)));
      }
    }
  }

  /**
   * Fails as wrong usage if hardware has no model.
   *
   * @param models the models that there are
   */
  void check(PlanModels models) {
    for (String name : hardware.keySet()) {
      if (models.find(name).isEmpty()) {
        throw wrong(
            "--hardware must have a model, there are %s; got %s. Maybe pass one with --model"
                .formatted(models.known(), Names.quote(name)));
      }
    }
  }

  /**
   * Returns a workload on as many devices of each hardware. All else of its cluster stays, reserved
   * memory too.
   *
   * @throws IllegalArgumentException if the cluster reserves all of the memory; names the hardware
   */
  List<WorkloadTask> on(WorkloadTask task) {
    return hardware.entrySet().stream().map(of -> on(task, of.getKey(), of.getValue())).toList();
  }

  private static WorkloadTask on(WorkloadTask task, String name, Optional<Double> memoryGib) {
    ClusterSpec cluster = task.cluster();
    try {
      return new WorkloadTask(
          task.name(),
          task.tables(),
          ClusterSpecBuilder.builder(cluster)
              .hardware(name)
              .memoryBytesPerDevice(
                  memoryGib
                      .map(gib -> Math.round(gib * (1L << 30)))
                      .orElse(cluster.memoryBytesPerDevice()))
              .build());
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("on %s: %s".formatted(name, e.getMessage()), e);
    }
  }

  /** Returns the names of the hardware on which every workload must fit. */
  Set<String> mustFit() {
    return mustFit.contains(ALL) ? hardware.keySet() : new HashSet<>(mustFit);
  }

  private ParameterException wrong(String message) {
    return new ParameterException(command.commandLine(), message);
  }
}
