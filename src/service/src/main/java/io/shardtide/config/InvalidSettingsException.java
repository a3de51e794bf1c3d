package io.shardtide.config;

import java.util.List;

/** An invalid settings file, with all its problems. */
public final class InvalidSettingsException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient List<String> problems;

  /**
   * @param file name of the file
   * @param problems at least one sentence
   */
  public InvalidSettingsException(String file, List<String> problems) {
    super(
        "%s has %d %s:\n  %s"
            .formatted(
                file,
                problems.size(),
                problems.size() == 1 ? "problem" : "problems",
                String.join("\n  ", problems)));
    this.problems = List.copyOf(problems);
  }

  /** Returns the problems, a sentence each. */
  public List<String> problems() {
    return problems;
  }
}
