package io.shardtide.cli;

import io.shardtide.config.InvalidSettingsException;
import io.shardtide.files.MalformedFileException;
import io.shardtide.replay.MalformedRecordException;
import io.shardtide.replay.RefusedException;
import java.io.PrintWriter;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.stream.Collectors;
import org.apache.kafka.common.config.ConfigException;
import picocli.CommandLine;
import picocli.CommandLine.ExitCode;

/** What a person is told of an error. */
final class Errors {
  private Errors() {}

  static String describe(Throwable error) {
    if (error instanceof NoSuchFileException missing) {
      return missing.getFile() + " does not exist";
    }
    if (error instanceof AccessDeniedException denied) {
      return denied.getFile() + " may not be read or written";
    }
    if (error instanceof FileAlreadyExistsException file) {
      return file.getFile() + " must be a folder, and is a file";
    }
    return error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
  }

  /** Prints an error. */
  static void print(CommandLine command, Throwable error) {
    print(command, describe(error));
  }

  /** Prints what is wrong, in one or more lines. */
  static void print(CommandLine command, String problem) {
    PrintWriter err = command.getErr();
    String text =
        ("shardtide: " + problem).lines().map(Printable::of).collect(Collectors.joining("\n"));
    err.println(command.getColorScheme().errorText(text));
    err.flush();
  }

  /** Returns the exit status: 2 for a call with a wrong value, 1 for all else that fails. */
  static int status(Throwable error) {
    boolean isOfLog =
        error instanceof RefusedException || error instanceof MalformedRecordException;
    boolean isWrongCall =
        error instanceof IllegalArgumentException
            || error instanceof MalformedFileException
            || error instanceof InvalidSettingsException
            || error instanceof NoSuchFileException
            || error instanceof FileAlreadyExistsException
            || error instanceof AccessDeniedException
            || error instanceof ConfigException
            || error.getCause() instanceof ConfigException;
    return isWrongCall && !isOfLog ? ExitCode.USAGE : ExitCode.SOFTWARE;
  }
}
