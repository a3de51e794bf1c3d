package io.shardtide.cli;

import io.shardtide.domain.Names;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.TableFeature;
import java.util.Arrays;
import java.util.LinkedHashMap;
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

  private static final List<String> KEYS = List.of("batchShare", "duplicates");

  private FeatureTexts() {}

  /**
   * Returns the features of a text.
   *
   * @throws IllegalArgumentException if it has another form
   */
  static List<TableFeature> parse(String text) {
    return Arrays.stream(text.split("\\+", -1)).map(FeatureTexts::feature).toList();
  }

  private static TableFeature feature(String text) {
    String[] parts = text.split(":", -1);
    if (parts.length < 2) {
      throw wrong(text, "its lookups must be given, got none");
    }
    Map<String, String> values = new LinkedHashMap<>();
    values.put("name", parts[0].strip());
    values.put("poolingFactor", parts[1].strip());
    for (int i = 2; i < parts.length; i++) {
      String[] pair = parts[i].split("=", 2);
      if (pair.length < 2 || !KEYS.contains(pair[0])) {
        throw wrong(text, "%s is unknown".formatted(Names.quote(parts[i])));
      }
      values.put(pair[0], pair[1].strip());
    }
    try {
      return RecordText.in(new TableFeature("-", 1), values);
    } catch (RejectedException e) {
      throw e;
    } catch (IllegalArgumentException e) {
      throw wrong(text, e.getMessage());
    }
  }

  private static IllegalArgumentException wrong(String text, String problem) {
    return new IllegalArgumentException(
        "feature \"%s\": %s; expected %s".formatted(text, problem, FORM));
  }
}
