package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.DescribeConsumerGroupsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.TransactionalIdAuthorizationException;
import org.apache.kafka.common.errors.TransactionalIdNotFoundException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourceType;

/**
 * Finds the ACLs of a role that a user lacks, without changing anything: brokers say what a user
 * may do with a topic or a group. Of what does not exist yet, only whether the user may see it can
 * be asked, and of a transactional id never more than that.
 */
final class RightsCheck {
  private final Admin admin;
  private final ServiceSettings settings;
  private final List<AclGrant> grants;
  private final Set<AclGrant> missing = new LinkedHashSet<>();
  private boolean complete = true;

  /**
   * What a check found.
   *
   * @param missing ACLs that the user lacks, in the order of {@link Acls}
   * @param complete whether the brokers told all; not if a topic does not exist
   */
  record Rights(List<AclGrant> missing, boolean complete) {
    Rights {
      missing = List.copyOf(missing);
    }
  }

  private RightsCheck(Admin admin, Acls.Role role, ServiceSettings settings) {
    this.admin = admin;
    this.settings = settings;
    grants = Acls.of(role, settings.topics().prefix(), settings.extensions());
  }

  /**
   * Returns the ACLs of a role that the client's user lacks.
   *
   * @param admin client of the user; the caller closes it
   * @param role the role
   * @param settings settings of the planner
   */
  static Rights of(Admin admin, Acls.Role role, ServiceSettings settings)
      throws InterruptedException, ExecutionException {
    RightsCheck check = new RightsCheck(admin, role, settings);
    check.topics();
    check.groups();
    check.transactionalIds();
    List<AclGrant> ordered = new ArrayList<>(check.grants);
    ordered.retainAll(check.missing);
    return new Rights(ordered, check.complete);
  }

  private void topics() throws InterruptedException, ExecutionException {
    Set<String> names = names(ResourceType.TOPIC);
    for (Map.Entry<String, KafkaFuture<TopicDescription>> entry :
        admin
            .describeTopics(names, new DescribeTopicsOptions().includeAuthorizedOperations(true))
            .topicNameValues()
            .entrySet()) {
      try {
        compare(ResourceType.TOPIC, entry.getKey(), entry.getValue().get().authorizedOperations());
      } catch (ExecutionException e) {
        if (e.getCause() instanceof TopicAuthorizationException) {
          compare(ResourceType.TOPIC, entry.getKey(), Set.of());
        } else if (e.getCause() instanceof UnknownTopicOrPartitionException) {
          complete = false;
        } else {
          throw e;
        }
      }
    }
  }

  private void groups() throws InterruptedException, ExecutionException {
    Set<String> names = names(ResourceType.GROUP);
    for (Map.Entry<String, KafkaFuture<ConsumerGroupDescription>> entry :
        admin
            .describeConsumerGroups(
                names, new DescribeConsumerGroupsOptions().includeAuthorizedOperations(true))
            .describedGroups()
            .entrySet()) {
      try {
        compare(ResourceType.GROUP, entry.getKey(), entry.getValue().get().authorizedOperations());
      } catch (ExecutionException e) {
        if (e.getCause() instanceof GroupAuthorizationException) {
          compare(ResourceType.GROUP, entry.getKey(), Set.of());
        } else if (!(e.getCause() instanceof GroupIdNotFoundException)) {
          throw e;
        }
      }
    }
  }

  private void transactionalIds() throws InterruptedException, ExecutionException {
    for (String name : names(ResourceType.TRANSACTIONAL_ID)) {
      try {
        admin.describeTransactions(List.of(name)).description(name).get();
      } catch (ExecutionException e) {
        if (e.getCause() instanceof TransactionalIdAuthorizationException) {
          compare(ResourceType.TRANSACTIONAL_ID, name, Set.of());
        } else if (!(e.getCause() instanceof TransactionalIdNotFoundException)) {
          throw e;
        }
      }
    }
  }

  /** Returns the names to ask for: those of the ACLs, and of the topologies for a prefix. */
  private Set<String> names(ResourceType type) {
    Set<String> names = new TreeSet<>();
    for (AclGrant grant : grants) {
      if (grant.type() != type) {
        continue;
      }
      if (grant.pattern() == PatternType.LITERAL) {
        names.add(grant.name());
      } else if (type != ResourceType.TOPIC) {
        for (TopologyName topology : TopologyName.inUse(settings.extensions())) {
          names.add(topology.applicationId(settings.topics().prefix()));
        }
      }
    }
    return names;
  }

  /** Takes down what is missing on a resource; Kafka says nothing (null) if it does not know. */
  private void compare(ResourceType type, String name, Set<AclOperation> allowed) {
    if (allowed == null) {
      return;
    }
    grants.stream()
        .filter(grant -> grant.covers(type, name) && !allowed.contains(grant.operation()))
        .forEach(missing::add);
  }

  /** Returns the missing operations by resource, such as {@code Read, Write on topic x}. */
  static List<String> describe(List<AclGrant> acls) {
    Map<String, List<String>> byResource = new LinkedHashMap<>();
    for (AclGrant acl : acls) {
      byResource
          .computeIfAbsent(acl.resourceName(), resource -> new ArrayList<>())
          .add(acl.operationName());
    }
    List<String> texts = new ArrayList<>();
    byResource.forEach(
        (resource, operations) -> texts.add(String.join(", ", operations) + " on " + resource));
    return texts;
  }
}
