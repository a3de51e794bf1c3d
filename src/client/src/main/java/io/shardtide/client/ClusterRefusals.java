package io.shardtide.client;

import static java.util.stream.Collectors.joining;

import io.shardtide.log.RefusedAccess;
import io.shardtide.tls.OwnCertificate;
import io.shardtide.wire.Causes;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Topics;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.resource.ResourceType;

/**
 * Says what a client lacks that a Kafka cluster does not accept, or refuses a request.
 *
 * @param endpoint the cluster
 * @param role the client's, of {@code ./shardtide rights}
 */
record ClusterRefusals(Endpoint endpoint, String role) {
  private static final Pattern USER = Pattern.compile("\\busername=\"?([^\"\\s;]+)");

  /**
   * Returns an error of the same kind, whose message says what to do; the error itself if the
   * cluster refuses nothing.
   *
   * @param operation what the client does with the topics that the error names: {@code Read} or
   *     {@code Write}
   */
  RuntimeException explain(RuntimeException error, String operation) {
    return Causes.find(error, AuthenticationException.class)
        .<RuntimeException>map(e -> notAccepted(Optional.of(e)))
        .or(
            () ->
                RefusedAccess.find(error, endpoint.prefix())
                    .map(refused -> explain(refused, operation, error)))
        .orElse(error);
  }

  private RuntimeException explain(
      RefusedAccess refused, String operation, RuntimeException error) {
    Topics topics = endpoint.topics();
    Set<Extension> extensions =
        refused.names().stream()
            .flatMap(name -> topics.extensionOf(name).stream())
            .collect(Collectors.toSet());
    // Clients read how far a group is, and join none.
    String needed = refused.type() == ResourceType.GROUP ? "Describe" : operation;
    String message =
        "The Kafka cluster at %s refuses a request%s %s"
            .formatted(
                endpoint.bootstrapServers(),
                refused.names().isEmpty() ? ": " + RefusedAccess.sentence(refused.text()) : ".",
                refused.needs(name -> needed, role, extensions));
    return switch (refused.type()) {
      case TOPIC ->
          (RuntimeException)
              new TopicAuthorizationException(message, Set.copyOf(refused.names()))
                  .initCause(error);
      case GROUP ->
          (RuntimeException)
              new GroupAuthorizationException(message, refused.names().get(0)).initCause(error);
      default -> new ClusterAuthorizationException(message, error);
    };
  }

  /**
   * Returns the error of a client that the brokers do not accept.
   *
   * @param reason what Kafka says; empty if it does not
   */
  AuthenticationException notAccepted(Optional<Throwable> reason) {
    return new AuthenticationException(
        "The Kafka cluster at %s does not accept this client (%s)%s %s"
            .formatted(
                endpoint.bootstrapServers(),
                identity(),
                reason.map(e -> ": " + RefusedAccess.sentence(e.getMessage())).orElse("."),
                expired()
                    .orElse(
                        "Check sasl.* and ssl.* in the settings of Kafka's client, and when the"
                            + " brokers' certificates expire")),
        reason.orElse(null));
  }

  /** Returns how the client says who it is, without secrets. */
  private String identity() {
    Map<String, Object> kafka = endpoint.kafka();
    Matcher user = USER.matcher(String.valueOf(kafka.get(SaslConfigs.SASL_JAAS_CONFIG)));
    return Stream.of(
            kafka.getOrDefault(CommonClientConfigs.SECURITY_PROTOCOL_CONFIG, "PLAINTEXT"),
            kafka.get(SaslConfigs.SASL_MECHANISM),
            user.find() ? "user " + user.group(1) : null)
        .filter(Objects::nonNull)
        .map(Object::toString)
        .collect(joining(", "));
  }

  /** Returns what to do about the client's own certificate, if that has expired. */
  Optional<String> expired() {
    return OwnCertificate.expiredOf(endpoint.kafka());
  }
}
