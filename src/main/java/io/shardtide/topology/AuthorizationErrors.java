package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import io.shardtide.tls.OwnCertificate;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.TransactionalIdAuthorizationException;
import org.apache.kafka.common.resource.ResourceType;

/** Explains which ACL a planner lacks, or why it is not accepted, when the cluster refuses it. */
final class AuthorizationErrors {
  private AuthorizationErrors() {}

  /**
   * Returns the error to throw: with the missing ACL if the cluster does not accept the user or
   * refuses a request; otherwise the error itself.
   */
  static Exception explain(Exception error, ServiceSettings settings) {
    Optional<String> missing = missing(error, settings);
    if (missing.isEmpty()) {
      return error;
    }
    Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
    return new IllegalStateException(sentence(cause.getMessage()) + " " + missing.get(), error);
  }

  /** Returns the message of the root cause, with the missing ACL if there is one. */
  static String describe(Throwable error, ServiceSettings settings) {
    return missing(error, settings)
        .map(missing -> sentence(Retry.describe(error)) + " " + missing)
        .orElseGet(() -> Retry.describe(error));
  }

  private static String sentence(String text) {
    return text.endsWith(".") ? text : text + ".";
  }

  private static Optional<String> missing(Throwable error, ServiceSettings settings) {
    for (Throwable e = error; e != null; e = e.getCause()) {
      if (e instanceof AuthenticationException) {
        return Optional.of(
            expired(settings)
                .orElse(
                    "The brokers do not accept this user, or it does not trust their certificates; check kafka.sasl.* and kafka.ssl.* in the settings, and when the brokers' certificates expire"));
      }
      if (e instanceof TopicAuthorizationException topics
          && !topics.unauthorizedTopics().isEmpty()) {
        return Optional.of(needs(ResourceType.TOPIC, topics.unauthorizedTopics(), settings));
      }
      if (e instanceof GroupAuthorizationException group && group.groupId() != null) {
        return Optional.of(needs(ResourceType.GROUP, List.of(group.groupId()), settings));
      }
      if (e instanceof TransactionalIdAuthorizationException) {
        // The error does not name it.
        return Optional.of(
            needs(ResourceType.TRANSACTIONAL_ID, List.of(settings.topics().prefix()), settings));
      }
      // Some clients keep only the text of the error.
      if (e instanceof AuthorizationException
          || (e instanceof KafkaException
              && String.valueOf(e.getMessage()).contains("authorization failed"))) {
        return Optional.of("This user lacks an ACL; " + remedy(settings));
      }
    }
    return Optional.empty();
  }

  private static Optional<String> expired(ServiceSettings settings) {
    try {
      return new OwnCertificate(settings.connection().kafka()).expired(Instant.now());
    } catch (KafkaException e) {
      // The client that failed says what is wrong with the file.
      return Optional.empty();
    }
  }

  private static String remedy(ServiceSettings settings) {
    return "./shardtide acls --role planner%s prints the commands that add it"
        .formatted(settings.pools() ? " --pools" : "");
  }

  private static String needs(
      ResourceType type, Collection<String> names, ServiceSettings settings) {
    List<AclGrant> all = Acls.of(Acls.Role.PLANNER, settings.topics().prefix(), settings.pools());
    String needed =
        names.stream()
            .sorted()
            .map(
                name ->
                    "%s on %s"
                        .formatted(
                            all.stream()
                                .filter(acl -> acl.covers(type, name))
                                .map(AclGrant::operationName)
                                .collect(Collectors.joining(", ")),
                            name))
            .collect(Collectors.joining("; "));
    return "This user needs %s; %s".formatted(needed, remedy(settings));
  }
}
