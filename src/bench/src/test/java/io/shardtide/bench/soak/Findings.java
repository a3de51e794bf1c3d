package io.shardtide.bench.soak;

import io.shardtide.workload.SourcePosition;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Counts what is checked, and keeps the violations. */
final class Findings {
  /** Violations that are kept of each guarantee: one loss may shift all later generations. */
  private static final int KEPT = 100;

  private final Map<Guarantee, Long> checked = new EnumMap<>(Guarantee.class);
  private final Map<Guarantee, Long> found = new EnumMap<>(Guarantee.class);
  private final List<SoakViolation> violations = new ArrayList<>();

  void checked(Guarantee guarantee) {
    checked.merge(guarantee, 1L, Long::sum);
  }

  void violated(
      Guarantee guarantee, String workloadId, List<SourcePosition> positions, String message) {
    if (found.merge(guarantee, 1L, Long::sum) <= KEPT) {
      violations.add(new SoakViolation(guarantee, workloadId, positions, message));
    }
  }

  SoakReport report() {
    return new SoakReport(checked, found, violations);
  }
}
