package io.shardtide.cli;

import io.shardtide.topology.Acls;
import io.shardtide.wire.Topics;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Prints the access control lists that clients need. */
@Command(
    name = "acls",
    description = {
      "Prints the commands of Kafka's own tool that allow publishers, planners, trainers and dashboards what they"
          + " need, and no more.",
      "Asks no cluster: look at the commands, then run them where Kafka's tools are."
    },
    mixinStandardHelpOptions = true)
final class AclsCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Option(
      names = "--role",
      paramLabel = "ROLE",
      description = "${COMPLETION-CANDIDATES}. Default: all.")
  private Acls.Role role;

  @Option(
      names = "--principal",
      paramLabel = "NAME",
      description = "With --role: to whom. Default: User: and the role.")
  private String principal;

  @Option(
      names = "--prefix",
      paramLabel = "TEXT",
      defaultValue = Topics.DEFAULT_PREFIX,
      description = "Prefix of the topics' names. Default: ${DEFAULT-VALUE}")
  private String prefix;

  @Option(
      names = "--bootstrap",
      paramLabel = "HOST:PORT",
      defaultValue = "HOST:PORT",
      description = "Address of the Kafka cluster, for the commands.")
  private String bootstrap;

  @Option(
      names = "--command-config",
      paramLabel = "FILE",
      defaultValue = "admin.properties",
      description = "What the tool connects with, for the commands. Default: ${DEFAULT-VALUE}")
  private String commandConfig;

  @Override
  public Integer call() {
    if (principal != null && role == null) {
      throw new ParameterException(
          spec.commandLine(), "Missing option: --principal is for one --role");
    }
    PrintWriter out = spec.commandLine().getOut();
    for (Acls.Role each : role == null ? List.of(Acls.Role.values()) : List.of(role)) {
      out.printf("# %s%n", each);
      Acls.commands(
              each,
              prefix,
              principal == null ? "User:" + each : principal,
              "--bootstrap-server %s --command-config %s".formatted(bootstrap, commandConfig))
          .forEach(out::println);
    }
    out.flush();
    return 0;
  }
}
