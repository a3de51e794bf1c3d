package io.shardtide.cli;

import io.shardtide.domain.CollectiveCodec;
import io.shardtide.domain.Direction;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.WireCodec;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.DoubleConsumer;
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

  private final String value;
  private Optional<Direction> direction = Optional.empty();
  private double gigabytesPerSecond;
  private double density = 1;
  private boolean canBeSummed = true;

  private CodecTexts(String value) {
    this.value = value;
  }

  /**
   * Returns the codecs of a text.
   *
   * @throws IllegalArgumentException if it has another form
   */
  static List<WireCodec> parse(String text) {
    return text.equals(NONE)
        ? List.of()
        : Arrays.stream(text.split("\\+", -1)).map(value -> new CodecTexts(value).codec()).toList();
  }

  private WireCodec codec() {
    String[] parts = value.split(":", -1);
    if (parts.length < 2) {
      throw wrong(value);
    }
    for (int i = 2; i < parts.length; i++) {
      take(parts[i]);
    }
    return new WireCodec(
        parts[0].strip(),
        direction.stream().toList(),
        number(parts[1], parts[1]),
        gigabytesPerSecond,
        density,
        canBeSummed);
  }

  private void take(String part) {
    Optional<Direction> named = Direction.ofFileName(part);
    if (named.isPresent()) {
      direction = named;
    } else if (part.equals("canBeSummed=true") || part.equals("canBeSummed=false")) {
      canBeSummed = part.endsWith("true");
    } else if (!takeNumber(part, "gbps=", number -> gigabytesPerSecond = number)
        && !takeNumber(part, "density=", number -> density = number)) {
      throw wrong(part);
    }
  }

  private boolean takeNumber(String part, String prefix, DoubleConsumer setter) {
    if (!part.startsWith(prefix)) {
      return false;
    }
    setter.accept(number(part, part.substring(prefix.length())));
    return true;
  }

  private double number(String part, String number) {
    try {
      return Double.parseDouble(number.strip());
    } catch (NumberFormatException e) {
      throw wrong(part);
    }
  }

  private IllegalArgumentException wrong(String part) {
    return new IllegalArgumentException(
        "codec \"%s\" has \"%s\"; expected %s".formatted(value, part, FORM));
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
