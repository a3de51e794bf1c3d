package io.shardtide.wire;

import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import java.io.IOException;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.errors.ThrottlingQuotaExceededException;

/** What a failed call of the registry's client means, and what a person should know of it. */
final class RegistryErrors {
  /** Longest part of an answer that is quoted: some answers are whole pages. */
  private static final int QUOTED = 160;

  /** The client's own code for an error that is not in the registry's format. */
  private static final int NOT_PARSED = 50005;

  /** Confluent's codes for a missing subject, version and schema. */
  private static final Set<Integer> NOT_FOUND = Set.of(40401, 40402, 40403);

  /** What the client's messages end with. */
  private static final Pattern CODE = Pattern.compile("; error code: (-?\\d+)$");

  private RegistryErrors() {}

  /** Returns the error among the causes that tells of the registry; else the root cause. */
  static Throwable cause(Throwable error) {
    return Causes.of(error)
        .map(e -> e instanceof ThrottlingQuotaExceededException ? tooManyRequests(e) : e)
        .filter(e -> e instanceof RestClientException || e instanceof IOException)
        .findFirst()
        .orElseGet(() -> Causes.root(error));
  }

  /** Returns the answer of which the serializer keeps only the text. */
  private static RestClientException tooManyRequests(Throwable error) {
    String text = String.valueOf(error.getMessage());
    Matcher code = CODE.matcher(text);
    return new RestClientException(
        code.replaceFirst(""), 429, code.reset().find() ? Integer.parseInt(code.group(1)) : 429);
  }

  /** Returns whether the registry itself says that it does not have what was asked for. */
  static boolean isMissing(Throwable error) {
    return cause(error) instanceof RestClientException answer
        && NOT_FOUND.contains(answer.getErrorCode());
  }

  /** Returns whether a later attempt may succeed: no answer, or one of 408, 429 and 5xx. */
  static boolean isTemporary(Throwable error) {
    Throwable cause = cause(error);
    if (cause instanceof RestClientException answer) {
      return answer.getStatus() == 408 || answer.getStatus() == 429 || answer.getStatus() >= 500;
    }
    return cause instanceof IOException;
  }

  /** Returns what the registry answered, on one line. */
  static String answer(Throwable error) {
    Throwable cause = cause(error);
    if (cause instanceof RestClientException answer) {
      String text = text(answer);
      return answer.getErrorCode() == NOT_PARSED
          ? "%d, not in the registry's format: %s"
              .formatted(
                  answer.getStatus(),
                  text.replace("Unable to parse error message from schema registry: ", ""))
          : answer.getErrorCode() == answer.getStatus()
              ? "%d, %s".formatted(answer.getStatus(), text)
              : "%d, %s (%d)".formatted(answer.getStatus(), text, answer.getErrorCode());
    }
    if (cause instanceof NullPointerException) {
      return "nothing, or null";
    }
    String text = quoted(String.valueOf(cause.getMessage()));
    return cause.getClass().getName().contains(".jackson.")
        ? "text that is not the registry's JSON (%s)".formatted(text)
        : text;
  }

  /** Returns what to do about it. */
  static String advice(Throwable error) {
    if (cause(error) instanceof RestClientException answer) {
      int status = answer.getStatus();
      if (isMissing(error)) {
        return "planners register their schemas when they start: check the address and the prefix,"
            + " and upgrade planners before clients";
      }
      if (status == 401) {
        return "check the user and the password, registry.basic.auth.user.info";
      }
      if (status == 403) {
        return "this user needs the right to read the subject, and planners to write it";
      }
      if (isTemporary(error)) {
        return "try again later; the registry's log tells more";
      }
    }
    return "check that the address is a schema registry's, and that it can be reached from here";
  }

  /** Returns an error's text without its code. */
  static String text(RestClientException answer) {
    return quoted(CODE.matcher(String.valueOf(answer.getMessage())).replaceFirst(""));
  }

  /** Returns the beginning of a text, on one line. */
  static String quoted(String text) {
    String line = text.strip().replaceAll("\\s+", " ");
    return line.length() <= QUOTED ? line : line.substring(0, QUOTED) + "...";
  }
}
