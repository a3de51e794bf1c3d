package io.shardtide.cli;

import io.shardtide.domain.SearchSettings;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Option;

/** Settings of the search that are given one by one. */
final class SettingsOption {
  private static final List<String> KEYS =
      List.of(
          "evaluationsPerTable",
          "repairEvaluations",
          "moveGigabytesPerSecond",
          "moveOverheadMs",
          "paybackSteps");

  @Option(
      names = "--set",
      paramLabel = "KEY=VALUE",
      description =
          "With --what-if: another setting of the search; may be given again. Keys: evaluationsPerTable, repairEvaluations,"
              + " moveGigabytesPerSecond, moveOverheadMs, paybackSteps.")
  private Map<String, String> settings = new LinkedHashMap<>();

  boolean isGiven() {
    return !settings.isEmpty();
  }

  /**
   * Returns settings with those that were given.
   *
   * @throws IllegalArgumentException if a key is not known or a value is not legal
   */
  SearchSettings in(SearchSettings base) {
    settings.keySet().stream()
        .filter(key -> !KEYS.contains(key))
        .findFirst()
        .ifPresent(
            key -> {
              throw new IllegalArgumentException(
                  "There is no setting %s; legal are %s".formatted(key, String.join(", ", KEYS)));
            });
    return new SearchSettings(
        whole(KEYS.get(0), base.evaluationsPerTable()),
        whole(KEYS.get(1), base.repairEvaluations()),
        number(KEYS.get(2), base.moveGigabytesPerSecond()),
        number(KEYS.get(3), base.moveOverheadMs()),
        whole(KEYS.get(4), base.paybackSteps()));
  }

  private long whole(String key, long otherwise) {
    String value = settings.get(key);
    try {
      return value == null ? otherwise : Long.parseLong(value.replace("_", ""));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "Setting %s is %s; legal are whole numbers".formatted(key, value), e);
    }
  }

  private double number(String key, double otherwise) {
    String value = settings.get(key);
    try {
      return value == null ? otherwise : Double.parseDouble(value);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "Setting %s is %s; legal are numbers".formatted(key, value), e);
    }
  }
}
