package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import io.shardtide.wire.Extension;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.DescribeConsumerGroupsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
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
  /** Resources that are listed; the command that adds their rights has all. */
  private static final int LISTED = 3;

  private final ServiceSettings settings;
  private final List<AclGrant> grants;
  private final Set<AclGrant> missing = new HashSet<>();

  /** Whether the brokers told all; not if a topic does not exist. */
  private boolean complete = true;

  private RightsCheck(Acls.Role role, ServiceSettings settings) {
    this.settings = settings;
    grants = Acls.of(role, settings.endpoint().prefix(), settings.extensions());
  }

  /**
   * Names the ACLs of a role that the client's user lacks.
   *
   * @param admin client of the user; the caller closes it
   * @param role the role
   * @param settings settings of the planner
   */
  static CheckResult of(Admin admin, Acls.Role role, ServiceSettings settings)
      throws InterruptedException, ExecutionException {
    RightsCheck check = new RightsCheck(role, settings);
    DescribeTopicsOptions ofTopics = new DescribeTopicsOptions().includeAuthorizedOperations(true);
    Set<String> topics = check.names(ResourceType.TOPIC);
    check.ask(
        ResourceType.TOPIC,
        admin.describeTopics(topics, ofTopics).topicNameValues(),
        TopicDescription::authorizedOperations);
    DescribeConsumerGroupsOptions ofGroups =
        new DescribeConsumerGroupsOptions().includeAuthorizedOperations(true);
    Set<String> groups = check.names(ResourceType.GROUP);
    check.ask(
        ResourceType.GROUP,
        admin.describeConsumerGroups(groups, ofGroups).describedGroups(),
        ConsumerGroupDescription::authorizedOperations);
    check.ask(
        ResourceType.TRANSACTIONAL_ID,
        check.names(ResourceType.TRANSACTIONAL_ID).stream()
            .collect(
                Collectors.toMap(
                    id -> id, id -> admin.describeTransactions(List.of(id)).description(id))),
        id -> null);
    return check.result(role);
  }

  private CheckResult result(Acls.Role role) {
    List<String> lacking = new ArrayList<>();
    grants.stream()
        .filter(missing::contains)
        .collect(
            Collectors.groupingBy(
                AclGrant::resourceName,
                LinkedHashMap::new,
                Collectors.mapping(AclGrant::operationName, Collectors.joining(", "))))
        .forEach((resource, operations) -> lacking.add(operations + " on " + resource));
    if (lacking.isEmpty()) {
      return CheckResult.ok(
          "role %s: none is missing%s"
              .formatted(role, complete ? "" : " so far; run doctor again when its topics exist"));
    }
    String finding =
        "This user lacks %s%s"
            .formatted(
                lacking.stream().limit(LISTED).collect(Collectors.joining("; ")),
                lacking.size() > LISTED
                    ? "; and rights on %d more".formatted(lacking.size() - LISTED)
                    : "");
    String remedy =
        "run what this prints: ./shardtide rights --role %s --prefix %s --principal User:NAME%s"
            .formatted(
                role, settings.endpoint().prefix(), Extension.options(settings.extensions()));
    return role == Acls.Role.PLANNER
        ? CheckResult.failed(finding, remedy)
        : CheckResult.warning(finding + ": the dashboard stays empty", remedy);
  }

  /**
   * Compares resources of a type.
   *
   * @param answers what the brokers say of each
   * @param allowed what the user may do; null if the brokers do not say it
   */
  private <T> void ask(
      ResourceType type,
      Map<String, KafkaFuture<T>> answers,
      Function<T, Set<AclOperation>> allowed)
      throws InterruptedException, ExecutionException {
    for (Map.Entry<String, KafkaFuture<T>> answer : answers.entrySet()) {
      try {
        compare(type, answer.getKey(), allowed.apply(answer.getValue().get()));
      } catch (ExecutionException e) {
        if (e.getCause() instanceof AuthorizationException) {
          compare(type, answer.getKey(), Set.of());
        } else if (e.getCause() instanceof UnknownTopicOrPartitionException) {
          complete = false;
        } else if (!(e.getCause() instanceof GroupIdNotFoundException
            || e.getCause() instanceof TransactionalIdNotFoundException)) {
          throw e;
        }
      }
    }
  }

  /** Returns the names to ask for: those of the ACLs, and of the topologies for a prefix. */
  private Set<String> names(ResourceType type) {
    Set<String> names = new TreeSet<>();
    for (AclGrant grant : grants) {
      if (grant.type() == type && grant.pattern() == PatternType.LITERAL) {
        names.add(grant.name());
      } else if (grant.type() == type && type != ResourceType.TOPIC) {
        TopologyName.inUse(settings.extensions())
            .forEach(topology -> names.add(topology.applicationId(settings.endpoint().prefix())));
      }
    }
    return names;
  }

  /** Takes down what is missing on a resource; Kafka says nothing (null) if it does not know. */
  private void compare(ResourceType type, String name, Set<AclOperation> allowed) {
    grants.stream()
        .filter(grant -> grant.covers(type, name))
        .filter(grant -> allowed != null && !allowed.contains(grant.operation()))
        .forEach(missing::add);
  }
}
