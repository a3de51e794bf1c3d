package io.shardtide.wire;

import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.UUID;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * Headers of a record on cost-predictions, which say of which event it is: who awaits one event
 * need not decode those of others. Values are text in UTF-8. The record itself says the same; those
 * of planners before 0.3.0 have no headers.
 */
public final class EventHeaders {
  /** Id of the latest event that was applied, as {@link UUID#toString}. */
  public static final String EVENT_ID = "shardtide.event.id";

  /** Generation of the workload after the event, in decimal digits. */
  public static final String GENERATION = "shardtide.generation";

  private EventHeaders() {}

  /** Returns the headers of a record of an event. */
  public static Headers of(UUID eventId, long generation) {
    return new RecordHeaders()
        .add(EVENT_ID, eventId.toString().getBytes(StandardCharsets.UTF_8))
        .add(GENERATION, Long.toString(generation).getBytes(StandardCharsets.UTF_8));
  }

  /** Returns the event's id; empty if the headers do not say it. */
  public static Optional<UUID> eventId(Headers headers) {
    try {
      return Optional.ofNullable(headers.lastHeader(EVENT_ID))
          .map(Header::value)
          .map(value -> UUID.fromString(new String(value, StandardCharsets.UTF_8)));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }
}
