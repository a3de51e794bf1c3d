package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import io.shardtide.log.RefusedAccess;
import io.shardtide.tls.OwnCertificate;
import io.shardtide.wire.Causes;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.resource.ResourceType;

/**
 * Explains which ACL a planner lacks, why it is not accepted, or which limit of the brokers it
 * exceeds, when the cluster refuses it.
 */
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
    return new IllegalStateException(
        RefusedAccess.sentence(cause.getMessage()) + " " + missing.get(), error);
  }

  /** Returns the message of the root cause, with the missing ACL if there is one. */
  static String describe(Throwable error, ServiceSettings settings) {
    return missing(error, settings)
        .map(missing -> RefusedAccess.sentence(Retry.describe(error)) + " " + missing)
        .orElseGet(() -> Retry.describe(error));
  }

  private static Optional<String> missing(Throwable error, ServiceSettings settings) {
    boolean refused = Causes.find(error, AuthenticationException.class).isPresent();
    // A broker's refusal may be lost: it closes the connection with it.
    if (refused || Causes.find(error, TimeoutException.class).isPresent()) {
      Optional<String> expired = OwnCertificate.expiredOf(settings.endpoint().kafka());
      if (refused || expired.isPresent()) {
        return Optional.of(
            expired.orElse(
                "The brokers do not accept this user, or it does not trust their certificates; check kafka.sasl.* and kafka.ssl.* in the settings, and when the brokers' certificates expire"));
      }
    }
    return RefusedAccess.find(error, settings.endpoint().prefix())
        .map(
            access ->
                access.needs(
                    name -> operations(access.type(), name, settings),
                    Acls.Role.PLANNER.toString(),
                    settings.extensions()))
        .or(() -> BrokerLimits.explain(error, settings));
  }

  private static String operations(ResourceType type, String name, ServiceSettings settings) {
    return Acls.of(Acls.Role.PLANNER, settings.endpoint().prefix(), settings.extensions()).stream()
        .filter(acl -> acl.covers(type, name))
        .map(AclGrant::operationName)
        .collect(Collectors.joining(", "));
  }
}
