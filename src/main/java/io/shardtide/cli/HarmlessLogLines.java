package io.shardtide.cli;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.core.filter.Filter;
import ch.qos.logback.core.spi.FilterReply;
import java.util.List;

/**
 * Keeps from the log what Kafka warns of and is meant to be so. Each line that is dropped is listed
 * here with its reason.
 */
public final class HarmlessLogLines extends Filter<ILoggingEvent> {
  /**
   * A line that is dropped.
   *
   * @param logger simple name of the class that writes it
   * @param text what its message or its error says
   */
  private record Line(String logger, String text) {}

  private static final List<Line> HARMLESS =
      List.of(
          // A new broker has no metadata yet, and asks itself for a moment who the controller is.
          new Line("QuorumController", "The metadata log appears to be empty"),
          new Line("ControllerApis", "The active controller appears to be node"),
          // Producers begin their first transactions at once: the broker creates the topic for one
          // of
          // them.
          new Line("DefaultAutoTopicCreationManager", "Topic '__transaction_state' already exists"),
          // The demo's data is temporary unless the user says otherwise.
          new Line("StateDirectory", "Using an OS temp directory in the state.dir"),
          // The topologies have no global stores.
          new Line("StreamsConfig", "exception handler is not enabled for the GlobalThread"),
          // A transaction that begins on a topic that was created a moment ago; the producer sends
          // again.
          new Line("ReplicaManager", "idempotent producer with no existing state"),
          new Line("Sender", "Error: OUT_OF_ORDER_SEQUENCE_NUMBER"),
          // Each attempt; who asked says in a line that the registry is away, and health does.
          new Line("RestService", "Failed to send HTTP request to endpoint"),
          new Line("RestService", "Failing over to next URL if available"),
          // A reader that goes on to its next partition hears once more of the one before.
          new Line("OffsetFetcherUtils", "as it is no longer assigned"),
          // A transaction that begins while the broker still completes the one before; the producer
          // sends again.
          new Line("Sender", "Error: CONCURRENT_TRANSACTIONS"),
          // The broker closes its own connection twice when it stops.
          new Line(
              "NetworkClient", "Attempting to close NetworkClient that has already been closed"));

  @Override
  public FilterReply decide(ILoggingEvent event) {
    String name = event.getLoggerName();
    String logger = name.substring(name.lastIndexOf('.') + 1);
    for (Line line : HARMLESS) {
      if (line.logger().equals(logger) && says(event, line.text())) {
        return FilterReply.DENY;
      }
    }
    return FilterReply.NEUTRAL;
  }

  private static boolean says(ILoggingEvent event, String text) {
    if (event.getFormattedMessage().contains(text)) {
      return true;
    }
    for (IThrowableProxy e = event.getThrowableProxy(); e != null; e = e.getCause()) {
      if (e.getMessage() != null && e.getMessage().contains(text)) {
        return true;
      }
    }
    return false;
  }
}
