package io.shardtide.cli;

import io.shardtide.workload.TableFeature;
import java.util.List;
import java.util.Map;

/**
 * Features of a table as text in the options of a command: {@code NAME:LOOKUPS}, its pooling
 * factor, and after further colons what differs from the defaults; several are joined by +: {@code
 * viewed:80:batchShare=0.5+clicked:20:duplicates=3}.
 */
final class FeatureTexts {
  static final String FORM =
      "NAME:LOOKUPS with any of :batchShare=NUMBER, :duplicates=NUMBER, several joined by +";

  private static final ListText<TableFeature> TEXTS =
      new ListText<>(
          "feature",
          FORM,
          new TableFeature("-", 1),
          "poolingFactor",
          "its lookups",
          Map.of("batchShare", "batchShare", "duplicates", "duplicates"),
          Map.of());

  private FeatureTexts() {}

  /**
   * Returns the features of a text.
   *
   * @throws IllegalArgumentException if it has another form
   */
  static List<TableFeature> parse(String text) {
    return TEXTS.parse(text);
  }
}
