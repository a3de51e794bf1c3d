package io.shardtide.cli;

import io.shardtide.topology.Topologies;
import io.shardtide.wire.Topics;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Describes the topologies. */
@Command(
    name = "topologies",
    description =
        "Prints the Kafka Streams topologies, in the format of the golden files in topologies/.",
    footer = {"", "Example:", "  shardtide topologies --prefix recommender."},
    mixinStandardHelpOptions = true)
final class TopologiesCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Option(
      names = "--prefix",
      paramLabel = "TEXT",
      defaultValue = Topics.DEFAULT_PREFIX,
      description = "Prefix of the topics' names. Default: ${DEFAULT-VALUE}")
  private String prefix;

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    Topologies.describe(Topics.withPrefix(prefix))
        .forEach((name, description) -> out.printf("%s%n%s", name, description));
    return 0;
  }
}
