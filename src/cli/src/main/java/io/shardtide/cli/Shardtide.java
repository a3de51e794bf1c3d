package io.shardtide.cli;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/** The command line. */
@Command(
    name = "shardtide",
    description = "Plans how embedding tables are sharded over devices, and keeps the plan right.",
    footer = {
      "",
      "Example:",
      "  shardtide demo --seconds 60",
      "",
      "Exit status: 0 done, 1 refused, different or failed, 2 wrong call or value.",
      "",
      "Without an address: SHARDTIDE_BOOTSTRAP_SERVER and SHARDTIDE_REGISTRY, or a",
      "context in ~/.config/shardtide/config.yaml."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Version.class,
    scope = ScopeType.INHERIT,
    usageHelpAutoWidth = true)
public final class Shardtide implements Runnable {
  /** What decoders put in the place of bytes that they cannot decode. */
  private static final char REPLACEMENT = '\uFFFD';

  @Option(
      names = "--stacktrace",
      scope = ScopeType.INHERIT,
      description = "Print the stack trace of an error.")
  private boolean stacktrace;

  @Spec private CommandSpec spec;

  private Shardtide() {}

  @Override
  public void run() {
    spec.commandLine().usage(spec.commandLine().getOut());
  }

  @Command(
      name = "version",
      description = "Prints the version.",
      footer = {"", "Example:", "  shardtide version"})
  void version() {
    spec.commandLine().printVersionHelp(spec.commandLine().getOut());
  }

  @Command(
      name = "completion",
      description = {
        "Prints a script for bash and zsh that completes commands, options and their values.",
        "zsh needs its module bashcompinit: autoload -U +X bashcompinit && bashcompinit"
      },
      footer = {"", "Example:", "  source <(shardtide completion)"})
  void completion() {
    spec.commandLine().getOut().print(AutoComplete.bash("shardtide", withAllCommands()));
  }

  /** Runs a command and ends with its status: 0 done, 1 failed, 2 wrong usage. */
  public static void main(String[] args) {
    // Numbers look the same everywhere.
    Locale.setDefault(Locale.ROOT);
    // In UTF-8 whatever the locale says: bars are drawn with block elements.
    PrintWriter out =
        new PrintWriter(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    PrintWriter err =
        new PrintWriter(new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8);
    for (String arg : args) {
      if (!isUtf8(arg, System.getProperty("sun.jnu.encoding"))) {
        err.println(
            "shardtide: arguments must be UTF-8, got \"%s\" as Java decodes it. Maybe set LC_ALL=C.UTF-8"
                .formatted(arg));
        System.exit(2);
      }
    }
    System.exit(run(out, err, args));
  }

  /**
   * Returns whether Java decoded an argument as UTF-8. It replaces what it cannot decode, and
   * another name must not be published. The launcher sets the locale.
   *
   * @param encoding what it decodes arguments with
   */
  static boolean isUtf8(String arg, String encoding) {
    return arg.chars()
        .allMatch(c -> c < 0x80 || (c != REPLACEMENT && "UTF-8".equalsIgnoreCase(encoding)));
  }

  /** Returns the command line with every command of this distribution. */
  static CommandLine withAllCommands() {
    return commandLine(new Shardtide(), Commands.NAMES);
  }

  private static CommandLine commandLine(Shardtide root, List<String> names) {
    CommandLine commandLine = new CommandLine(root);
    for (String name : names) {
      Commands.type(name).ifPresent(type -> commandLine.addSubcommand(name, type));
    }
    return commandLine
        .addSubcommand(CommandLine.HelpCommand.class)
        .setCaseInsensitiveEnumValuesAllowed(true);
  }

  /** Runs a command, writes all that it printed and returns its status. */
  static int run(PrintWriter out, PrintWriter err, String... args) {
    try {
      return status(out, err, args);
    } finally {
      out.flush();
      err.flush();
    }
  }

  private static int execute(ParseResult parsed) {
    Integer helped = CommandLine.executeHelpRequest(parsed);
    if (helped != null) {
      return helped;
    }
    List<CommandLine> called = parsed.asCommandLineList();
    CommandSpec command = called.get(called.size() - 1).getCommandSpec();
    List<PrintOption> options =
        command.mixins().values().stream()
            .map(CommandSpec::userObject)
            .filter(PrintOption.class::isInstance)
            .map(PrintOption.class::cast)
            .toList();
    try {
      Outputs.check(parsed);
      for (PrintOption each : options) {
        each.check();
      }
    } catch (IOException | IllegalArgumentException e) {
      Errors.print(command.commandLine(), e);
      return Errors.status(e);
    }
    try {
      return new CommandLine.RunLast().execute(parsed);
    } finally {
      options.forEach(PrintOption::end);
    }
  }

  private static int status(PrintWriter out, PrintWriter err, String... typed) {
    String[] args = OldNames.replace(typed);
    Shardtide root = new Shardtide();
    return commandLine(root, Commands.neededFor(args))
        .setOut(out)
        .setErr(err)
        .setExecutionStrategy(Shardtide::execute)
        .setParameterExceptionHandler(new UsageErrors())
        .setExecutionExceptionHandler(
            (error, called, parsed) -> {
              Errors.print(called, error);
              if (root.stacktrace) {
                error.printStackTrace(called.getErr());
              }
              return Errors.status(error);
            })
        .execute(args);
  }
}
