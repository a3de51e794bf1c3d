package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.option.RowUse;
import io.shardtide.option.TablePart;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.TrainingPipeline;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

/** Against what was published of rows in host memory, and of caches that are too small. */
class HostLinkTest {
  private static final ClusterSpec CLUSTER =
      ClusterSpecBuilder.builder(
              new ClusterSpec(2, 95_000_000_000L, 65_536, 8, TestModels.h200().hardware()))
          .hostMemoryBytesPerDevice(256_000_000_000L)
          .build();
  private static final ClusterSpec PREFETCHING =
      ClusterSpecBuilder.builder(CLUSTER)
          .countsStepMemory(true)
          .pipeline(Optional.of(TrainingPipeline.PREFETCH))
          .build();

  /** One table, its rows on two devices: 285.5 ms a step in device memory. */
  private static final TableSpec LARGE = Fixtures.table("large", 10_000_000, 512, 30);

  private static final double HBM_MS = 285.5;

  private final CostEvaluator evaluator = new CostModel(TestModels.h200()).evaluator();

  private AddedMs added(TableSpec table, ShardScope scope, double share, ClusterSpec cluster) {
    TablePart part = new TablePart(scope, table.columns(), OptionalDouble.of(share));
    AddedMs added = evaluator.hostMs(part, table, cluster);
    ShardShape shape = new TableShapes(table, cluster.batchSize()).of(part, 0, cluster);
    assertThat(evaluator.hostMs(shape, table, cluster)).isEqualTo(added);
    return added;
  }

  private double stepMs(OptionalDouble share, ClusterSpec cluster) {
    TablePart part = new TablePart(ShardScope.CLUSTER, LARGE.columns(), share);
    ShardShape shape = new TableShapes(LARGE, cluster.batchSize()).of(part, 0, cluster);
    float[] tower = new PlainTowers(TestModels.h200()).towers(List.of(shape)).get(0);
    return evaluator.computeMs(ShapeLoad.of(evaluator, tower, part, LARGE, cluster).tower());
  }

  /** 50 tables a device of 100,000 rows of 256 columns, 30 lookups: 1,803 ms longer forward. */
  @Test
  void each_lookup_reads_its_row() {
    TableSpec small = Fixtures.table("small", 100_000, 256, 30);
    AddedMs added = added(small, ShardScope.DEVICE, 0, CLUSTER);
    assertThat(50 * added.forward()).isCloseTo(1_803, within(0.01 * 1_803));
  }

  /** 374.4 ms instead of 285.5: within a quarter of the difference. */
  @Test
  void each_distinct_row_is_read_and_written_backward() {
    AddedMs added = added(LARGE, ShardScope.CLUSTER, 0, CLUSTER);
    double measured = 374.4 - HBM_MS;
    assertThat(added.forward() + added.backward()).isCloseTo(measured, within(0.25 * measured));
    assertThat(stepMs(OptionalDouble.of(0), CLUSTER) - stepMs(OptionalDouble.empty(), CLUSTER))
        .as("computes as in device memory beside")
        .isCloseTo(added.forward() + added.backward(), within(1e-6));
    // 983,040 lookups; 5 million rows (1 - exp(-983,040 / 5 million)) are touched.
    assertThat(added.forward()).isCloseTo(983_040 * 2_048 / 56e6, within(1e-6));
    double rows = 5e6 * -Math.expm1(-0.196608);
    assertThat(added.backward() - 1.5 * rows * 2_048 / 56e6)
        .isBetween(0.0, 0.02 * added.backward());
  }

  @Test
  void the_state_is_read_and_written_too_unless_it_is_in_device_memory() {
    TableSpec adagrad =
        TableSpecBuilder.builder(LARGE).optimizer(Optional.of(Optimizer.ADAGRAD)).build();
    TableSpec inDevice = TableSpecBuilder.builder(adagrad).enforceHbm(true).build();
    AddedMs all = added(adagrad, ShardScope.CLUSTER, 0, CLUSTER);
    AddedMs weights = added(inDevice, ShardScope.CLUSTER, 0, CLUSTER);
    assertThat(all.forward()).isEqualTo(weights.forward());
    assertThat(all.backward()).isCloseTo(2 * weights.backward(), within(1e-6));
  }

  /** 0.2 of the rows hold 1.1 batches, 0.4 hold 2.2. */
  @Test
  void a_cache_holds_one_batch_or_two_where_rows_are_prefetched() {
    double one = RowUse.leastCacheShare(LARGE, CLUSTER);
    assertThat(one).isCloseTo(-Math.expm1(-0.196608), within(1e-12));
    double two = RowUse.leastCacheShare(LARGE, PREFETCHING);
    assertThat(two).isCloseTo(-Math.expm1(-2 * 0.196608), within(1e-12));
    AddedMs none = added(LARGE, ShardScope.CLUSTER, 0, CLUSTER);
    assertThat(added(LARGE, ShardScope.CLUSTER, 0.2, CLUSTER)).isEqualTo(AddedMs.NONE);
    assertThat(added(LARGE, ShardScope.CLUSTER, 0.17, CLUSTER)).isEqualTo(none);
    assertThat(added(LARGE, ShardScope.CLUSTER, 0.2, PREFETCHING)).isEqualTo(none);
    assertThat(added(LARGE, ShardScope.CLUSTER, 0.4, PREFETCHING)).isEqualTo(AddedMs.NONE);
    assertThat(added(LARGE, ShardScope.CLUSTER, two, PREFETCHING)).isEqualTo(AddedMs.NONE);
    assertThat(added(LARGE, ShardScope.CLUSTER, Math.nextDown(two), PREFETCHING)).isEqualTo(none);
  }

  /** Samples were measured as they are: what nets learned of small caches is not added again. */
  @Test
  void a_measured_cache_costs_what_was_learned() {
    float[] tower = new float[TestModels.h200().towerSize()];
    Shapes shapes = new Shapes(LARGE, 65_536);
    ShardShape cached = shapes.ofRows(512, 1, OptionalDouble.of(0.01));
    assertThat(evaluator.computeMs(evaluator.addend(tower, cached))).isZero();
    ShardShape inHost = shapes.ofRows(512, 1, OptionalDouble.of(0));
    assertThat(evaluator.computeMs(evaluator.addend(tower, inHost))).isGreaterThan(100);
  }

  @Test
  void a_models_own_link_is_used() {
    ModelBundle faster =
        ModelBundleBuilder.builder(TestModels.h200()).hostLinkGbs(OptionalDouble.of(112)).build();
    TablePart part = new TablePart(ShardScope.CLUSTER, 512, OptionalDouble.of(0));
    AddedMs added = new CostModel(faster).evaluator().hostMs(part, LARGE, CLUSTER);
    AddedMs published = evaluator.hostMs(part, LARGE, CLUSTER);
    assertThat(added.forward()).isCloseTo(published.forward() / 2, within(1e-9));
  }
}
