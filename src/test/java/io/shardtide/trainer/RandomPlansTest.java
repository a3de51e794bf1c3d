package io.shardtide.trainer;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.Sharding;
import io.shardtide.domain.TableSpec;
import io.shardtide.trainer.Measurements.ShardedWorkload;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class RandomPlansTest {
  /** As many as a model needs of each collective. */
  private static final int NEEDED = 100;

  /** What {@code collect} measures by default. */
  private static List<ShardedWorkload> plans() {
    RandomPlans random = new RandomPlans(200, 1);
    List<ShardedWorkload> plans = new ArrayList<>();
    for (int p = 0; p < 480; p++) {
      plans.add(random.next(2 + p % 3));
    }
    return plans;
  }

  private static Set<ShardKind> kinds(ShardedWorkload plan) {
    return plan.shards().stream()
        .map(Shard::kind)
        .collect(Collectors.toCollection(() -> EnumSet.noneOf(ShardKind.class)));
  }

  private static long withScope(ShardScope scope) {
    return plans().stream()
        .filter(plan -> kinds(plan).stream().anyMatch(kind -> kind.scope() == scope))
        .count();
  }

  @Test
  void plans_have_all_kinds_of_shards_and_enough_of_each_collective() {
    Set<ShardKind> all = EnumSet.noneOf(ShardKind.class);
    plans().forEach(plan -> all.addAll(kinds(plan)));
    assertThat(all).containsExactly(ShardKind.values());
    assertThat(plans()).allMatch(plan -> kinds(plan).contains(ShardKind.TABLE_WISE));
    assertThat(withScope(ShardScope.CLUSTER)).isGreaterThan(NEEDED);
    assertThat(withScope(ShardScope.COPIES)).isGreaterThan(NEEDED);
    assertThat(plans()).as("one kind alone").anyMatch(plan -> kinds(plan).size() == 1);
  }

  @Test
  void each_table_is_sharded_whole_and_copies_are_bounded() {
    for (ShardedWorkload plan : plans()) {
      ClusterSpec cluster = plan.cluster(1024);
      Map<String, List<Shard>> byTable =
          plan.shards().stream().collect(Collectors.groupingBy(Shard::table));
      assertThat(byTable.keySet()).isEqualTo(TableSpec.byName(plan.tables()).keySet());
      long copied = 0;
      for (TableSpec table : plan.tables()) {
        List<Shard> shards = byTable.get(table.name());
        assertThat(Sharding.of(table, shards, cluster).kind()).isEqualTo(shards.get(0).kind());
        copied += shards.get(0).isCopied() ? cluster.devices() * table.bytes() : 0;
      }
      assertThat(copied).isLessThanOrEqualTo(RandomPlans.MAX_COPIED_BYTES);
    }
  }

  @Test
  void the_same_seed_gives_the_same_plans() {
    assertThat(plans()).isEqualTo(plans());
    assertThat(new RandomPlans(200, 2).next(4)).isNotEqualTo(new RandomPlans(200, 1).next(4));
  }
}
