package io.shardtide.cli;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;

/** The command line. */
@Command(
    name = "shardtide",
    description = "Plans how embedding tables are sharded over devices, and keeps the plan right.",
    subcommands = {
      DemoCommand.class,
      RunCommand.class,
      AclsCommand.class,
      PublishCommand.class,
      WatchCommand.class,
      PlanCommand.class,
      CollectCommand.class,
      PretrainCommand.class,
      EvaluateCommand.class,
      ExportCommand.class,
      ReplayCommand.class,
      WhyCommand.class,
      ModelsCommand.class,
      BenchCommand.class,
      TopologiesCommand.class,
      CommandLine.HelpCommand.class
    },
    mixinStandardHelpOptions = true,
    versionProvider = Version.class,
    usageHelpAutoWidth = true)
public final class Shardtide {
  @Option(
      names = "--stacktrace",
      scope = ScopeType.INHERIT,
      description = "Print the stack trace of an error.")
  private boolean stacktrace;

  private Shardtide() {}

  /** Runs a command and ends with its status: 0 done, 1 failed, 2 wrong usage. */
  public static void main(String[] args) {
    // Numbers look the same everywhere.
    Locale.setDefault(Locale.ROOT);
    // In UTF-8 whatever the locale says: bars are drawn with block elements.
    PrintWriter out =
        new PrintWriter(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    PrintWriter err =
        new PrintWriter(new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8);
    System.exit(run(out, err, args));
  }

  /** Runs a command and returns its status. */
  static int run(PrintWriter out, PrintWriter err, String... args) {
    Shardtide root = new Shardtide();
    return new CommandLine(root)
        .setOut(out)
        .setErr(err)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setExecutionExceptionHandler(
            (error, commandLine, parsed) -> {
              commandLine
                  .getErr()
                  .println(
                      commandLine
                          .getColorScheme()
                          .errorText("shardtide: " + Errors.describe(error)));
              if (root.stacktrace) {
                error.printStackTrace(commandLine.getErr());
              }
              return commandLine.getCommandSpec().exitCodeOnExecutionException();
            })
        .execute(args);
  }
}
