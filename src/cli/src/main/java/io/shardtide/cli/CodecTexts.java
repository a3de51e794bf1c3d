package io.shardtide.cli;

import io.shardtide.plan.CollectiveCodec;
import io.shardtide.plan.ShardingPlan;
import java.util.Locale;
import java.util.stream.Collectors;

/** Codecs of collectives as text. */
final class CodecTexts {
  private CodecTexts() {}

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
