package io.shardtide.topology;

import java.util.Locale;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.utils.SecurityUtils;

/**
 * An ACL that a client needs on the cluster.
 *
 * @param type resource type: topic, group or transactional id
 * @param name name of the resource, or prefix of the names
 * @param pattern whether {@code name} is a name or a prefix
 * @param operation the operation; Read and Write imply Describe
 * @param reason why it is needed, in a few words
 */
public record AclGrant(
    ResourceType type, String name, PatternType pattern, AclOperation operation, String reason) {
  /**
   * Returns the ACL binding, for any host.
   *
   * @param principal the user, such as {@code User:planner}
   */
  public AclBinding binding(String principal) {
    return new AclBinding(
        new ResourcePattern(type, name, pattern),
        new AccessControlEntry(principal, "*", operation, AclPermissionType.ALLOW));
  }

  /** Returns whether it allows the same as another one. */
  boolean isFor(AclGrant other) {
    return binding("User:*").equals(other.binding("User:*"));
  }

  /** Returns whether it covers a resource. */
  boolean covers(ResourceType otherType, String otherName) {
    return type == otherType
        && (pattern == PatternType.LITERAL ? otherName.equals(name) : otherName.startsWith(name));
  }

  /** Returns the resource's type and name, such as {@code topic shardtide.*}. */
  String resourceName() {
    return "%s %s%s"
        .formatted(
            type.name().toLowerCase(Locale.ROOT).replace('_', ' '),
            name,
            pattern == PatternType.PREFIXED ? "*" : "");
  }

  /** Returns the operation as Kafka's tools write it, such as {@code DescribeConfigs}. */
  String operationName() {
    return SecurityUtils.operationName(operation);
  }
}
