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
import io.shardtide.wire.Topics;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourceType;

/**
 * The ACLs that each role needs on a cluster with an authorizer, and no more. The documentation's
 * table and {@code ./shardtide acls} are generated from them.
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
          acls.reader(
              "reads it: export, replay, why, models list, pools show, forecasts, watch",
              "reads the planner's progress");
    }
    return List.copyOf(acls.acls);
  }

  private void publisher() {
    topic(topics.of(WORKLOAD_CHANGES).name(), AclOperation.WRITE, "publishes changes");
    topic(topics.of(COST_PREDICTIONS).name(), AclOperation.READ, "reads that a change was applied");
    topic(topics.of(REJECTED_EVENTS).name(), AclOperation.READ, "reads why a change was rejected");
    add(
        ResourceType.GROUP,
        TopologyName.WORKLOAD.applicationId(prefix),
        PatternType.LITERAL,
        AclOperation.DESCRIBE,
        "reads the planner's progress, for changes without output");
    if (extensions.contains(Extension.POOLS)) {
      both(topics.of(POOL_CHANGES).name(), "publishes changes of pools, reads what others changed");
      topic(
          topics.of(CURRENT_ALLOCATIONS).name(),
          AclOperation.READ,
          "reads that a change of a pool was applied");
    }
  }

  private void trainer() {
    topic(
        topics.of(CURRENT_PLANS).name(),
        AclOperation.READ,
        "reads the latest plan of each workload");
    topic(topics.of(PLAN_STATUS).name(), AclOperation.WRITE, "reports on plans");
    topic(topics.of(MEASURED_COSTS).name(), AclOperation.WRITE, "reports measured costs");
    if (extensions.contains(Extension.POOLS)) {
      topic(
          topics.of(CURRENT_ALLOCATIONS).name(),
          AclOperation.READ,
          "reads which nodes of a pool a workload has");
    }
    if (extensions.contains(Extension.GROWTH)) {
      topic(
          topics.of(TABLE_FILLS).name(), AclOperation.WRITE, "reports how full hashed tables are");
    }
  }

  private void reader(String topicReason, String groupReason) {
    topics.all().forEach(topic -> topic(topic.name(), AclOperation.READ, topicReason));
    add(
        ResourceType.GROUP,
        TopologyName.WORKLOAD.applicationId(prefix),
        PatternType.LITERAL,
        AclOperation.DESCRIBE,
        groupReason);
  }

  private void planner() {
    String create = "creates missing topics, changelogs included";
    add(ResourceType.TOPIC, prefix, PatternType.PREFIXED, AclOperation.CREATE, create);
    add(
        ResourceType.TOPIC,
        prefix,
        PatternType.PREFIXED,
        AclOperation.DESCRIBE_CONFIGS,
        "checks the topics' settings");
    add(
        ResourceType.GROUP,
        prefix,
        PatternType.PREFIXED,
        AclOperation.READ,
        "joins consumer groups and commits offsets");
    add(
        ResourceType.TRANSACTIONAL_ID,
        prefix,
        PatternType.PREFIXED,
        AclOperation.WRITE,
        "exactly-once processing");
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
      readers.ifPresent(some -> topic(topic.name(), AclOperation.READ, reason));
      writers.ifPresent(some -> topic(topic.name(), AclOperation.WRITE, reason));
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
    topic(topic, AclOperation.READ, reason);
    topic(topic, AclOperation.WRITE, reason);
  }

  private void topic(String name, AclOperation operation, String reason) {
    add(ResourceType.TOPIC, name, PatternType.LITERAL, operation, reason);
  }

  private void add(
      ResourceType type, String name, PatternType pattern, AclOperation operation, String reason) {
    AclGrant grant = new AclGrant(type, name, pattern, operation, reason);
    // The first reason stays.
    if (acls.stream().noneMatch(grant::isFor)) {
      acls.add(grant);
    }
  }

  /** ACLs on the same resource, which one command adds. */
  private record GrantTemplate(ResourceType type, String name, PatternType pattern, String reason) {
    static Map<GrantTemplate, List<AclGrant>> group(List<AclGrant> acls) {
      return acls.stream()
          .collect(
              Collectors.groupingBy(
                  r -> new GrantTemplate(r.type(), r.name(), r.pattern(), r.reason()),
                  LinkedHashMap::new,
                  Collectors.toList()));
    }

    private String option() {
      return switch (type) {
        case TOPIC -> "--topic";
        case GROUP -> "--group";
        case TRANSACTIONAL_ID -> "--transactional-id";
        default -> throw new IllegalStateException("No client needs an ACL on a " + type);
      };
    }

    private String words() {
      return type.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
  }

  /**
   * Returns the commands of Kafka's own tool that add the ACLs of a role, one for each resource.
   *
   * @param role the role
   * @param prefix the prefix of the topics' names
   * @param extensions those that are enabled
   * @param principal the user, such as {@code User:planner}
   * @param connection options of the tool that name the cluster and the administrator
   */
  public static List<String> commands(
      Role role, String prefix, Set<Extension> extensions, String principal, String connection) {
    return GrantTemplate.group(of(role, prefix, extensions)).entrySet().stream()
        .map(
            entry ->
                "kafka-acls.sh %s --add --allow-principal %s %s%s %s%s"
                    .formatted(
                        connection,
                        ShellWord.of(principal),
                        entry.getValue().stream()
                            .map(right -> "--operation " + right.operationName() + " ")
                            .collect(Collectors.joining()),
                        entry.getKey().option(),
                        ShellWord.of(entry.getKey().name()),
                        entry.getKey().pattern() == PatternType.PREFIXED
                            ? " --resource-pattern-type prefixed"
                            : ""))
        .toList();
  }

  /** Returns the ACLs that are needed without extensions, as a table in Markdown. */
  public static String table(String prefix) {
    return table(role -> of(role, prefix, Set.of()));
  }

  /** Returns the ACLs that an extension needs besides, as a table in Markdown. */
  public static String tableOf(Extension extension, String prefix) {
    return table(
        role -> {
          List<AclGrant> more = new ArrayList<>(of(role, prefix, Set.of(extension)));
          more.removeAll(of(role, prefix, Set.of()));
          return more;
        });
  }

  private static String table(Function<Role, List<AclGrant>> aclsOf) {
    StringBuilder table =
        new StringBuilder("| user | operations | resource | reason |\n|---|---|---|---|\n");
    for (Role role : Role.values()) {
      GrantTemplate.group(aclsOf.apply(role))
          .forEach(
              (thing, acls) ->
                  table.append(
                      "| %s | %s | %s `%s%s` | %s |\n"
                          .formatted(
                              role,
                              acls.stream()
                                  .map(AclGrant::operationName)
                                  .collect(Collectors.joining(", ")),
                              thing.words(),
                              thing.name(),
                              thing.pattern() == PatternType.PREFIXED ? "*" : "",
                              thing.reason())));
    }
    return table.toString();
  }
}
