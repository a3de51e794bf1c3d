package io.shardtide.cli;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.filter.Filter;
import ch.qos.logback.core.spi.FilterReply;
import java.util.Map;

/**
 * Keeps from the log what Kafka warns of and is meant to be so. Each line that is dropped is listed
 * here with its reason.
 */
public final class HarmlessLogLines extends Filter<ILoggingEvent> {
  private static final Map<String, String> HARMLESS =
      Map.of(
          // A new broker has no metadata yet.
          "QuorumController", "The metadata log appears to be empty",
          // The demo's data is temporary unless the user says otherwise.
          "StateDirectory", "Using an OS temp directory in the state.dir",
          // The topologies have no global stores.
          "StreamsConfig", "Processing exception handler is not enabled for the GlobalThread",
          // The broker closes its own connection twice when it stops (Kafka 4.3.1).
          "NetworkClient", "Attempting to close NetworkClient that has already been closed");

  @Override
  public FilterReply decide(ILoggingEvent event) {
    String logger = event.getLoggerName();
    String harmless = HARMLESS.get(logger.substring(logger.lastIndexOf('.') + 1));
    return harmless != null && event.getFormattedMessage().contains(harmless)
        ? FilterReply.DENY
        : FilterReply.NEUTRAL;
  }
}
