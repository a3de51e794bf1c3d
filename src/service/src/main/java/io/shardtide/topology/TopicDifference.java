package io.shardtide.topology;

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
    return "%s of %s is %s, should be %s: %s. To fix it: %s"
        .formatted(setting, topic, found, wanted, reason, remedy);
  }
}
