package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.models.ModelFiles;
import io.shardtide.option.TablePart;
import io.shardtide.testing.PlainTowers;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TrainingPipeline;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

/** The shipped model of an H200 against published steps with rows in host memory. */
class PublishedCachesTest {
  /** 10 million rows of 512 columns on two devices, of which a step took so long. */
  private static final TableSpec LARGE =
      new TableSpec("large", 10_000_000, 512, 30, ReuseHistogram.UNKNOWN, 4);

  private static final double HBM_MS = 285.5;

  private static final ClusterSpec CLUSTER =
      ClusterSpecBuilder.builder(new ClusterSpec(2, 95_000_000_000L, 65_536, 8, "h200"))
          .hostMemoryBytesPerDevice(256_000_000_000L)
          .build();
  private static final ClusterSpec PREFETCHING =
      ClusterSpecBuilder.builder(CLUSTER)
          .countsStepMemory(true)
          .pipeline(Optional.of(TrainingPipeline.PREFETCH))
          .build();

  private static double stepMs(OptionalDouble share, ClusterSpec cluster) {
    ModelBundle bundle = ModelFiles.shippedForH200();
    CostEvaluator evaluator = new CostModel(bundle).evaluator();
    TablePart part = new TablePart(ShardScope.CLUSTER, LARGE.columns(), share);
    ShardShape shape = new TableShapes(LARGE, cluster.batchSize()).of(part, 0, cluster);
    float[] tower = new PlainTowers(bundle).towers(List.of(shape)).get(0);
    return evaluator.computeMs(ShapeLoad.of(evaluator, tower, part, LARGE, cluster).tower());
  }

  /** Published: 285.5, 312.2, 374.4 and 467.3 ms with prefetching; 0.2 adds 84 without. */
  @Test
  void caches_are_ordered_as_measured() {
    double hbm = stepMs(OptionalDouble.empty(), CLUSTER);
    for (ClusterSpec cluster : List.of(CLUSTER, PREFETCHING)) {
      double large = stepMs(OptionalDouble.of(0.4), cluster);
      double small = stepMs(OptionalDouble.of(0.2), cluster);
      double none = stepMs(OptionalDouble.of(0), cluster);
      if (cluster.cachedBatches() == 2) {
        assertThat(List.of(hbm, large, none, small)).isSorted();
        double measured = 467.3 - HBM_MS;
        assertThat(small - hbm).isCloseTo(measured, within(0.3 * measured));
      } else {
        assertThat(List.of(hbm, large, small, none)).isSorted();
      }
    }
  }
}
