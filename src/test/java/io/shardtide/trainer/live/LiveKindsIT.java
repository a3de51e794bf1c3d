package io.shardtide.trainer.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.client.Endpoint;
import io.shardtide.domain.Change;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.MeasuredCollective;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.Sharding;
import io.shardtide.domain.Sharding.ColumnPart;
import io.shardtide.domain.Sharding.ColumnWise;
import io.shardtide.domain.Sharding.DataParallel;
import io.shardtide.domain.Sharding.GridShard;
import io.shardtide.domain.Sharding.NodePart;
import io.shardtide.domain.Sharding.RowWise;
import io.shardtide.domain.Sharding.TableColumnWise;
import io.shardtide.domain.Sharding.TableRowWise;
import io.shardtide.domain.Sharding.TableWise;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.TableSpec;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.TestSettings;
import io.shardtide.topology.PlannerService;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A trainer that follows plans with every kind of shard, one after another. */
class LiveKindsIT {
  private static final Duration PATIENCE = Duration.ofSeconds(90);
  private static final TableSpec TABLE = Fixtures.table("a", 1_000, 16, 2);
  private static final TableSpec OTHER = Fixtures.table("b", 500, 8, 3);
  private static final ClusterSpec CLUSTER =
      new ClusterSpec(4, Fixtures.GIB, 1_024, 2, Fixtures.bundle().hardware());

  @TempDir private Path folder;

  private static Sharding sharding(ShardKind kind) {
    return switch (kind) {
      case TABLE_WISE -> new TableWise(3);
      case COLUMN_WISE -> new ColumnWise(List.of(new ColumnPart(8, 1), new ColumnPart(8, 2)));
      case TABLE_COLUMN_WISE ->
          new TableColumnWise(List.of(new ColumnPart(8, 2), new ColumnPart(8, 3)));
      case ROW_WISE -> new RowWise();
      case TABLE_ROW_WISE -> new TableRowWise(1);
      case GRID_SHARD -> new GridShard(List.of(new NodePart(8, 1), new NodePart(8, 0)));
      case DATA_PARALLEL -> new DataParallel();
    };
  }

  /** Returns the plan with the first table sharded in another way. */
  private static ShardingPlan plan(ShardingPlan plan, ShardKind kind) {
    List<Shard> shards = new ArrayList<>(sharding(kind).shards(TABLE, CLUSTER));
    shards.addAll(new TableWise(0).shards(OTHER, CLUSTER));
    return new ShardingPlan(
            "",
            plan.origin(),
            kind.name(),
            shards,
            plan.prediction(),
            plan.transition(),
            plan.run())
        .identified();
  }

  private static List<MeasuredCosts> measured(LogClient client, ShardingPlan plan) {
    return client.<MeasuredCosts>committed(client.topics().measuredCosts()).stream()
        .filter(measured -> measured.planId().equals(plan.planId()))
        .toList();
  }

  @Test
  void a_trainer_follows_plans_with_all_kinds_of_shards() throws Exception {
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("kafka"));
        DevelopmentRegistry registry = DevelopmentRegistry.start(0, Optional.of(folder));
        LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), "k.")) {
      ShardingPlan first;
      try (PlannerService service =
          PlannerService.start(
              TestSettings.of(
                      kafka.bootstrapServers(), registry.url(), "k.", folder.resolve("state"))
                  .build(),
              List.of(Fixtures.bundle()),
              PlainTowers::new)) {
        assertThat(service).isNotNull();
        client.publish(
            Fixtures.event(
                new Change.ClusterSet(CLUSTER),
                new Change.TableUpserted(TABLE),
                new Change.TableUpserted(OTHER)));
        first = client.plans(1).get(0);
      }
      // Without a planner, the plans of this test are the latest ones.
      try (LiveTrainer trainer =
          LiveTrainer.start(
              Endpoint.of(kafka.bootstrapServers(), registry.url()).withPrefix("k."),
              new LiveTrainer.LiveTrainerSettings(
                  Fixtures.WORKLOAD, "trainer", "run", 1, 0.01f, 2, 2),
              new LiveTrainer.Watcher() {},
              InstantSource.system())) {
        for (ShardKind kind : ShardKind.values()) {
          ShardingPlan plan = plan(first, kind);
          client.publishValue(client.topics().shardingPlans(), Fixtures.WORKLOAD, plan);
          await().atMost(PATIENCE).until(() -> !measured(client, plan).isEmpty());
          trainer.check();
          Set<String> expected = new HashSet<>();
          Set<String> reported = new HashSet<>();
          plan.shards().forEach(shard -> expected.add(shard.kind().scope().fileName()));
          for (MeasuredCollective collective : measured(client, plan).get(0).collectives()) {
            reported.add(collective.scope().fileName());
          }
          assertThat(reported).as("scopes of the collectives of %s", kind).isEqualTo(expected);
        }
        assertThat(client.<PlanStatus>committed(client.topics().planStatus()))
            .extracting(PlanStatus::kind)
            .contains(PlanStatus.StatusKind.FINISHED_MOVING)
            .doesNotContain(PlanStatus.StatusKind.REJECTED);
      }
    }
  }
}
