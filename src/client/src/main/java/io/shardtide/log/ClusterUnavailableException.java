package io.shardtide.log;

/** A Kafka cluster did not answer within the client's time-out. Trying again later may succeed. */
public final class ClusterUnavailableException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * @param bootstrapServers the cluster's addresses
   * @param cause what Kafka's client reported
   */
  public ClusterUnavailableException(String bootstrapServers, Throwable cause) {
    super(
        "The Kafka cluster at %s did not answer: %s"
            .formatted(bootstrapServers, cause.getMessage()),
        cause);
  }
}
