package io.shardtide.topology;

import io.shardtide.wire.Causes;
import io.shardtide.wire.RegistryUnavailableException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.SerializationException;

/** Tells errors of Kafka, the registry and the disk from errors in the records of a key. */
final class Outages {
  private Outages() {}

  /**
   * Returns whether an error comes from outside: from Kafka, whose last cause is its own exception;
   * from the registry; or from input, output and RocksDB, whose exceptions are checked. A record
   * that cannot be serialized, or is too large, is a key's own.
   */
  static boolean isOutage(Throwable error) {
    if (Causes.find(error, RegistryUnavailableException.class).isPresent()) {
      return true;
    }
    Throwable root = Causes.root(error);
    return root instanceof KafkaException
        ? !(root instanceof RecordTooLargeException) && !(root instanceof SerializationException)
        : !(root instanceof RuntimeException) && !(root instanceof Error);
  }
}
