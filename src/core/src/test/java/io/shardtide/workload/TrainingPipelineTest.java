package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Optional;
import org.junit.jupiter.api.Test;

class TrainingPipelineTest {
  private static final ClusterSpec CLUSTER = new ClusterSpec(2, 1 << 20, 64, 2, "test");

  @Test
  void each_has_the_name_that_it_is_found_by() {
    assertThat(Named.labels(TrainingPipeline.class))
        .containsExactly("none", "sparse_dist", "prefetch");
    for (TrainingPipeline pipeline : TrainingPipeline.values()) {
      assertThat(TrainingPipeline.of(pipeline.label())).isEqualTo(pipeline);
      assertThat(Named.describe(Optional.of(pipeline))).isEqualTo(pipeline.label());
    }
    assertThat(Named.describe(Optional.empty())).isEqualTo("(none named)");
  }

  @Test
  void another_name_is_refused_with_those_that_there_are() {
    assertThatThrownBy(() -> TrainingPipeline.of("SPARSE_DIST"))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_CLUSTER))
        .hasMessage(
            "pipeline of a cluster must be one of none, sparse_dist, prefetch, got \"SPARSE_DIST\"");
  }

  @Test
  void a_cluster_that_names_one_counts_the_memory_of_a_step() {
    ClusterSpecBuilder named =
        ClusterSpecBuilder.builder(CLUSTER).pipeline(Optional.of(TrainingPipeline.NONE));
    assertThatThrownBy(named::build)
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_CLUSTER))
        .hasMessage(
            "countsStepMemory of a cluster must be true if it names a pipeline, whose memory would"
                + " not be counted otherwise, got false with pipeline none");
    assertThat(named.countsStepMemory(true).build().pipeline()).contains(TrainingPipeline.NONE);
  }
}
