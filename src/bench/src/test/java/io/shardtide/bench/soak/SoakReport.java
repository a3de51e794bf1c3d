package io.shardtide.bench.soak;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * The result of a check.
 *
 * @param checked number of records that were checked for each guarantee
 * @param found number of violations of each guarantee
 * @param violations the first violations of each guarantee, in the order in which they were found
 */
public record SoakReport(
    Map<Guarantee, Long> checked, Map<Guarantee, Long> found, List<SoakViolation> violations) {
  /** Violations that {@link #toString} prints in full. */
  private static final int SHOWN = 20;

  /** Copies what may change. */
  public SoakReport {
    checked = complete(checked);
    found = complete(found);
    violations = List.copyOf(violations);
  }

  private static Map<Guarantee, Long> complete(Map<Guarantee, Long> counts) {
    Map<Guarantee, Long> all = new EnumMap<>(Guarantee.class);
    for (Guarantee guarantee : Guarantee.values()) {
      all.put(guarantee, counts.getOrDefault(guarantee, 0L));
    }
    return all;
  }

  /** Returns whether all guarantees held. */
  public boolean isClean() {
    return violations.isEmpty();
  }

  /** Returns a table of all guarantees, and the first violations. */
  @Override
  public String toString() {
    int width = 0;
    for (Guarantee guarantee : Guarantee.values()) {
      width = Math.max(width, guarantee.sentence().length());
    }
    String row = "%-" + width + "s  %15s  %10s%n";
    StringBuilder text =
        new StringBuilder(row.formatted("guarantee", "records checked", "violations"));
    for (Guarantee guarantee : Guarantee.values()) {
      text.append(
          row.formatted(
              guarantee.sentence(),
              "%,d".formatted(checked.get(guarantee)),
              "%,d".formatted(found.get(guarantee))));
    }
    violations.stream()
        .limit(SHOWN)
        .forEach(violation -> text.append(violation).append(System.lineSeparator()));
    if (violations.size() > SHOWN) {
      text.append("The first %d violations are shown.%n".formatted(SHOWN));
    }
    return text.toString();
  }
}
