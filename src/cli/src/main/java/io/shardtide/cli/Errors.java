package io.shardtide.cli;

import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;

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
    return error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
  }
}
