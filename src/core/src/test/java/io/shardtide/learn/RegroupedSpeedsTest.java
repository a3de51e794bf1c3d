package io.shardtide.learn;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CommunicationCost;
import io.shardtide.cost.StepCost;
import io.shardtide.plan.CostPart;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.Replication;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.FeedbackState;
import io.shardtide.state.SpeedHistory;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.SimulatedTrainer;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.GroupLayout;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Slow devices of plans with other replica groups than the plan before them. */
class RegroupedSpeedsTest {
  private static final int RANKS = 16;

  private final SimulatedTrainer trainer = new SimulatedTrainer();

  private static ClusterSpec cluster(int devices) {
    return ClusterSpecBuilder.builder(
            new ClusterSpec(
                devices, 8 * Fixtures.GIB, 65_536, devices, TestModels.bundle().hardware()))
        .replicaGroups(List.of(1, 2, 4))
        .build();
  }

  /** A plan with a table on each device of a group. */
  private ShardingPlan plan(int ranks, ReplicaGroups groups) {
    int devices = ranks / groups.count();
    List<TableSpec> tables = new ArrayList<>();
    List<Shard> shards = new ArrayList<>();
    for (int t = 0; t < RANKS; t++) {
      TableSpec table = Fixtures.table("t%02d".formatted(t), 10_000, 64, 5);
      tables.add(table);
      shards.add(Fixtures.shard(table, 0, 64, t % devices));
    }
    double[] ms = new double[devices];
    Arrays.fill(ms, 5);
    return trainer.plan(
        cluster(ranks),
        tables,
        shards,
        new Replication(groups, 1, 0),
        StepCost.of(ms, new CommunicationCost(ms.clone(), ms.clone())));
  }

  private Optional<DeviceSpeeds> measure(ShardingPlan plan) {
    return trainer.measure(plan, d -> 1).speeds();
  }

  private void becomesSlow(int position) {
    FeedbackState header = trainer.store.header(Fixtures.WORKLOAD);
    List<SpeedHistory> histories = new ArrayList<>(header.speeds());
    histories.add(SpeedHistory.none(position, CostPart.COMPUTATION).slow(1.5, 0.1, Fixtures.TIME));
    trainer.store.putHeader(Fixtures.WORKLOAD, header.with().speeds(histories).build());
  }

  private static List<Integer> ranks(DeviceSpeeds speeds) {
    speeds.check(RANKS);
    return speeds.slow().stream().map(DeviceSpeed::device).toList();
  }

  @ParameterizedTest
  @EnumSource(GroupLayout.class)
  void a_rank_stays_slow_with_those_of_its_position(GroupLayout layout) {
    measure(plan(RANKS, ReplicaGroups.ONE));
    becomesSlow(2);
    becomesSlow(10);
    ShardingPlan grouped = plan(RANKS, new ReplicaGroups(4, layout));
    List<Integer> slow = ranks(measure(grouped).orElseThrow());
    assertThat(slow)
        .isEqualTo(
            layout == GroupLayout.CONSECUTIVE
                ? List.of(2, 6, 10, 14)
                : List.of(0, 1, 2, 3, 8, 9, 10, 11));
    assertThat(measure(grouped)).as("nothing changed").isEmpty();
    ShardingPlan one = plan(RANKS, ReplicaGroups.ONE);
    assertThat(measure(one)).as("the same ranks").isEmpty();
    List<DeviceSpeeds> later = new ArrayList<>();
    for (int i = 0; i < 2 * SpeedMonitor.RECOVERY; i++) {
      measure(one).ifPresent(later::add);
    }
    assertThat(ranks(later.get(later.size() - 1))).as("all recover").isEmpty();
  }

  /** The plan was measured before 80 later ones, none of which was. */
  @Test
  void the_measured_plan_is_kept_until_another_is_measured() {
    ShardingPlan first = plan(RANKS, ReplicaGroups.ONE);
    measure(first);
    becomesSlow(10);
    for (int i = 0; i < 80; i++) {
      trainer.plan(Fixtures.upsert("x", 1_000 + i, 4, 1));
    }
    assertThat(trainer.store.plans().get(Fixtures.WORKLOAD, first.planId())).isPresent();
    ShardingPlan grouped = plan(RANKS, new ReplicaGroups(4, GroupLayout.CONSECUTIVE));
    assertThat(ranks(measure(grouped).orElseThrow())).containsExactly(2, 6, 10, 14);
    assertThat(trainer.store.plans().get(Fixtures.WORKLOAD, first.planId())).isEmpty();
  }

  /** Whatever groups follow, and whatever ranks are added or removed. */
  @Property(tries = 30)
  void only_ranks_of_the_cluster_are_slow(@ForAll long seed) {
    Random random = new Random(seed);
    RegroupedSpeedsTest test = new RegroupedSpeedsTest();
    for (int i = 0; i < 5; i++) {
      int ranks = 8 << random.nextInt(2);
      int count = 1 << random.nextInt(3);
      GroupLayout layout =
          count == 1 || random.nextBoolean() ? GroupLayout.CONSECUTIVE : GroupLayout.STRIDED;
      ShardingPlan plan = test.plan(ranks, new ReplicaGroups(count, layout));
      for (int m = 0; m <= random.nextInt(2); m++) {
        test.measure(plan)
            .ifPresent(
                speeds -> {
                  speeds.check(ranks);
                  assertThat(speeds.slow()).allMatch(speed -> speed.device() < ranks);
                });
      }
      List<SpeedHistory> known = test.trainer.store.header(Fixtures.WORKLOAD).speeds();
      assertThat(known).allMatch(history -> history.position() < plan.placed().devices());
      int position = random.nextInt(ranks / count);
      if (known.stream().noneMatch(history -> history.position() == position)) {
        test.becomesSlow(position);
      }
    }
  }
}
