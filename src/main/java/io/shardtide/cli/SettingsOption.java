package io.shardtide.cli;

import io.shardtide.domain.ColumnCuts;
import io.shardtide.domain.SearchSettings;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Option;

/** The option that overrides search settings. */
final class SettingsOption {
  private static final List<String> KEYS =
      List.of(
          "evaluationsPerTable",
          "repairEvaluations",
          "moveGigabytesPerSecond",
          "moveOverheadMs",
          "reshardMs",
          "paybackSteps",
          "columnCuts",
          "risk");

  @Option(
      names = "--set",
      paramLabel = "KEY=VALUE",
      description =
          "With --what-if: a search setting to change; repeatable. Keys: evaluationsPerTable, repairEvaluations,"
              + " moveGigabytesPerSecond, moveOverheadMs, reshardMs, paybackSteps, columnCuts, risk.")
  private Map<String, String> settings = new LinkedHashMap<>();

  boolean isGiven() {
    return !settings.isEmpty();
  }

  /**
   * Returns settings with the given overrides.
   *
   * @throws IllegalArgumentException if a key is unknown or a value is out of range
   */
  SearchSettings in(SearchSettings base) {
    settings.keySet().stream()
        .filter(key -> !KEYS.contains(key))
        .findFirst()
        .ifPresent(
            key -> {
              throw new IllegalArgumentException(
                  "Unknown setting %s; expected one of %s".formatted(key, String.join(", ", KEYS)));
            });
    return new SearchSettings(
        whole(KEYS.get(0), base.evaluationsPerTable()),
        whole(KEYS.get(1), base.repairEvaluations()),
        number(KEYS.get(2), base.moveGigabytesPerSecond()),
        number(KEYS.get(3), base.moveOverheadMs()),
        number(KEYS.get(4), base.reshardMs()),
        whole(KEYS.get(5), base.paybackSteps()),
        cuts(KEYS.get(6), base.columnCuts()),
        number(KEYS.get(7), base.risk()));
  }

  private long whole(String key, long otherwise) {
    String value = settings.get(key);
    try {
      return value == null ? otherwise : Long.parseLong(value.replace("_", ""));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "Setting %s must be an integer, got %s".formatted(key, value), e);
    }
  }

  private ColumnCuts cuts(String key, ColumnCuts otherwise) {
    String value = settings.get(key);
    return value == null ? otherwise : ColumnCuts.of(value);
  }

  private double number(String key, double otherwise) {
    String value = settings.get(key);
    try {
      return value == null ? otherwise : Double.parseDouble(value);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "Setting %s must be a number, got %s".formatted(key, value), e);
    }
  }
}
