package io.shardtide.log;

import io.shardtide.wire.Topic;

/** A Kafka cluster does not have a topic. */
public final class MissingTopicException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  MissingTopicException(Topic<?> topic, String bootstrapServers) {
    super(
        "There is no topic %s on the Kafka cluster at %s. %s, or use its topic prefix"
            .formatted(
                topic.name(),
                bootstrapServers,
                topic
                    .type()
                    .extension()
                    .map("Set %s.enabled=true for the planner"::formatted)
                    .orElse("Start a planner there")));
  }
}
