package io.shardtide.cli;

import io.shardtide.workload.Names;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
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
      converter = NamedHardware.Converter.class,
      description =
          "Plans each workload on each of these kinds of hardware instead of its cluster's, and"
              + " prints a table. GIB: memory of a device in GiB (2^30 bytes). Default: that of the cluster.")
  private List<NamedHardware> hardware = List.of();

  @Option(
      names = "--must-fit",
      paramLabel = "NAME",
      split = ",",
      description =
          "With --hardware: on which of it every workload must fit, or all. If one does not, the exit status is 1.")
  private List<String> mustFit = List.of();

  /** Returns whether hardware is named. */
  boolean isGiven() {
    return !hardware.isEmpty();
  }

  /** Fails as wrong usage if hardware is named twice, or must fit and is not named. */
  void check() {
    if (!mustFit.isEmpty() && !isGiven()) {
      throw wrong("--must-fit needs --hardware");
    }
    Set<String> names = new LinkedHashSet<>();
    for (NamedHardware one : hardware) {
      if (!names.add(one.name())) {
        throw wrong(
            "--hardware must name each hardware once, got %s twice"
                .formatted(Names.quote(one.name())));
      }
    }
    for (String name : mustFit) {
      if (!name.equals(ALL) && !names.contains(name)) {
        throw wrong(
            "--must-fit must be all, or names of --hardware: %s; got %s"
                .formatted(
                    names.stream().map(Names::quote).collect(Collectors.joining(", ")),
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
    for (NamedHardware one : hardware) {
      if (models.find(one.name()).isEmpty()) {
        throw wrong(
            "--hardware must have a model, there are %s; got %s. Maybe pass one with --model"
                .formatted(models.known(), Names.quote(one.name())));
      }
    }
    return hardware;
  }

  /** Returns the names of the hardware on which every workload must fit. */
  Set<String> mustFit() {
    return mustFit.contains(ALL)
        ? hardware.stream().map(NamedHardware::name).collect(Collectors.toSet())
        : new HashSet<>(mustFit);
  }

  private ParameterException wrong(String message) {
    return new ParameterException(command.commandLine(), message);
  }
}
