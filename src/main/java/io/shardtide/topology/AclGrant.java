package io.shardtide.topology;

import java.util.Locale;
import java.util.Objects;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/**
 * Something that a client has to be allowed on the cluster.
 *
 * @param type what it is about: a topic, a group, a transactional id
 * @param name its name, or how names begin
 * @param pattern whether it is the name, or how names begin
 * @param operation what is done with it; reading and writing imply describing
 * @param reason what it is needed for, in a few words
 */
public record AclGrant(
    ResourceType type, String name, PatternType pattern, AclOperation operation, String reason) {
  /** Checks that nothing is missing. */
  public AclGrant {
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(pattern, "pattern");
    Objects.requireNonNull(operation, "operation");
    Objects.requireNonNull(reason, "reason");
  }

  /**
   * Returns the access control entry that gives it, from any host.
   *
   * @param principal to whom, {@code User:planner} say
   */
  public AclBinding binding(String principal) {
    return new AclBinding(
        new ResourcePattern(type, name, pattern),
        new AccessControlEntry(principal, "*", operation, AclPermissionType.ALLOW));
  }

  /** Returns whether it is about a thing of this kind with this name. */
  boolean covers(ResourceType otherType, String otherName) {
    return type == otherType
        && (pattern == PatternType.LITERAL ? otherName.equals(name) : otherName.startsWith(name));
  }

  /**
   * Returns the operation as Kafka's tools and documentation write it, {@code DescribeConfigs} say.
   */
  String operationName() {
    StringBuilder name = new StringBuilder();
    for (String word : operation.name().split("_", -1)) {
      name.append(word.charAt(0)).append(word.substring(1).toLowerCase(Locale.ROOT));
    }
    return name.toString();
  }
}
