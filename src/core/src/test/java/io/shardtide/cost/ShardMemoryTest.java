package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;

import io.shardtide.option.TablePart;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.OutputType;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableKernelBuilder;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.TrainingPipeline;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The device memory of shards, as their loads add it up. */
class ShardMemoryTest {
  /** 1,000 rows of half-precision weights with a row-wise optimizer, 2.5 lookups of a sample. */
  private static final TableSpec TABLE =
      TableSpecBuilder.builder(Fixtures.table("a", 1_000, 64, 2.5))
          .bytesPerElement(2)
          .optimizerBytesPerElement(0.5)
          .optimizerBytesPerRow(4)
          .build();

  private static final ClusterSpec SHARDS_ALONE =
      new ClusterSpec(8, Fixtures.GIB, 1_024, 4, "test");
  private static final ClusterSpec WITH_STEP =
      ClusterSpecBuilder.builder(SHARDS_ALONE).countsStepMemory(true).build();

  private final Shapes shapes = new Shapes(TABLE, 1_024);

  private static final CostEvaluator EVALUATOR = new CostModel(TestModels.bundle()).evaluator();

  private static long bytes(ShardShape shape, ShardScope scope, ClusterSpec cluster) {
    return ShapeLoad.of(EVALUATOR, new float[] {1}, TABLE, shape, scope, cluster).bytes();
  }

  @Test
  void weights_and_the_optimizers_state_are_counted() {
    assertThat(bytes(shapes.ofColumns(16), ShardScope.DEVICE, SHARDS_ALONE))
        .isEqualTo(1_000 * (16 * 2 + 16 / 2 + 4));
    assertThat(bytes(shapes.ofRows(16, 0.25), ShardScope.NODE, SHARDS_ALONE))
        .isEqualTo(250 * (16 * 2 + 16 / 2 + 4));
    assertThat(bytes(shapes.ofRows(16, 0.125), ShardScope.CLUSTER, SHARDS_ALONE))
        .isEqualTo(125 * (16 * 2 + 16 / 2 + 4));
    assertThat(bytes(shapes.ofCopy(16, 8), ShardScope.COPIES, SHARDS_ALONE))
        .isEqualTo(1_000 * (16 * 2 + 16 / 2 + 4));
  }

  /** Ids of 8 bytes; outputs and their gradients, and the gradient of a copy, of 4 an element. */
  @Test
  void what_a_step_needs_is_counted_where_the_cluster_says_so() {
    long row = 16 * 2 + 16 / 2 + 4;
    assertThat(bytes(shapes.ofColumns(16), ShardScope.DEVICE, WITH_STEP))
        .isEqualTo(1_000 * row + 2_560 * 8 + 2 * 1_024 * 16 * 4);
    assertThat(bytes(shapes.ofRows(16, 0.25), ShardScope.NODE, WITH_STEP))
        .isEqualTo(250 * row + 640 * 8 + 2 * 1_024 * 16 * 4);
    assertThat(bytes(shapes.ofRows(16, 0.125), ShardScope.CLUSTER, WITH_STEP))
        .isEqualTo(125 * row + 320 * 8 + 2 * 1_024 * 16 * 4);
    assertThat(bytes(shapes.ofCopy(16, 8), ShardScope.COPIES, WITH_STEP))
        .isEqualTo(1_000 * row + 320 * 8 + 2 * 128 * 16 * 4 + 1_000 * 16 * 4);
  }

  private static TableSpec with(TableKernel kernel) {
    return TableSpecBuilder.builder(TABLE).kernel(kernel).build();
  }

  private static ShapeLoad load(
      TableKernel kernel, ShardShape shape, ShardScope scope, ClusterSpec cluster) {
    return ShapeLoad.of(EVALUATOR, new float[] {1}, with(kernel), shape, scope, cluster);
  }

  private static TableKernel outputs(OutputType type) {
    return TableKernelBuilder.builder(TableKernel.NONE).outputType(Optional.of(type)).build();
  }

  @ParameterizedTest
  @EnumSource(OutputType.class)
  void outputs_and_their_gradients_are_in_their_tables_format(OutputType type) {
    long row = 16 * 2 + 16 / 2 + 4;
    ShapeLoad load = load(outputs(type), shapes.ofColumns(16), ShardScope.DEVICE, WITH_STEP);
    assertThat(load.bytes()).isEqualTo(1_000 * row + 2_560 * 8 + 2L * 1_024 * 16 * type.bytes());
    assertThat(load.elements())
        .containsOnly(entry(ShardScope.DEVICE, 1_024 * 16 * type.bytes() / 4.0));
  }

