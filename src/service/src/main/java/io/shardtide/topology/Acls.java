package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_ALLOCATIONS;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.TABLE_FILLS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.config.ShellWord;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import io.shardtide.wire.Topics;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourceType;

/**
 * The ACLs that each role needs on a cluster with an authorizer, and no more; {@code ./shardtide
 * acls} prints them.
 */
public final class Acls {
  /** A role of clients, with a user of its own. */
  public enum Role {
    /** Publishes changes, and reads whether they were applied or rejected. */
    PUBLISHER,
    /** This service. */
    PLANNER,
    /** Reads plans, and reports statuses and measured costs. */
    TRAINER,
    /** Reads all topics for display; the planner's user needs it for its dashboard. */
    DASHBOARD,
    /** A person who only looks: export, replay, why, the lists of models, a dashboard. */
    VIEWER;

    /** Returns its name in lower case. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final Topics topics;
  private final String prefix;
  private final Set<Extension> extensions;
  private final List<AclGrant> acls = new ArrayList<>();

  private Acls(String prefix, Set<Extension> extensions) {
    topics = Topics.inUse(prefix, extensions);
    this.prefix = prefix;
    this.extensions = extensions;
  }

  /**
   * Returns the ACLs of a role.
   *
   * @param role the role
   * @param prefix the prefix of the topics' names ({@code topics.prefix})
   * @param extensions those that are enabled
   */
  public static List<AclGrant> of(Role role, String prefix, Set<Extension> extensions) {
    Acls acls = new Acls(prefix, extensions);
    switch (role) {
      case PUBLISHER -> acls.publisher();
      case PLANNER -> acls.planner();
      case TRAINER -> acls.trainer();
      case DASHBOARD -> acls.reader("displays it", "displays the planner's lag");
      case VIEWER ->
          acls.reader("displays it: watch, why, lists, export", "displays the planner's progress");
    }
    return List.copyOf(acls.acls);
  }

  private void publisher() {
    topic(WORKLOAD_CHANGES, AclOperation.WRITE, "publishes changes");
    topic(COST_PREDICTIONS, AclOperation.READ, "reads that a change was applied");
    topic(REJECTED_EVENTS, AclOperation.READ, "reads why a change was rejected");
    progress("reads the planner's progress, for changes without output");
    if (extensions.contains(Extension.POOLS)) {
      both(topics.of(POOL_CHANGES).name(), "publishes changes of pools, reads what others changed");
      topic(CURRENT_ALLOCATIONS, AclOperation.READ, "reads that a change of a pool was applied");
    }
  }

  private void trainer() {
    topic(CURRENT_PLANS, AclOperation.READ, "reads the latest plan of each workload");
    topic(PLAN_STATUS, AclOperation.WRITE, "reports on plans");
    topic(MEASURED_COSTS, AclOperation.WRITE, "reports measured costs");
    if (extensions.contains(Extension.POOLS)) {
      topic(CURRENT_ALLOCATIONS, AclOperation.READ, "reads which nodes of a pool a workload has");
    }
    if (extensions.contains(Extension.GROWTH)) {
      topic(TABLE_FILLS, AclOperation.WRITE, "reports how full hashed tables are");
    }
  }

  private void reader(String topicReason, String groupReason) {
    topics.all().forEach(topic -> topic(topic.type(), AclOperation.READ, topicReason));
    progress(groupReason);
  }

  private void planner() {
    all(ResourceType.TOPIC, AclOperation.CREATE, "creates missing topics, changelogs included");
    all(ResourceType.TOPIC, AclOperation.DESCRIBE_CONFIGS, "checks the topics' settings");
    all(ResourceType.GROUP, AclOperation.READ, "joins consumer groups and commits offsets");
    all(ResourceType.TRANSACTIONAL_ID, AclOperation.WRITE, "exactly-once processing");
    both(topics.of(COST_MODELS).name(), "reads and publishes models");
    ofTopologies(TopologyName.inUse(Set.of()));
    ofTopologies(TopologyName.inUse(extensions));
    for (TopologyName topology : TopologyName.inUse(extensions)) {
      for (StoreName store : StoreName.of(topology)) {
        both(store.changelog(prefix), "state of the " + topology + " topology");
      }
    }
  }

