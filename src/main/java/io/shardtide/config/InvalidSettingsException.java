package io.shardtide.config;

import java.util.List;

/** A settings file that cannot be used, with everything that is wrong with it. */
public final class InvalidSettingsException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient List<String> problems;

  InvalidSettingsException(String file, List<String> problems) {
    super(
        "%s has %d %s:\n  %s"
            .formatted(
                file,
                problems.size(),
                problems.size() == 1 ? "problem" : "problems",
                String.join("\n  ", problems)));
    this.problems = List.copyOf(problems);
  }

  /** Returns what is wrong, a sentence each, in the file's order of keys. */
  public List<String> problems() {
    return problems;
  }
}
