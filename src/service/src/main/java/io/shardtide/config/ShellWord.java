package io.shardtide.config;

/** Values in commands that a person copies to a shell. */
public final class ShellWord {
  private ShellWord() {}

  /**
   * Returns a value as one word of a POSIX shell, which takes nothing in it as its own syntax: as
   * it is if it has only letters, digits and signs without a meaning, else in single quotes.
   */
  public static String of(String value) {
    return value.matches("[A-Za-z0-9_@%+=:,./-]+")
        ? value
        : "'" + value.replace("'", "'\\''") + "'";
  }
}
