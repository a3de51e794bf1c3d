package io.shardtide.cli;

import io.shardtide.replay.ExportFolder;
import io.shardtide.replay.PlanProvenance;
import io.shardtide.replay.ProvenanceCollector;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Explains a plan. */
@Command(
    name = "why",
    description =
        "Explains a plan: the events that led to it, the predictions of the model, the search, and"
            + " what each split and move saves.",
    footer = {
      "",
      "Example:",
      "  shardtide why --bootstrap kafka:9092 \\",
      "    --registry http://registry:8081 --plan 4f3c2a1b9d"
    },
    mixinStandardHelpOptions = true)
final class WhyCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Mixin private ClusterOption cluster;

  @Option(
      names = "--events",
      paramLabel = "FILE",
      description = "The events file of an export, instead of a cluster.")
  private Path events;

  @Option(
      names = "--plan",
      required = true,
      paramLabel = "ID",
      description = "The plan's id, or a prefix of it.")
  private String plan;

  @Option(names = "--json", description = "Print it as JSON instead of text.")
  private boolean json;

  private String show(PlanProvenance provenance) {
    return json ? JsonText.pretty(ProvenanceJson.of(provenance)) : new WhyView().show(provenance);
  }

  @Override
  public Integer call() throws Exception {
    boolean both = events != null && cluster.isGiven();
    if (both || (events == null && !cluster.isGiven())) {
      throw new ParameterException(
          spec.commandLine(),
          (both ? "Too many options: " : "Missing option: ")
              + "either --events, or --bootstrap with --registry");
    }
    if (events != null) {
      spec.commandLine()
          .getOut()
          .print(show(ProvenanceCollector.collect(ExportFolder.beside(events), plan)));
      spec.commandLine().getOut().flush();
      return 0;
    }
    cluster.check(spec);
    long[] read = {0};
    try (LateBar bar = new LateBar("Reading");
        ClusterOption.Connection connection =
            cluster.connect(Optional.empty(), () -> bar.show(++read[0], 0))) {
      String text = show(ProvenanceCollector.collect(connection.records(), plan));
      bar.end();
      spec.commandLine().getOut().print(text);
      spec.commandLine().getOut().flush();
    }
    return 0;
  }
}
