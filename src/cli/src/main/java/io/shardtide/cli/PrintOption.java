package io.shardtide.cli;

import io.shardtide.wire.Codec;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options of commands that print something, and how they print it. */
class PrintOption {
  /** Forms of what is printed. */
  enum Format {
    /** For people. */
    TEXT,
    /** A value or a list of values. */
    JSON,
    /** A value a line. */
    JSONL
  }

  @Spec(Spec.Target.MIXEE)
  private CommandSpec command;

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FORMAT",
      defaultValue = "TEXT",
      description = "How to print: text, json, or jsonl, a line a value. Default: text.")
  private Format format;

  @Option(
      names = {"-q", "--quiet"},
      description = "Print the result and errors, but no progress, notes and warnings.")
  private boolean quiet;

  /**
   * Completes and checks the options before a command begins.
   *
   * @throws IOException if a file that they name cannot be read
   */
  void check() throws IOException {
    // Nothing is missing.
  }

  /** Runs when the command has ended, after {@link #check}. */
  void end() {
    // Nothing was begun.
  }

  final PrintWriter out() {
    return command.commandLine().getOut();
  }

  final PrintWriter err() {
    return command.commandLine().getErr();
  }

  final boolean isText() {
    return format == Format.TEXT;
  }

  final void print(Object text) {
    out().print(text);
    out().flush();
  }

  /** Prints one value: as JSON, or the text. */
  final void print(Object value, Supplier<?> text) {
    print(
        switch (format) {
          case TEXT -> text.get();
          case JSON -> JsonText.pretty(value);
          case JSONL -> JsonText.line(value);
        });
  }

  /** Prints values: as a list in JSON, a line each, or the text. */
  final void printAll(Collection<?> values, Supplier<?> text) {
    if (format == Format.JSONL) {
      print(values.stream().map(JsonText::line).collect(Collectors.joining()));
    } else {
      print(values, text);
    }
  }

  /** Prints a table, or its rows. */
  final void print(Table<?> table) {
    printAll(table.rows(), () -> table);
  }

  /** Prints records as their schema has them, or the text. */
  final <V> void printAll(Codec<V, ?> codec, Collection<V> values, Supplier<?> text) {
    printAll(values.stream().map(value -> JsonText.tree(codec, value)).toList(), text);
  }

  /** Prints a line on standard error that is no error, unless the user wants none. */
  final void note(String line) {
    if (!quiet) {
      err().println(Printable.of("shardtide: " + line));
      err().flush();
    }
  }

  /** Prints an error that does not end the command. */
  final void error(String problem) {
    Errors.print(command.commandLine(), problem);
  }

  final void warn(String line) {
    note("warning: " + line);
  }

  final LateBar bar(String name) {
    return quiet ? LateBar.hidden() : new LateBar(name);
  }

  /** Refuses an output that is among what a command reads besides its options. */
  final void checkOutput(Path out, List<Path> inputs, String what) throws IOException {
    Outputs.check(command.commandLine(), out, inputs, what);
  }

  /** Returns what ends a command as a wrong call. */
  final ParameterException wrong(String message) {
    return new ParameterException(command.commandLine(), message);
  }

  /** Returns what ends a command as a wrong call because of an exception. */
  final ParameterException wrong(String option, IllegalArgumentException cause) {
    return new ParameterException(command.commandLine(), option + ": " + cause.getMessage(), cause);
  }

  final boolean isGiven(String option) {
    return command.commandLine().getParseResult().hasMatchedOption(option);
  }
}
