package io.shardtide.topology;

/**
 * Where a topic on the cluster is not as the catalogue and the settings say.
 *
 * @param topic the topic's name
 * @param setting what differs
 * @param found what it is
 * @param wanted what it should be
 * @param refused whether the planner must not run on it; otherwise it is only said
 * @param reason why it should be so, in a few words
 * @param remedy the command, or the line of the settings file, that puts it right
 */
public record TopicDifference(
    String topic,
    String setting,
    String found,
    String wanted,
    boolean refused,
    String reason,
    String remedy) {}
