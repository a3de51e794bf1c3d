package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.core.spi.FilterReply;
import org.junit.jupiter.api.Test;

class HarmlessLogLinesTest {
  private final LoggerContext context = new LoggerContext();
  private final HarmlessLogLines filter = new HarmlessLogLines();

  private FilterReply decide(String logger, String message, Throwable error) {
    Logger source = context.getLogger(logger);
    return filter.decide(new LoggingEvent("x", source, Level.ERROR, message, error, new Object[0]));
  }

  @Test
  void a_line_is_dropped_by_its_message_or_by_its_error() {
    assertThat(
            decide(
                "org.apache.kafka.controller.QuorumController",
                "Performing activation. The metadata log appears to be empty. Appending",
                null))
        .isEqualTo(FilterReply.DENY);
    assertThat(
            decide(
                "kafka.server.ReplicaManager",
                "Error processing append operation",
                new IllegalStateException(
                    "outer",
                    new IllegalStateException(
                        "Expected 0 for transactions v2 idempotent producer with no existing"
                            + " state"))))
        .isEqualTo(FilterReply.DENY);
    assertThat(
            decide(
                "org.apache.kafka.clients.producer.internals.Sender",
                "Got error produce response on topic-partition x-0, retrying (9 attempts left)."
                    + " Error: CONCURRENT_TRANSACTIONS",
                null))
        .isEqualTo(FilterReply.DENY);
  }

  @Test
  void everything_else_stays() {
    assertThat(
            decide(
                "kafka.server.DefaultAutoTopicCreationManager",
                "Auto topic creation failed for __transaction_state with error"
                    + " 'INVALID_REPLICATION_FACTOR'",
                null))
        .isEqualTo(FilterReply.NEUTRAL);
    assertThat(decide("kafka.server.ReplicaManager", "Disk error", new java.io.IOException("full")))
        .isEqualTo(FilterReply.NEUTRAL);
    assertThat(decide("io.shardtide.X", "The metadata log appears to be empty", null))
        .isEqualTo(FilterReply.NEUTRAL);
  }
}
