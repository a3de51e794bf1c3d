package io.shardtide.log;

import io.shardtide.wire.Extension;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.TransactionalIdAuthorizationException;
import org.apache.kafka.common.resource.ResourceType;

/**
 * What a Kafka cluster refuses a user, who lacks an ACL.
 *
 * @param type topic, group or transactional id; {@link ResourceType#ANY} if Kafka does not say
 * @param names what is refused, in order; empty if Kafka does not say
 * @param text Kafka's own message
 */
public record RefusedAccess(ResourceType type, List<String> names, String text) {
  private RefusedAccess(ResourceType type, Collection<String> names, Throwable error) {
    this(type, names.stream().sorted().toList(), String.valueOf(error.getMessage()));
  }

  /**
   * Returns what the outermost such error among the causes says; empty if there is none.
   *
   * @param prefix of the transactional ids, which Kafka's error does not name
   */
  public static Optional<RefusedAccess> find(Throwable error, String prefix) {
    for (Throwable e = error; e != null; e = e.getCause()) {
      if (e instanceof TopicAuthorizationException topics
          && !topics.unauthorizedTopics().isEmpty()) {
        return Optional.of(new RefusedAccess(ResourceType.TOPIC, topics.unauthorizedTopics(), e));
      }
      if (e instanceof GroupAuthorizationException group && group.groupId() != null) {
        return Optional.of(new RefusedAccess(ResourceType.GROUP, List.of(group.groupId()), e));
      }
      if (e instanceof TransactionalIdAuthorizationException) {
        return Optional.of(new RefusedAccess(ResourceType.TRANSACTIONAL_ID, List.of(prefix), e));
      }
      // Some clients keep only the text of the error.
      if (e instanceof AuthorizationException
          || (e instanceof KafkaException
              && String.valueOf(e.getMessage()).contains("authorization failed"))) {
        return Optional.of(new RefusedAccess(ResourceType.ANY, List.of(), e));
      }
    }
    return Optional.empty();
  }

  /**
   * Returns what the user lacks and how to get it, in one sentence without a full stop.
   *
   * @param operations returns the operations that the user needs on one of the names
   * @param role the role of {@code ./shardtide rights} that has them
   * @param extensions optional parts of the planner that the role also uses
   */
  public String needs(UnaryOperator<String> operations, String role, Set<Extension> extensions) {
    String missing =
        names.stream()
            .map(name -> "%s on %s".formatted(operations.apply(name), name))
            .collect(Collectors.joining("; "));
    return "This user %s; ./shardtide rights --role %s%s prints the commands that add it"
        .formatted(
            missing.isEmpty() ? "lacks an ACL" : "needs " + missing,
            role,
            Extension.options(extensions));
  }

  /** Returns a text with a full stop at its end. */
  public static String sentence(String text) {
    return text.endsWith(".") ? text : text + ".";
  }
}
