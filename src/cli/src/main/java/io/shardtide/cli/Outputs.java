package io.shardtide.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/** Refuses calls of which a command would replace what it reads. */
final class Outputs {
  /** What names what a command writes; all else with a path names what it reads. */
  static final Set<String> WRITTEN = Set.of("--out", "--predictions", "--data", "DIR");

  private record Named(String option, Path path) {}

  private Outputs() {}

  /**
   * Checks the options of a call.
   *
   * @throws ParameterException if an output is, by whatever name, an input or another output, or in
   *     a folder that is read
   */
  static void check(ParseResult parsed) throws IOException {
    List<CommandLine> called = parsed.asCommandLineList();
    CommandLine command = called.get(called.size() - 1);
    List<Named> read = new ArrayList<>();
    List<Named> written = new ArrayList<>();
    for (ArgSpec arg : command.getParseResult().matchedArgs()) {
      String name = name(arg);
      Object value = arg.getValue();
      for (Object each : value instanceof Collection<?> several ? several : List.of(value)) {
        if (each instanceof Path path) {
          (WRITTEN.contains(name) ? written : read).add(new Named(name, path));
        }
      }
    }
    for (int w = 0; w < written.size(); w++) {
      Named output = written.get(w);
      for (Named other : written.subList(0, w)) {
        if (isSame(output.path(), other.path())) {
          throw refused(command, output, "another file than " + other.option());
        }
      }
      for (Named input : read) {
        check(command, output, input.path(), input.option());
      }
    }
  }

  /** Returns what a user calls an option or a parameter. */
  static String name(ArgSpec arg) {
    return arg instanceof OptionSpec option ? option.longestName() : arg.paramLabel();
  }

  /**
   * Checks an output against files and folders that a command reads besides.
   *
   * @param what how to call them
   */
  static void check(CommandLine command, Path out, List<Path> inputs, String what)
      throws IOException {
    for (Path input : inputs) {
      check(command, new Named("--out", out), input, what);
    }
  }

  private static void check(CommandLine command, Named output, Path input, String what)
      throws IOException {
    if (Files.isDirectory(input)) {
      if (real(output.path()).startsWith(real(input))) {
        throw refused(command, output, "outside of " + what);
      }
    } else if (isSame(output.path(), input)) {
      throw refused(command, output, "another file than " + what);
    }
  }

  private static ParameterException refused(CommandLine command, Named output, String expected) {
    return new ParameterException(
        command, "%s must be %s, got %s".formatted(output.option(), expected, output.path()));
  }

  /** Devices, such as a terminal, may be read and written. */
  private static boolean isSame(Path output, Path other) throws IOException {
    if (Files.exists(output) && Files.exists(other)) {
      return (Files.isRegularFile(output) || Files.isDirectory(output))
          && Files.isSameFile(output, other);
    }
    return real(output).equals(real(other));
  }

  /** Returns a path without links, also of a file that does not exist. */
  private static Path real(Path path) throws IOException {
    Path absolute = path.toAbsolutePath();
    return Files.exists(absolute) || absolute.getParent() == null
        ? absolute.toRealPath()
        : real(absolute.getParent()).resolve(absolute.getFileName());
  }
}
