package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.config.ServiceSettings;
import io.shardtide.testing.TestSettings;
import io.shardtide.topology.Acls.Role;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Topics;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.TransactionalIdAuthorizationException;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.streams.errors.StreamsException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The list of rights against the topologies, and as people read it; {@code SecurityIT} tries it.
 */
class AclsTest {
  private static final String PREFIX = "p.";
  private static final ServiceSettings SETTINGS =
      TestSettings.of("k:1", "http://registry", PREFIX, Path.of("state")).build();

  private static Set<String> planner(AclOperation operation, Set<Extension> extensions) {
    return Acls.of(Role.PLANNER, PREFIX, extensions).stream()
        .filter(r -> r.pattern() == PatternType.LITERAL && r.operation() == operation)
        .map(AclGrant::name)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Returns all sets of extensions. */
  static List<Set<Extension>> extensions() {
    List<Set<Extension>> sets = new ArrayList<>(List.of(Set.of()));
    for (Extension extension : Extension.values()) {
      for (Set<Extension> fewer : List.copyOf(sets)) {
        Set<Extension> more = EnumSet.of(extension);
        more.addAll(fewer);
        sets.add(more);
      }
    }
    return sets;
  }

  private static Set<String> found(String regex, String description) {
    Set<String> found = new TreeSet<>();
    var matcher = Pattern.compile(regex).matcher(description);
    while (matcher.find()) {
      Arrays.stream(matcher.group(1).split(", ", -1)).filter(s -> !s.isEmpty()).forEach(found::add);
    }
    return found;
  }

  /** What the topologies read, write and remember is what the planner may read and write. */
  @ParameterizedTest
  @MethodSource("extensions")
  void the_planners_topics_are_those_of_the_topologies(Set<Extension> extensions) {
    String models = Topics.withPrefix(PREFIX).of(COST_MODELS).name();
    Set<String> reads = new TreeSet<>(Set.of(models));
    Set<String> writes = new TreeSet<>(Set.of(models));
    Map<String, String> topologies = Topologies.describe(Topics.withPrefix(PREFIX));
    topologies
        .keySet()
        .retainAll(TopologyName.inUse(extensions).stream().map(TopologyName::toString).toList());
    topologies.forEach(
        (name, description) -> {
          reads.addAll(found("Source: \\S+ \\(topics: \\[([^]]*)]\\)", description));
          writes.addAll(found("Sink: \\S+ \\(topic: ([^)]*)\\)", description));
          // A global store is a copy of a topic, and has no changelog.
          String tasks = description.replaceAll("(?s)Sub-topology: \\d+ for global store.*", "");
          Set<String> stores = found("\\(stores: \\[([^]]*)]\\)", tasks);
          assertThat(stores).as(name).isNotEmpty();
          stores.forEach(
              store -> {
                reads.add(PREFIX + name + "-" + store + "-changelog");
                writes.add(PREFIX + name + "-" + store + "-changelog");
              });
        });
    int pools = extensions.contains(Extension.POOLS) ? 2 : 0;
    int growth = extensions.contains(Extension.GROWTH) ? 1 : 0;
    assertThat(topologies).hasSize(4 + pools + growth);
    assertThat(planner(AclOperation.READ, extensions)).isEqualTo(reads);
    assertThat(planner(AclOperation.WRITE, extensions)).isEqualTo(writes);
  }

  @ParameterizedTest
  @MethodSource("extensions")
  void acls_are_unique_and_name_no_whole_cluster(Set<Extension> extensions) {
    for (Role role : Role.values()) {
      List<AclGrant> rights = Acls.of(role, PREFIX, extensions);
      assertThat(rights).extracting(r -> r.binding("User:x")).doesNotHaveDuplicates().isNotEmpty();
      assertThat(rights).allMatch(r -> r.name().startsWith(PREFIX));
    }
  }

  /** Without pools, nobody needs a right that has to do with them; with pools, only more. */
  @Test
  void pools_only_add_acls() {
    for (Role role : Role.values()) {
      List<AclGrant> without = Acls.of(role, PREFIX, Set.of());
      assertThat(Acls.of(role, PREFIX, Set.of(Extension.POOLS)))
          .as(role.toString())
          .containsAll(without);
      assertThat(without)
          .as(role.toString())
          .noneMatch(r -> r.name().matches(".*(pool|curve|allocation).*"));
    }
    assertThat(planner(AclOperation.WRITE, Set.of())).doesNotContain(PREFIX + "workload-changes");
  }

  @Test
  void the_commands_are_those_of_kafkas_tool() {
    assertThat(
            Acls.commands(Role.PUBLISHER, PREFIX, Set.of(), "User:etl", "--bootstrap-server k:1"))
        .startsWith(
            "# publishes changes",
            "kafka-acls.sh --bootstrap-server k:1 --add --allow-principal User:etl --operation Write --topic p.workload-changes");
    assertThat(Acls.commands(Role.PLANNER, PREFIX, Set.of(), "User:p", "--bootstrap-server k:1"))
        .contains(
            "kafka-acls.sh --bootstrap-server k:1 --add --allow-principal User:p --operation Create --topic p. --resource-pattern-type prefixed",
            "kafka-acls.sh --bootstrap-server k:1 --add --allow-principal User:p --operation DescribeConfigs --topic p. --resource-pattern-type prefixed",
            "kafka-acls.sh --bootstrap-server k:1 --add --allow-principal User:p --operation Write --transactional-id p. --resource-pattern-type prefixed",
            "kafka-acls.sh --bootstrap-server k:1 --add --allow-principal User:p --operation Read --operation Write --topic p.cost-models");
  }

  @Test
  void an_authorization_error_names_the_missing_acls() {
    assertThat(
            AuthorizationErrors.describe(
                new StreamsException(new TopicAuthorizationException(Set.of("p.sharding-plans"))),
                SETTINGS))
        .isEqualTo(
            "Not authorized to access topics: [p.sharding-plans]. This user needs Create, DescribeConfigs, Read,"
                + " Write on p.sharding-plans; ./shardtide rights --role planner prints the commands that add it");
    assertThat(
            AuthorizationErrors.describe(
                GroupAuthorizationException.forGroupId("p.planning"), SETTINGS))
        .contains("p.planning. This user needs Read on p.planning;");
    assertThat(
            AuthorizationErrors.describe(
                new TransactionalIdAuthorizationException("No."), SETTINGS))
        .startsWith("No. This user needs Write on p.;");
    assertThat(AuthorizationErrors.describe(new ClusterAuthorizationException("No"), SETTINGS))
        .startsWith("No. This user lacks an ACL;");
    assertThat(
            AuthorizationErrors.describe(
                new StreamsException(
                    new KafkaException(
                        "Unexpected error in TxnOffsetCommitResponse: Topic authorization failed.")),
                SETTINGS))
        .contains("Topic authorization failed. This user lacks an ACL;");
    assertThat(AuthorizationErrors.describe(new SaslAuthenticationException("No"), SETTINGS))
        .startsWith(
            "No. The brokers do not accept this user, or it does not trust their certificates;");
    assertThat(AuthorizationErrors.describe(new StreamsException("other"), SETTINGS))
        .isEqualTo("other");
    assertThat(
            AuthorizationErrors.describe(
                new StreamsException(new TopicAuthorizationException(Set.of("p.curve-requests"))),
                TestSettings.of("k:1", "http://registry", PREFIX, Path.of("state"))
                    .with(Extension.POOLS)
                    .build()))
        .endsWith(
            "This user needs Create, DescribeConfigs, Read, Write on p.curve-requests;"
                + " ./shardtide rights --role planner --pools prints the commands that add it");
    Exception other = new IllegalStateException("other");
    assertThat(AuthorizationErrors.explain(other, SETTINGS)).isSameAs(other);
  }
}
