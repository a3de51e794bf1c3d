package io.shardtide.neuroshard;

import java.io.IOException;
import java.nio.file.Path;

/** A file that is not of the layout it should be. */
public final class MalformedFileException extends IOException {
  private static final long serialVersionUID = 1L;

  /**
   * @param file the file
   * @param line the line, from 1, or 0 where lines say nothing
   * @param flaw what is wrong and what is legal, as the rest of a sentence that begins with the
   *     place
   */
  public MalformedFileException(Path file, int line, String flaw) {
    super(file + (line > 0 ? " line " + line : "") + " " + flaw);
  }
}
