package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.delete;
import static io.shardtide.testing.Fixtures.drop;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanningSettings;
import io.shardtide.testing.Fixtures;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A search that takes longer than its turn holds no other workload up, and loses nothing. */
class SlowSearchTest extends TopologyFixture {
  /** Searches that have not ended, as long as there is room for them; others run at once. */
  private final List<Runnable> slow = new ArrayList<>();

  private int room;

  @BeforeEach
  void startAnew() {
    live =
        task -> {
          if (slow.size() < room) {
            slow.add(task);
          } else {
            task.run();
          }
        };
    restart(PlanningSettings.DEFAULTS);
  }

  /** Publishes a change, whose search takes longer than its turn. */
  private void change(String workloadId, String table) {
    publish(of(workloadId, set(4, Fixtures.GIB), upsert(table, 100_000, 64, 5)));
    pass(Duration.ofMillis(25));
  }

  @Test
  void others_are_planned_meanwhile_and_the_slow_one_in_the_end() {
    room = 1;
    change("slow", "a");
    assertThat(slow).hasSize(1);
    assertThat(plans.isEmpty()).isTrue();
    for (String id : List.of("b", "c", "d")) {
      change(id, "a");
      assertThat(plans.readValue().workloadId()).isEqualTo(id);
    }
    slow.remove(0).run();
    pass(Duration.ofMillis(5));
    ShardingPlan plan = plans.readValue();
    assertThat(plan.workloadId()).isEqualTo("slow");
    assertThat(plan.generation()).isEqualTo(1);
    assertThat(current.readValuesToList()).contains(plan);
    pass(Duration.ofMillis(25));
    assertThat(plans.isEmpty()).as("each generation has one plan").isTrue();
    room = 0;
    change("slow", "b");
    assertThat(plans.readValue().origin().previousPlanId()).contains(plan.planId());
  }

  /** Otherwise a workload that changes faster than its search ends would never have a plan. */
  @Test
  void a_change_during_the_search_is_planned_after_it() {
    room = 1;
    change("slow", "a");
    change("slow", "b");
    publish(of("slow", drop("a")));
    pass(Duration.ofMillis(25));
    assertThat(plans.isEmpty()).isTrue();
    assertThat(slow).as("one search of a workload at a time").hasSize(1);
    room = 0;
    slow.remove(0).run();
    pass(Duration.ofMillis(5));
    ShardingPlan first = plans.readValue();
    assertThat(first.generation()).isEqualTo(1);
    assertThat(first.shards()).allMatch(shard -> shard.table().equals("a"));
    pass(Duration.ofMillis(25));
    ShardingPlan second = plans.readValue();
    assertThat(second.generation()).isEqualTo(3);
    assertThat(second.origin().firstGeneration()).isEqualTo(2);
    assertThat(second.origin().previousPlanId()).contains(first.planId());
    assertThat(second.shards()).allMatch(shard -> shard.table().equals("b"));
    assertThat(plans.isEmpty()).isTrue();
  }

  @Test
  void the_search_of_a_deleted_workload_is_dropped() {
    room = 1;
    change("slow", "a");
    publish(of("slow", delete()));
    assertThat(((FutureTask<?>) slow.get(0)).isCancelled()).isTrue();
    assertThat(current.readRecord().value()).isNull();
    slow.remove(0).run();
    room = 0;
    change("slow", "c");
    ShardingPlan plan = plans.readValue();
    assertThat(plan.origin().firstGeneration()).isEqualTo(3);
    assertThat(plan.shards()).allMatch(shard -> shard.table().equals("c"));
    assertThat(plans.isEmpty()).isTrue();
  }

  /** Its new owner searches again; a search that goes on here takes processors, for nothing. */
  @Test
  void searches_end_when_the_partition_moves() {
    change("idle", "a");
    pass(PlanningSettings.DEFAULTS.deepAfter().plusMillis(5));
    room = 1;
    change("slow", "a");
    restart(PlanningSettings.DEFAULTS);
    assertThat(deep).hasSize(1);
    assertThat(((FutureTask<?>) deep.get(0)).isCancelled()).isTrue();
    assertThat(((FutureTask<?>) slow.get(0)).isCancelled()).isTrue();
  }

  /** So that many of them leave the processors to others. */
  @Test
  void four_slow_searches_run_at_a_time_and_further_ones_wait() {
    room = 6;
    List<String> ids = List.of("slow-1", "slow-2", "slow-3", "slow-4", "slow-5", "slow-6");
    ids.forEach(id -> change(id, "a"));
    assertThat(slow)
        .extracting(task -> ((FutureTask<?>) task).isCancelled())
        .containsExactly(false, false, false, false, true, true);
    change("slow-6", "b");
    assertThat(slow).as("a workload that is known to be slow takes no turn").hasSize(6);
    room = 0;
    change("quick", "a");
    assertThat(plans.readValue().workloadId()).isEqualTo("quick");
    assertThat(plans.isEmpty()).isTrue();
    slow.get(2).run();
    for (int tick = 0; tick < 3; tick++) {
      pass(Duration.ofMillis(5));
    }
    assertThat(plans.readValuesToList())
        .extracting(ShardingPlan::workloadId)
        .as("the other three have not ended")
        .containsExactly("slow-3", "slow-5", "slow-6");
  }
}