  /** A quantized collective has one format, whatever its tables have; copies send gradients. */
  @Test
  void formats_of_outputs_do_not_change_what_quantized_collectives_and_copies_send() {
    TableKernel half = outputs(OutputType.FP16);
    for (ClusterSpec cluster :
        List.of(
            ClusterSpecBuilder.builder(WITH_STEP).forwardBytesPerElement(2).build(),
            ClusterSpecBuilder.builder(WITH_STEP).backwardBytesPerElement(2).build(),
            ClusterSpecBuilder.builder(WITH_STEP).codecs(List.of(new CommCodec("x", 2))).build())) {
      assertThat(load(half, shapes.ofColumns(16), ShardScope.DEVICE, cluster).elements())
          .containsOnly(entry(ShardScope.DEVICE, 1_024.0 * 16));
    }
    assertThat(load(half, shapes.ofCopy(16, 8), ShardScope.COPIES, WITH_STEP).elements())
        .containsOnly(entry(ShardScope.COPIES, 1_000.0 * 16));
  }

  @Test
  void a_dense_kernel_has_a_gradient_of_all_rows() {
    TableKernel dense =
        TableKernelBuilder.builder(TableKernel.NONE)
            .computeKernel(Optional.of(ComputeKernel.DENSE))
            .build();
    for (ClusterSpec cluster : List.of(SHARDS_ALONE, WITH_STEP)) {
      long gradient = cluster.countsStepMemory() ? 250L * 16 * 4 : 0;
      ShardShape shape = shapes.ofRows(16, 0.25);
      assertThat(load(dense, shape, ShardScope.NODE, cluster).bytes())
          .isEqualTo(load(TableKernel.NONE, shape, ShardScope.NODE, cluster).bytes() + gradient);
    }
  }

  /** Of a cached shard, all keys are in device memory, whatever a cluster counts. */
  @Test
  void keys_of_a_hashed_table_are_in_device_memory() {
    TableSpec plain = with(TableKernel.NONE);
    TableSpec hashed =
        TableSpecBuilder.builder(plain).storage(Optional.of(HashedStorage.PLAIN)).build();
    for (ClusterSpec cluster : List.of(SHARDS_ALONE, WITH_STEP, with(TrainingPipeline.NONE))) {
      for (OptionalDouble share : List.of(OptionalDouble.empty(), OptionalDouble.of(0.25))) {
        ShardMemory memory = new ShardMemory(250, 16, 100, 200, false, share);
        assertThat(memory.tiers(hashed, cluster)[Tiers.DEVICE])
            .isEqualTo(memory.tiers(plain, cluster)[Tiers.DEVICE] + 250 * 16);
        assertThat(memory.tiers(hashed, cluster)[Tiers.HOST])
            .isEqualTo(memory.tiers(plain, cluster)[Tiers.HOST]);
        assertThat(memory.tiers(hashed, cluster)[Tiers.TABLES])
            .isEqualTo(memory.tiers(plain, cluster)[Tiers.TABLES] + 250 * 16);
      }
    }
  }

  private static ClusterSpec with(TrainingPipeline pipeline) {
    return ClusterSpecBuilder.builder(WITH_STEP).pipeline(Optional.of(pipeline)).build();
  }

  /**
   * Ids of 8 bytes and ends of bags of 8, then 4, of each batch that was distributed; ids that are
   * sent three more times as a part has a quarter of the columns, once as rows are split; gradients
   * of outputs, which are more than the ids that are received before; of a copy two gradients;
   * small tensors.
   */
  @Test
  void a_pipeline_has_several_batches_at_their_shards() {
    long row = 16 * 2 + 16 / 2 + 4;
    ClusterSpec none = with(TrainingPipeline.NONE);
    assertThat(bytes(shapes.ofColumns(16), ShardScope.DEVICE, none))
        .isEqualTo(1_000 * row + 2_560 * 8 * 7 / 4 + 1_024 * 8 + 1_024 * 16 * 4 + 1_024);
    ClusterSpec sparseDist = with(TrainingPipeline.SPARSE_DIST);
    assertThat(bytes(shapes.ofColumns(16), ShardScope.DEVICE, sparseDist))
        .isEqualTo(1_000 * row + 2_560 * 8 * 14 / 4 + 1_024 * 12 + 1_024 * 16 * 4 + 1_024);
    assertThat(bytes(shapes.ofRows(16, 0.25), ShardScope.NODE, sparseDist))
        .isEqualTo(250 * row + 640 * 8 * 18 / 4 + 1_024 * 12 + 1_024 * 16 * 4 + 1_024);
    assertThat(bytes(shapes.ofCopy(16, 8), ShardScope.COPIES, sparseDist))
        .isEqualTo(1_000 * row + 128 * 8 + 2 * 1_000 * 16 * 4 + 1_024);
    assertThat(bytes(shapes.ofColumns(16), ShardScope.DEVICE, with(TrainingPipeline.PREFETCH)))
        .isEqualTo(1_000 * row + 2_560 * 8 * 18 / 4 + 1_024 * 16 + 1_024 * 16 * 4 + 1_024);
  }

