package io.shardtide.embedded;

import java.io.IOException;

/** A running Kafka cluster on loopback. */
public interface Brokers extends AutoCloseable {
  /** Returns the addresses that clients connect to. */
  String bootstrapServers();

  /** Returns how many copies of a topic there can be, up to three. */
  int copies();

  /** Stops the brokers. */
  @Override
  void close() throws IOException;
}
