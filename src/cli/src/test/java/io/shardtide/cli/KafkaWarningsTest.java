package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.core.spi.FilterReply;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.shardtide.cli.KafkaWarnings.Line;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class KafkaWarningsTest {
  private static final String SENDER = "org.apache.kafka.clients.producer.internals.Sender";
  private static final String OUT_OF_ORDER =
      "Got error produce response on topic-partition x-0, retrying. Error: OUT_OF_ORDER_SEQUENCE_NUMBER";

  private final LoggerContext context = new LoggerContext();
  private final KafkaWarnings filter = new KafkaWarnings();

  private boolean suppressed(String logger, String message, Throwable error) {
    Logger source = context.getLogger(logger);
    return filter.decide(new LoggingEvent("x", source, Level.ERROR, message, error, new Object[0]))
        == FilterReply.DENY;
  }

  /** Tests of commands run in this process. */
  @BeforeEach
  void noCommandRuns() {
    KafkaWarnings.of(Optional.empty());
  }

  @Test
  void a_line_is_suppressed_by_its_message_or_by_its_exception_and_counted() {
    SimpleMeterRegistry meters = new SimpleMeterRegistry();
    KafkaWarnings.bindTo(meters);
    double before = counted(meters, "previous_transaction");
    assertThat(
            suppressed(
                "org.apache.kafka.controller.QuorumController",
                "Performing activation. The metadata log appears to be empty. Appending",
                null))
        .isTrue();
    assertThat(
            suppressed(
                SENDER,
                "Got error produce response on topic-partition x-0, retrying (9 attempts left). Error: CONCURRENT_TRANSACTIONS",
                null))
        .isTrue();
    assertThat(
            suppressed(
                "io.confluent.kafka.schemaregistry.client.rest.RestService",
                "outer",
                new IllegalStateException(
                    "outer", new IllegalStateException("Failed to send HTTP request to endpoint"))))
        .isTrue();
    assertThat(counted(meters, "previous_transaction")).isEqualTo(before + 1);
    assertThat(meters.get("shardtide.suppressed.log.lines").functionCounters())
        .as("every line has a counter from the start")
        .hasSize(Line.values().length);
  }

  private static double counted(SimpleMeterRegistry meters, String line) {
    return meters.get("shardtide.suppressed.log.lines").tag("line", line).functionCounter().count();
  }

  /** A cluster's broker is another process, so that only the producer's line is seen here. */
  @Test
  void an_out_of_order_sequence_number_of_a_cluster_is_logged() {
    assertThat(suppressed(SENDER, OUT_OF_ORDER, null)).isFalse();
    assertThat(
            suppressed(
                "kafka.server.ReplicaManager",
                "Error processing append operation",
                new IllegalStateException(
                    "Expected sequence 0 for transactions v2 idempotent producer with no existing state.")))
        .isTrue();
    assertThat(suppressed(SENDER, OUT_OF_ORDER, null)).as("the embedded broker explained").isTrue();
    assertThat(suppressed(SENDER, OUT_OF_ORDER, null)).as("but only once").isFalse();
  }

  @Test
  void a_state_folder_in_tmp_is_warned_of_unless_it_is_the_demos() {
    String warning = "Using an OS temp directory in the state.dir. Resolved state.dir: [%s]";
    String logger = "org.apache.kafka.streams.processor.internals.StateDirectory";
    assertThat(suppressed(logger, warning.formatted("/tmp/planner"), null)).isFalse();
    assertThat(suppressed(logger, warning.formatted("/tmp/shardtide-demo7/state"), null)).isTrue();
  }

  @Test
  void other_lines_are_logged() {
    assertThat(
            suppressed(
                "kafka.server.ReplicaManager", "Disk error", new java.io.IOException("full")))
        .isFalse();
    assertThat(suppressed("io.shardtide.X", "The metadata log appears to be empty", null))
        .isFalse();
  }

  @Test
  void an_outage_of_a_command_is_told_after_10_s_and_20_s_and_all_lines_of_kafka_are_kept_back() {
    StringWriter err = new StringWriter();
    KafkaWarnings.Outages outages = new KafkaWarnings.Outages("kafka:9092", new PrintWriter(err));
    for (long second = 0; second <= 25; second++) {
      outages.warned(TimeUnit.SECONDS.toNanos(second));
    }
    outages.warned(TimeUnit.SECONDS.toNanos(40));
    assertThat(err.toString().lines())
        .containsExactly(
            "shardtide: connecting to Kafka at kafka:9092 has failed for 10 s, 11 warnings; trying again",
            "shardtide: connecting to Kafka at kafka:9092 has failed for 20 s, 21 warnings; trying again");
    KafkaWarnings.of(Optional.of(outages));
    try {
      assertThat(suppressed(SENDER, "Disk error", null)).isTrue();
      assertThat(suppressed("io.shardtide.X", "Disk error", null)).isFalse();
    } finally {
      KafkaWarnings.of(Optional.empty());
    }
    assertThat(suppressed(SENDER, "Disk error", null)).isFalse();
  }
}
