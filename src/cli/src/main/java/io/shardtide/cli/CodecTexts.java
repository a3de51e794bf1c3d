package io.shardtide.cli;

import io.shardtide.plan.CollectiveCodec;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Named;
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

  private static final ListText<CommCodec> TEXTS =
      new ListText<>(
          "codec",
          FORM,
          new CommCodec("-", 1),
          "bytesPerElement",
          "bytes per element",
          Map.of(
              "gbps", "gigabytesPerSecond",
              "density", "density",
              "canBeSummed", "canBeSummed"),
          Named.labels(Direction.class).stream()
              .collect(Collectors.toUnmodifiableMap(word -> word, word -> "directions")));

  private CodecTexts() {}

  /**
   * Returns the codecs of a text.
   *
   * @throws IllegalArgumentException if it has another form
   */
  static List<CommCodec> parse(String text) {
    return text.equals(NONE) ? List.of() : TEXTS.parse(text);
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
        of.scope().label(),
        of.direction().label(),
        Printable.of(of.codec().name()),
        of.savedMs());
  }
}
