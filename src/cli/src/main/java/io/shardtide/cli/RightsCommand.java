package io.shardtide.cli;

import io.shardtide.config.ShellWord;
import io.shardtide.topology.Acls;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Topics;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Prints the access control lists that clients need. */
@Command(
    name = "rights",
    description = {
      "Prints the commands of kafka-acls.sh that give publishers, planners, trainers, dashboards"
          + " and viewers the rights that they need, and no others. A viewer only looks: log"
          + " export, log replay, plan why, model list, plan watch.",
      "Connects to no cluster: review the commands, then run them where Kafka's tools are"
          + " installed."
    },
    footer = {"", "Example:", "  shardtide rights --role planner -b kafka:9093"})
final class RightsCommand implements Callable<Integer> {
  @Mixin private PrintOption on;

  @Option(
      names = "--role",
      paramLabel = "ROLE",
      description = "${COMPLETION-CANDIDATES}. Default: all.")
  private Acls.Role role;

  @Option(
      names = "--principal",
      paramLabel = "NAME",
      description = "With --role: who gets the rights. Default: User:ROLE.")
  private String principal;

  @Option(
      names = "--prefix",
      paramLabel = "TEXT",
      defaultValue = Topics.DEFAULT_PREFIX,
      description = "Prefix of the topics' names. Default: ${DEFAULT-VALUE}")
  private String prefix;

  @Option(
      names = "--pools",
      description = "Prints the rights for pools too. Planners need them with pools.enabled=true.")
  private boolean pools;

  @Option(
      names = "--growth",
      description =
          "Prints the rights for growing tables too. Planners need them with growth.enabled=true.")
  private boolean growth;

  @Option(
      names = {"-b", "--bootstrap-server"},
      paramLabel = "HOST:PORT",
      defaultValue = "HOST:PORT",
      description =
          "Address of the Kafka cluster in the printed commands. Default: ${DEFAULT-VALUE}")
  private String bootstrap;

  @Option(
      names = "--command-config",
      paramLabel = "FILE",
      defaultValue = "admin.properties",
      description = "File of client settings in the printed commands. Default: ${DEFAULT-VALUE}")
  private String commandConfig;

  @Override
  public Integer call() {
    if (principal != null && role == null) {
      throw on.wrong("--principal needs --role");
    }
    Set<Extension> extensions = EnumSet.noneOf(Extension.class);
    if (pools) {
      extensions.add(Extension.POOLS);
    }
    if (growth) {
      extensions.add(Extension.GROWTH);
    }
    for (Acls.Role each : role == null ? List.of(Acls.Role.values()) : List.of(role)) {
      on.print("# %s%n".formatted(each));
      Acls.commands(
              each,
              prefix,
              extensions,
              principal == null ? "User:" + each : principal,
              "--bootstrap-server %s --command-config %s"
                  .formatted(ShellWord.of(bootstrap), ShellWord.of(commandConfig)))
          .forEach(on.out()::println);
    }
    return 0;
  }
}
