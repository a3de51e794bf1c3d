package io.shardtide.cli;

import io.shardtide.config.Spelling;
import java.io.PrintWriter;
import java.util.Collection;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** Answers wrong usage with a line that names the problem and one that points to the help. */
final class UsageErrors implements IParameterExceptionHandler {
  @Override
  public int handleParseException(ParameterException error, String[] args) {
    CommandLine command = error.getCommandLine();
    PrintWriter err = command.getErr();
    Errors.print(command, problem(error));
    err.printf("Run \"%s --help\" for its usage.%n", command.getCommandSpec().qualifiedName());
    err.flush();
    return command.getCommandSpec().exitCodeOnInvalidInput();
  }

  private static String problem(ParameterException error) {
    if (error instanceof UnmatchedArgumentException unmatched) {
      return problem(unmatched.getUnmatched(), error.getCommandLine().getCommandSpec());
    }
    String message = error.getMessage().replace("\n", "; ");
    return message.startsWith("Error: ") ? message.substring("Error: ".length()) : message;
  }

  private static String problem(List<String> unmatched, CommandSpec command) {
    String first = unmatched.get(0);
    if (first.startsWith("-")) {
      return "there is no option %s%s".formatted(first, hint(first, command.optionsMap().keySet()));
    }
    if (command.subcommands().isEmpty()) {
      return "unexpected argument \"%s\"".formatted(first);
    }
    if (command.parent() == null && Commands.CHECKOUT_ONLY.contains(first)) {
      return "%s is not part of this distribution; run ./shardtide %s in a source checkout"
          .formatted(first, first);
    }
    return "there is no command \"%s\"%s"
        .formatted(first, hint(first, command.subcommands().keySet()));
  }

  private static String hint(String written, Collection<String> words) {
    return Spelling.nearest(written, words).map(". Maybe %s."::formatted).orElse("");
  }
}