  /** Before there are outputs: a batch more that is received, and what is sent of a second one. */
  @Test
  void ids_that_are_received_count_where_outputs_have_fewer_bytes() {
    ShardMemory narrow = new ShardMemory(1_000, 16, 10, 2_560, false, OptionalDouble.empty());
    assertThat(narrow.tiers(TABLE, with(TrainingPipeline.SPARSE_DIST))[Tiers.DEVICE])
        .isEqualTo(1_000 * (16 * 2 + 16 / 2 + 4) + 2_560 * 8 * (14 + 7) / 4 + 1_024 * 12 + 1_024);
    TableSpec table = TableSpecBuilder.builder(TABLE).columns(4).poolingFactor(40).build();
    assertThat(StepMemory.ofDevice(List.of(table), with(TrainingPipeline.SPARSE_DIST)))
        .as("five batches, and one that copies look up")
        .isEqualTo(6 * 128 * 324);
  }

  /** 128 samples a device: 2.5 ids of 8 bytes and a length for each batch; 4 times 64 columns. */
  @Test
  void a_pipeline_has_several_batches_before_they_are_distributed() {
    assertThat(StepMemory.ofDevice(List.of(TABLE), WITH_STEP)).isZero();
    long outputs = 4 * 128 * 64 * 4;
    assertThat(StepMemory.ofDevice(List.of(TABLE), with(TrainingPipeline.NONE)))
        .isEqualTo(2 * 128 * 24 + outputs);
    assertThat(StepMemory.ofDevice(List.of(TABLE, TABLE), with(TrainingPipeline.SPARSE_DIST)))
        .isEqualTo(2 * (5 * 128 * 24 + outputs));
    TableSpec whole =
        TableSpecBuilder.builder(TABLE)
            .constraints(new TableConstraints(Set.of(ShardKind.TABLE_WISE), 0, Optional.empty()))
            .build();
    assertThat(StepMemory.ofDevice(List.of(whole, whole), with(TrainingPipeline.SPARSE_DIST)))
        .as("without copies, which would keep the ids as they were sent")
        .isEqualTo(2 * (4 * 128 * 24 + outputs));
  }

  /** A quarter of the weights, 4 bytes a row and 16 a cached one; row-wise state is not cached. */
  @Test
  void a_cache_has_what_fbgemm_keeps_beside_its_rows() {
    TableSpec table =
        TableSpecBuilder.builder(Fixtures.table("a", 1_000, 64, 2.5))
            .optimizer(Optional.of(Optimizer.ROWWISE_ADAGRAD))
            .build();
    ShardMemory cached = new ShardMemory(1_000, 64, 1_024, 2_560, false, OptionalDouble.of(0.25));
    ShardMemory whole = new ShardMemory(1_000, 64, 1_024, 2_560, false, OptionalDouble.empty());
    ClusterSpec prefetch = with(TrainingPipeline.PREFETCH);
    long step = whole.tiers(table, prefetch)[Tiers.DEVICE] - table.bytes();
    assertThat(cached.tiers(table, prefetch)[Tiers.DEVICE])
        .isEqualTo(250 * 64 * 4 + 1_000 * 4 + 1_000 * 4 + 250 * 16 + step + 7 * 2_560 * 8);
    assertThat(cached.tiers(table, prefetch)[Tiers.HOST]).isEqualTo(1_000 * 64 * 4);
    assertThat(whole.tiers(table, prefetch)[Tiers.HOST]).isZero();
    assertThat(cached.tiers(table, with(TrainingPipeline.SPARSE_DIST))[Tiers.DEVICE])
        .as("without prefetched rows")
        .isLessThan(cached.tiers(table, prefetch)[Tiers.DEVICE] - 7 * 2_560 * 8);
  }

  @Test
  void columns_of_a_prediction_have_the_bytes_of_their_shape() {
    TablePrediction prediction =
        new PlainTowers(TestModels.bundle()).predict(List.of(TABLE), 1_024).get(0);
    for (ClusterSpec cluster : List.of(SHARDS_ALONE, WITH_STEP)) {
      ShapeLoad load =
          ShapeLoad.of(
              EVALUATOR,
              prediction.tower(16),
              new TablePart(ShardScope.DEVICE, 16),
              TABLE,
              cluster);
      assertThat(load)
          .usingRecursiveComparison()
          .isEqualTo(
              ShapeLoad.of(
                  EVALUATOR,
                  prediction.tower(16),
                  TABLE,
                  shapes.ofColumns(16),
                  ShardScope.DEVICE,
                  cluster));
      assertThat(load.elements(ShardScope.DEVICE)).isEqualTo(16 * 1_024);
    }
    assertThat(
            ShapeLoad.of(
                    EVALUATOR,
                    new float[1],
                    TABLE,
                    shapes.ofCopy(16, 8),
                    ShardScope.COPIES,
                    WITH_STEP)
                .elements(ShardScope.COPIES))
        .as("what an all-reduce sums")
        .isEqualTo(16_000);
  }
}
