package io.shardtide.wire;

import io.confluent.kafka.schemaregistry.client.SchemaRegistryClientConfig;
import io.shardtide.tls.ReloadingSslEngineFactory;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.utils.Utils;

/**
 * The clock of the registry's machine, as its HTTP answers state it (RFC 9110, section 6.6.1):
 * Kafka's protocol has no answer with a time of the broker.
 */
public final class RegistryClock {
  private static final Duration TIMEOUT = Duration.ofSeconds(3);

  private RegistryClock() {}

  /**
   * Returns the time of the registry's machine, in whole seconds, rounded down.
   *
   * @param url address of the registry
   * @param settings settings of the registry's client, of which those of TLS are used
   * @return the time; empty if the registry does not answer, or states none
   */
  public static Optional<Instant> read(String url, Map<String, ?> settings)
      throws InterruptedException {
    try {
      HttpClient.Builder client = HttpClient.newBuilder().connectTimeout(TIMEOUT);
      Map<String, ?> tls =
          Utils.entriesWithPrefix(settings, SchemaRegistryClientConfig.CLIENT_NAMESPACE);
      if (!tls.isEmpty()) {
        client.sslContext(ReloadingSslEngineFactory.of(tls).context());
      }
      HttpResponse<Void> answer =
          client
              .build()
              .send(
                  HttpRequest.newBuilder(URI.create(url)).timeout(TIMEOUT).build(),
                  HttpResponse.BodyHandlers.discarding());
      return answer
          .headers()
          .firstValue("date")
          .map(date -> ZonedDateTime.parse(date, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant());
    } catch (IOException | IllegalArgumentException | DateTimeParseException e) {
      return Optional.empty();
    }
  }
}
