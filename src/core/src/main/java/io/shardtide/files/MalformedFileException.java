package io.shardtide.files;

import java.io.IOException;
import java.nio.file.Path;

/** A file that does not have the expected format. */
public final class MalformedFileException extends IOException {
  private static final long serialVersionUID = 1L;

  private final int line;
  private final String problem;

  /**
   * @param file the file
   * @param line the line, from 1, or 0 if none applies
   * @param problem the problem and what is expected
   */
  public MalformedFileException(Path file, int line, String problem) {
    super(file + (line > 0 ? " line " + line : "") + ": " + problem);
    this.line = line;
    this.problem = problem;
  }

  /** Returns the line, from 1, or 0 if none applies. */
  public int line() {
    return line;
  }

  /** Returns the problem and what is expected, without the file. */
  public String problem() {
    return problem;
  }
}
