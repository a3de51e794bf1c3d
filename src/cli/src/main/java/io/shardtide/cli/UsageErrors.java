package io.shardtide.cli;

import io.shardtide.workload.Spelling;
import java.io.PrintWriter;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** Answers wrong usage with a line that names the problem and one that points to the help. */
final class UsageErrors implements IParameterExceptionHandler {
  private static final Pattern EXPECTED =
      Pattern.compile("(?<=expected one of )(\\[[A-Z_, ]*\\])(?= \\(case-insensitive)");

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
    CommandSpec command = error.getCommandLine().getCommandSpec();
    // What is missing may be what is misspelt.
    List<String> unmatched = error.getCommandLine().getUnmatchedArguments();
    if (error instanceof UnmatchedArgumentException || !unmatched.isEmpty()) {
      return problem(unmatched, command);
    }
    // Of a group, picocli says what there is to choose from.
    if (error instanceof MissingParameterException missing
        && !error.getMessage().contains("specify")) {
      return missing.getMissing().stream()
          .map(UsageErrors::typed)
          .collect(Collectors.joining(" ", name(command) + " needs ", ""));
    }
    if (error.getMessage().startsWith("Missing required subcommand")) {
      return "%s needs one of %s"
          .formatted(name(command), String.join(", ", command.subcommands().keySet()));
    }
    String message = error.getMessage().replace("\n", "; ");
    // Constants, which are typed in any case.
    return EXPECTED
        .matcher(message.startsWith("Error: ") ? message.substring("Error: ".length()) : message)
        .replaceFirst(values -> values.group(1).toLowerCase(Locale.ROOT));
  }

  private static String name(CommandSpec command) {
    return command.qualifiedName().replaceFirst("^shardtide ", "");
  }

  /** Returns the nearest word as the end of a sentence; nothing if none is near. */
  static String hint(String written, Collection<String> words) {
    return Spelling.nearest(written, words).map(". Maybe %s."::formatted).orElse("");
  }

  private static String typed(ArgSpec arg) {
    return arg instanceof OptionSpec option
        ? "%s %s".formatted(option.names()[0], option.paramLabel())
        : arg.paramLabel();
  }

  private static String problem(List<String> unmatched, CommandSpec command) {
    String first = unmatched.get(0);
    if (first.startsWith("--report") && name(command).equals("model evaluate")) {
      return "there is no option --report; the text has its tables, and -o json their numbers";
    }
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
}
