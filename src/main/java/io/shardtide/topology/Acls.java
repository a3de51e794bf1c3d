package io.shardtide.topology;

import io.shardtide.wire.Topics;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourceType;

/**
 * What each kind of client has to be allowed on a cluster with an authorizer: all that it needs,
 * and nothing that it can do without. The documentation's table and {@code ./shardtide acls} are
 * made from it.
 */
public final class Acls {
  /** A kind of client, with a user of its own. */
  public enum Role {
    /** Says how workloads change, and hears whether that was applied or rejected. */
    PUBLISHER,
    /** This service. */
    PLANNER,
    /** Takes plans, says what it does with them and what they cost. */
    TRAINER,
    /** Shows people what is on the log; the planner's user needs it for its dashboard. */
    DASHBOARD;

    /** Returns its name in lower case. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final Topics topics;
  private final String prefix;
  private final List<AclGrant> rights = new ArrayList<>();

  private Acls(String prefix) {
    topics = Topics.withPrefix(prefix);
    this.prefix = prefix;
  }

  /**
   * Returns what a client of a kind needs.
   *
   * @param role the kind
   * @param prefix the prefix of the topics' names ({@code topics.prefix})
   */
  public static List<AclGrant> of(Role role, String prefix) {
    Acls rights = new Acls(prefix);
    switch (role) {
      case PUBLISHER -> rights.publisher();
      case PLANNER -> rights.planner();
      case TRAINER -> rights.trainer();
      case DASHBOARD -> rights.dashboard();
    }
    return List.copyOf(rights.rights);
  }

  private void publisher() {
    topic(topics.workloadChanges().name(), AclOperation.WRITE, "says how workloads change");
    topic(topics.costPredictions().name(), AclOperation.READ, "hears that a change was applied");
    topic(topics.rejectedEvents().name(), AclOperation.READ, "hears why one was not");
    add(
        ResourceType.GROUP,
        TopologyName.WORKLOAD.applicationId(prefix),
        PatternType.LITERAL,
        AclOperation.DESCRIBE,
        "hears of a change that nothing follows: how far the planner is");
  }

  private void trainer() {
    topic(topics.currentPlans().name(), AclOperation.READ, "the latest plan of each workload");
    topic(topics.planStatus().name(), AclOperation.WRITE, "says what it does with plans");
    topic(topics.measuredCosts().name(), AclOperation.WRITE, "says what steps cost");
  }

  private void dashboard() {
    topics.all().forEach(topic -> topic(topic.name(), AclOperation.READ, "shows it"));
    add(
        ResourceType.GROUP,
        TopologyName.WORKLOAD.applicationId(prefix),
        PatternType.LITERAL,
        AclOperation.DESCRIBE,
        "shows how far the planner is behind");
  }

  private void planner() {
    String create = "creates topics that are missing, changelogs included";
    add(ResourceType.TOPIC, prefix, PatternType.PREFIXED, AclOperation.CREATE, create);
    add(
        ResourceType.TOPIC,
        prefix,
        PatternType.PREFIXED,
        AclOperation.DESCRIBE_CONFIGS,
        "checks that no topic would lose records");
    add(
        ResourceType.GROUP,
        prefix,
        PatternType.PREFIXED,
        AclOperation.READ,
        "instances share the partitions, and commit");
    add(
        ResourceType.TRANSACTIONAL_ID,
        prefix,
        PatternType.PREFIXED,
        AclOperation.WRITE,
        "each record is processed exactly once");
    both(topics.costModels().name(), "models predict from here, and go here");
    topic(topics.workloadChanges().name(), AclOperation.READ, "what publishers say");
    both(topics.costPredictions().name(), "the workload topology writes, planning reads");
    topic(topics.planStatus().name(), AclOperation.READ, "what trainers say");
    both(topics.shardingPlans().name(), "planning writes, feedback reads");
    topic(topics.currentPlans().name(), AclOperation.WRITE, "the latest plans");
    topic(topics.infeasibleWorkloads().name(), AclOperation.WRITE, "what does not fit");
    topic(topics.rejectedEvents().name(), AclOperation.WRITE, "what was not applied");
    topic(topics.measuredCosts().name(), AclOperation.READ, "what trainers measure");
    both(topics.trainingSamples().name(), "feedback writes, training reads");
    both(topics.driftAlarms().name(), "the same");
    topic(topics.modelDecisions().name(), AclOperation.WRITE, "what became of trainings");
    for (TopologyName topology : TopologyName.values()) {
      for (StoreName store : StoreName.of(topology)) {
        both(store.changelog(prefix), "state of the " + topology + " topology");
      }
    }
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
    rights.add(new AclGrant(type, name, pattern, operation, reason));
  }

  /** Rights on the same thing, which one command gives. */
  private record GrantTemplate(ResourceType type, String name, PatternType pattern, String reason) {
    static Map<GrantTemplate, List<AclGrant>> group(List<AclGrant> rights) {
      return rights.stream()
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
        default -> throw new IllegalStateException("No client needs a right on a " + type);
      };
    }

    private String words() {
      return type.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
  }

  /**
   * Returns the commands of Kafka's own tool that give a user what a kind of client needs, one for
   * each topic, group or transactional id.
   *
   * @param role the kind
   * @param prefix the prefix of the topics' names
   * @param principal the user, {@code User:planner} say
   * @param connection how the tool is told which cluster, and who asks
   */
  public static List<String> commands(
      Role role, String prefix, String principal, String connection) {
    return GrantTemplate.group(of(role, prefix)).entrySet().stream()
        .map(
            entry ->
                "kafka-acls.sh %s --add --allow-principal %s %s%s %s%s"
                    .formatted(
                        connection,
                        principal,
                        entry.getValue().stream()
                            .map(right -> "--operation " + right.operationName() + " ")
                            .collect(Collectors.joining()),
                        entry.getKey().option(),
                        entry.getKey().name(),
                        entry.getKey().pattern() == PatternType.PREFIXED
                            ? " --resource-pattern-type prefixed"
                            : ""))
        .toList();
  }

  /** Returns everything as a table in Markdown. */
  public static String table(String prefix) {
    StringBuilder table = new StringBuilder("| user | may | on | because |\n|---|---|---|---|\n");
    for (Role role : Role.values()) {
      GrantTemplate.group(of(role, prefix))
          .forEach(
              (thing, rights) ->
                  table.append(
                      "| %s | %s | %s `%s%s` | %s |\n"
                          .formatted(
                              role,
                              rights.stream()
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
