package io.shardtide.cli;

import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Prints a completion script. */
@Command(
    name = "completion",
    description = {
      "Prints a script for bash and zsh that completes commands, options and their values.",
      "zsh needs its module bashcompinit: autoload -U +X bashcompinit && bashcompinit"
    },
    footer = {"", "Example:", "  source <(shardtide completion)"},
    mixinStandardHelpOptions = true)
final class CompletionCommand implements Runnable {
  @Spec private CommandSpec spec;

  @Override
  public void run() {
    spec.commandLine().getOut().print(AutoComplete.bash("shardtide", Shardtide.withAllCommands()));
  }
}
