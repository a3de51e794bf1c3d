package io.shardtide.cli;

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
   * Returns the hardware; a usage error if one has no model.
   *
   * @param models the models that there are
   */
  List<NamedHardware> with(PlanModels models) {
    for (String name : hardware.keySet()) {
      if (models.find(name).isEmpty()) {
        throw wrong(
            "--hardware must have a model, there are %s; got %s. Maybe pass one with --model"
                .formatted(models.known(), Names.quote(name)));
      }
    }
    return hardware.entrySet().stream()
        .map(one -> new NamedHardware(one.getKey(), one.getValue()))
        .toList();
  }

  /** Returns the names of the hardware on which every workload must fit. */
  Set<String> mustFit() {
    return mustFit.contains(ALL) ? hardware.keySet() : new HashSet<>(mustFit);
  }

  private ParameterException wrong(String message) {
    return new ParameterException(command.commandLine(), message);
  }
}
