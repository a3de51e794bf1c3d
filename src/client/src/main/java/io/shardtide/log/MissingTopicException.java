package io.shardtide.log;

/** A Kafka cluster does not have a topic. */
public final class MissingTopicException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  private final String topic;
  private final String bootstrapServers;

  MissingTopicException(String topic, String bootstrapServers) {
    this(topic, bootstrapServers, "Start a planner there, or use its topic prefix", null);
  }

  private MissingTopicException(
      String topic, String bootstrapServers, String advice, Throwable cause) {
    super(
        "There is no topic %s on the Kafka cluster at %s. %s"
            .formatted(topic, bootstrapServers, advice),
        cause);
    this.topic = topic;
    this.bootstrapServers = bootstrapServers;
  }

  /**
   * Returns this error with another advice.
   *
   * @param advice what to do; the last sentence of the message, without a full stop
   */
  public MissingTopicException withAdvice(String advice) {
    return new MissingTopicException(topic, bootstrapServers, advice, this);
  }
}
