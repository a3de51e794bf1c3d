package io.shardtide.cli;

import io.shardtide.plan.SearchSettings;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import picocli.CommandLine.Option;

/** The option that overrides search settings. */
final class SettingsOption {
  @Option(
      names = "--set",
      paramLabel = "KEY=VALUE",
      description =
          "With --what-if: a search setting to change; repeatable. Keys: evaluationsPerTable, repairEvaluations,"
              + " moveGigabytesPerSecond, moveOverheadMs, reshardMs, paybackSteps, risk.")
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
    Set<String> keys = new LinkedHashSet<>(RecordText.keys(SearchSettings.class));
    keys.remove("columnCuts");
    Map<String, String> values = new LinkedHashMap<>();
    settings.forEach(
        (key, value) -> {
          if (!keys.contains(key)) {
            throw new IllegalArgumentException(
                "Unknown setting %s; expected one of %s".formatted(key, String.join(", ", keys)));
          }
          values.put(key, value.replace("_", ""));
        });
    return RecordText.in(base, values);
  }
}