  /** Adds what topologies read and write. */
  private void ofTopologies(List<TopologyName> topologies) {
    for (Topic<?> topic : topics.all()) {
      Optional<String> writers = names(topologies, name -> name.writes().contains(topic.type()));
      Optional<String> readers = names(topologies, name -> name.reads(topic.type()));
      String reason =
          Stream.of(writers.map("written by "::concat), readers.map("read by "::concat))
              .flatMap(Optional::stream)
              .collect(Collectors.joining("; "));
      readers.ifPresent(some -> topic(topic.type(), AclOperation.READ, reason));
      writers.ifPresent(some -> topic(topic.type(), AclOperation.WRITE, reason));
    }
  }

  private static Optional<String> names(
      List<TopologyName> topologies, Predicate<TopologyName> which) {
    return topologies.stream()
        .filter(which)
        .map(TopologyName::toString)
        .reduce((some, next) -> some + ", " + next);
  }

  private void both(String topic, String reason) {
    add(ResourceType.TOPIC, topic, PatternType.LITERAL, AclOperation.READ, reason);
    add(ResourceType.TOPIC, topic, PatternType.LITERAL, AclOperation.WRITE, reason);
  }

  private void topic(TopicType<?> type, AclOperation operation, String reason) {
    add(ResourceType.TOPIC, topics.of(type).name(), PatternType.LITERAL, operation, reason);
  }

  private void progress(String reason) {
    add(
        ResourceType.GROUP,
        TopologyName.WORKLOAD.applicationId(prefix),
        PatternType.LITERAL,
        AclOperation.DESCRIBE,
        reason);
  }

  /** Adds a right on whatever has the prefix. */
  private void all(ResourceType type, AclOperation operation, String reason) {
    add(type, prefix, PatternType.PREFIXED, operation, reason);
  }

  private void add(
      ResourceType type, String name, PatternType pattern, AclOperation operation, String reason) {
    AclGrant grant = new AclGrant(type, name, pattern, operation, reason);
    // The first reason stays.
    if (acls.stream().noneMatch(grant::isFor)) {
      acls.add(grant);
    }
  }

  /**
   * Returns the commands of Kafka's own tool that add the ACLs of a role, one for each resource,
   * after comments that say what for.
   *
   * @param role the role
   * @param prefix the prefix of the topics' names
   * @param extensions those that are enabled
   * @param principal the user, such as {@code User:planner}
   * @param connection options of the tool that name the cluster and the administrator
   */
  public static List<String> commands(
      Role role, String prefix, Set<Extension> extensions, String principal, String connection) {
    List<String> lines = new ArrayList<>();
    of(role, prefix, extensions).stream()
        .collect(
            Collectors.groupingBy(
                AclGrant::reason,
                LinkedHashMap::new,
                Collectors.groupingBy(AclGrant::name, LinkedHashMap::new, Collectors.toList())))
        .forEach(
            (reason, byName) -> {
              lines.add("# " + reason);
              byName
                  .values()
                  .forEach(acls -> lines.add(command(acls, ShellWord.of(principal), connection)));
            });
    return lines;
  }

  private static String command(List<AclGrant> acls, String principal, String connection) {
    AclGrant any = acls.get(0);
    return "kafka-acls.sh %s --add --allow-principal %s --operation %s --%s %s%s"
        .formatted(
            connection,
            principal,
            acls.stream().map(AclGrant::operationName).collect(Collectors.joining(" --operation ")),
            any.type().name().toLowerCase(Locale.ROOT).replace('_', '-'),
            ShellWord.of(any.name()),
            any.pattern() == PatternType.PREFIXED ? " --resource-pattern-type prefixed" : "");
  }
}
