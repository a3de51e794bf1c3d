package io.shardtide.topology;

import java.util.List;
import java.util.stream.Collectors;

/**
 * A difference between a topic or a limit on the cluster and {@link io.shardtide.wire.Topics} or
 * the settings.
 *
 * @param topic name of the topic, or {@link BrokerLimits#BROKERS}
 * @param setting the setting that differs
 * @param found its value on the cluster
 * @param wanted its expected value
 * @param refused whether the planner must not start; otherwise the difference is only logged
 * @param reason why the value is expected, in a few words
 * @param remedy the command, or the line of the settings file, that fixes it
 */
public record TopicDifference(
    String topic,
    String setting,
    String found,
    String wanted,
    boolean refused,
    String reason,
    String remedy) {
  /** Returns what differs, why it matters, and what to do. */
  String sentence() {
    return "%s. To fix it: %s".formatted(text(), remedy);
  }

  private String text() {
    return "%s of %s is %s, should be %s: %s".formatted(setting, topic, found, wanted, reason);
  }

  /**
   * Returns the result of a check that found differences.
   *
   * @param found what it found if there are none
   * @param before precedes them
   */
  static CheckResult result(String found, String before, List<TopicDifference> differences) {
    List<TopicDifference> refused = differences.stream().filter(TopicDifference::refused).toList();
    List<TopicDifference> shown = refused.isEmpty() ? differences : refused;
    if (shown.isEmpty()) {
      return CheckResult.ok(found);
    }
    String what =
        refused.isEmpty()
            ? "differ from what is expected"
            : "would lose, refuse or misplace records";
    String finding =
        "%s%d %s, such as %s".formatted(before, shown.size(), what, shown.get(0).text());
    String remedy =
        shown.stream()
            .map(TopicDifference::remedy)
            .distinct()
            .collect(Collectors.joining(System.lineSeparator()));
    return refused.isEmpty()
        ? CheckResult.warning(finding, remedy)
        : CheckResult.failed(finding, remedy);
  }
}
