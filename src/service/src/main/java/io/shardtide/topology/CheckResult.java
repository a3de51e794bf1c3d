package io.shardtide.topology;

import java.util.Locale;
import java.util.Optional;

/**
 * What one check of a planner's surroundings found.
 *
 * @param check what was checked, a word or two
 * @param status whether a planner can start
 * @param finding what was found, a sentence
 * @param remedy what to do; empty if there is nothing to do
 */
public record CheckResult(
    String check, CheckStatus status, String finding, Optional<String> remedy) {
  /** Whether a planner can start. */
  public enum CheckStatus {
    /** As expected. */
    OK,
    /** A planner starts, but somebody should know. */
    WARNING,
    /** A planner does not start, or does not work. */
    FAILED,
    /** Not checked, because an earlier check failed or there is nothing to compare with. */
    SKIPPED;

    /** Returns its name in lower case. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** Returns what was found, and what to do, a line each. */
  String text() {
    return remedy
        .map(to -> finding + "\n  " + to.replace(System.lineSeparator(), "\n  "))
        .orElse(finding);
  }

  /** Returns the result of the check with a name; whoever makes checks gives them their names. */
  public CheckResult named(String name) {
    return new CheckResult(name, status, finding, remedy);
  }

  /** Returns a result that is as expected. */
  public static CheckResult ok(String finding) {
    return new CheckResult("", CheckStatus.OK, finding, Optional.empty());
  }

  /** Returns a result that does not stop a planner. */
  public static CheckResult warning(String finding, String remedy) {
    return new CheckResult("", CheckStatus.WARNING, finding, Optional.of(remedy));
  }

  /** Returns a result that stops a planner. */
  public static CheckResult failed(String finding, String remedy) {
    return new CheckResult("", CheckStatus.FAILED, finding, Optional.of(remedy));
  }

  /** Returns a check that was not made. */
  public static CheckResult skipped(String reason) {
    return new CheckResult("", CheckStatus.SKIPPED, reason, Optional.empty());
  }
}
