package io.shardtide.cli;

import io.shardtide.domain.CollectiveCodec;
import io.shardtide.domain.CommCodec;
import io.shardtide.domain.Direction;
import io.shardtide.domain.Names;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.ShardingPlan;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Codecs of collectives as text. One in the options of a command is {@code NAME:BYTES}, its bytes
 * per element, and after further colons what differs from the defaults; several are joined by +:
 * {@code fp16:2+fp8:1:gbps=800:canBeSummed=false+top10:8:density=0.1:backward}.
 */
final class CodecTexts {
  /** What takes all codecs from a cluster that has some. */
  static final String NONE = "none";

  static final String FORM =
      "NAME:BYTES with any of :forward, :backward, :gbps=NUMBER, :density=NUMBER, :canBeSummed=false,"
          + " several joined by +, or "
          + NONE;

  /** Keys, and the components of a codec that they stand for. */
  private static final Map<String, String> KEYS =
      Map.of(
          "gbps", "gigabytesPerSecond",
          "density", "density",
          "canBeSummed", "canBeSummed");

  private CodecTexts() {}

  /**
   * Returns the codecs of a text.
   *
   * @throws IllegalArgumentException if it has another form
   */
  static List<CommCodec> parse(String text) {
    return text.equals(NONE)
        ? List.of()
        : Arrays.stream(text.split("\\+", -1)).map(CodecTexts::codec).toList();
  }

  private static CommCodec codec(String text) {
    String[] parts = text.split(":", -1);
    if (parts.length < 2) {
      throw wrong(text, "bytes per element must be given, got none");
    }
    Map<String, String> values = new LinkedHashMap<>();
    values.put("name", parts[0].strip());
    values.put("bytesPerElement", parts[1].strip());
    for (int i = 2; i < parts.length; i++) {
      String[] pair = parts[i].split("=", 2);
      if (Direction.fileNames().contains(parts[i])) {
        values.put("directions", pair[0]);
      } else if (pair.length == 2 && KEYS.containsKey(pair[0])) {
        values.put(KEYS.get(pair[0]), pair[1].strip());
      } else {
        throw wrong(text, "%s is unknown".formatted(Names.quote(parts[i])));
      }
    }
    try {
      return RecordText.in(new CommCodec("-", 1), values);
    } catch (RejectedException e) {
      throw e;
    } catch (IllegalArgumentException e) {
      throw wrong(text, e.getMessage());
    }
  }

  private static IllegalArgumentException wrong(String text, String problem) {
    return new IllegalArgumentException(
        "codec \"%s\": %s; expected %s".formatted(text, problem, FORM));
  }

  /** Returns the codecs of a plan, and what each saves; empty without any. */
  static String describe(ShardingPlan plan) {
    return plan.codecs().isEmpty()
        ? ""
        : plan.codecs().stream().map(CodecTexts::describe).collect(Collectors.joining(", "))
            + "; none elsewhere";
  }

  private static String describe(CollectiveCodec of) {
    return String.format(
        Locale.ROOT,
        "%s %s %s (saves %.3f ms)",
        of.scope().fileName(),
        of.direction().fileName(),
        Printable.of(of.codec().name()),
        of.savedMs());
  }
}
