package io.shardtide.log;

import io.shardtide.wire.Extension;
import java.util.Optional;

/** A Kafka cluster does not have a topic. */
public final class MissingTopicException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  /**
   * @param topic its name
   * @param extension the part of the planner without which the topic is not used
   */
  MissingTopicException(String topic, Optional<Extension> extension, String bootstrapServers) {
    super(
        "There is no topic %s on the Kafka cluster at %s. %s, or use its topic prefix"
            .formatted(
                topic,
                bootstrapServers,
                extension
                    .map("Set %s.enabled=true for the planner"::formatted)
                    .orElse("Start a planner there")));
  }
}
