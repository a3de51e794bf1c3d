package io.shardtide.wire;

import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TopicsTest {
  private static final String PREFIX = "p.";
  private static final Topics ALL = Topics.withPrefix(PREFIX);

  private static List<String> names(Topics topics) {
    return topics.all().stream().map(Topic::name).toList();
  }

  @Test
  void topics_of_extensions_exist_only_with_them() {
    List<String> ofPools = new ArrayList<>(names(Topics.inUse(PREFIX, Set.of(Extension.POOLS))));
    ofPools.removeAll(names(Topics.inUse(PREFIX, Set.of())));
    assertThat(ofPools)
        .containsExactly(
            "p.pool-changes",
            "p.curve-requests",
            "p.throughput-curves",
            "p.allocations",
            "p.current-allocations");
    List<String> ofGrowth = new ArrayList<>(names(Topics.inUse(PREFIX, Set.of(Extension.GROWTH))));
    ofGrowth.removeAll(names(Topics.inUse(PREFIX, Set.of())));
    assertThat(ofGrowth)
        .containsExactly("p.table-fills", "p.table-forecasts", "p.current-forecasts");
    assertThat(names(Topics.inUse(PREFIX, Set.of()))).hasSize(16).startsWith("p.workload-changes");
  }

  @Test
  void an_extension_adds_its_topics_and_keeps_the_order_of_the_flow() {
    assertThat(names(Topics.inUse(PREFIX, EnumSet.allOf(Extension.class))))
        .containsExactlyElementsOf(names(ALL));
    for (Extension extension : Extension.values()) {
      assertThat(names(Topics.inUse(PREFIX, Set.of(extension))))
          .containsExactlyElementsOf(
              names(ALL).stream()
                  .filter(name -> ALL.extensionOf(name).map(extension::equals).orElse(true))
                  .toList());
    }
  }

  @ParameterizedTest
  @EnumSource
  void limits_of_a_cluster_change_no_extension(Extension extension) {
    Topics topics = Topics.inUse(PREFIX, Set.of(extension));
    Topics limited = topics.limitedTo(Map.of("p.workload-changes", 2_000_000));
    assertThat(names(limited)).isEqualTo(names(topics));
    assertThat(limited.of(WORKLOAD_CHANGES).maxMessageBytes()).isEqualTo(2_000_000);
  }

  @Test
  void a_topic_names_its_extension() {
    assertThat(ALL.extensionOf("p.pool-changes")).contains(Extension.POOLS);
    assertThat(ALL.extensionOf("p.workload-changes")).isEmpty();
    assertThat(ALL.extensionOf("other")).isEmpty();
  }

  @Test
  void options_of_acls_have_one_order() {
    assertThat(Extension.options(Set.of())).isEmpty();
    assertThat(Extension.options(Set.of(Extension.POOLS))).isEqualTo(" --pools");
    assertThat(Extension.options(List.of(Extension.GROWTH, Extension.POOLS)))
        .isEqualTo(" --pools --growth");
  }
}
