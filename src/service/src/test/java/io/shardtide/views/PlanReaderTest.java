package io.shardtide.views;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.log.ClusterUnavailableException;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.workload.SourcePosition;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/** What requests for plans get while the cluster does not answer. */
class PlanReaderTest {
  private static final ShardingPlan PLAN = LogProjectionTest.planOf("w", 1);
  private static final SourcePosition AT = Fixtures.at(7);

  private final List<SourcePosition> asked = new ArrayList<>();
  private boolean away;
  private long nanos = Long.MAX_VALUE;

  private Optional<ShardingPlan> at(SourcePosition position) {
    asked.add(position);
    if (away) {
      throw new ClusterUnavailableException("broker:9092", new TimeoutException("no answer"));
    }
    return Optional.of(PLAN);
  }

  @Test
  void requests_that_waited_while_another_one_got_no_answer_do_not_wait_themselves()
      throws Exception {
    PlanReader reader = new PlanReader(this::at, () -> nanos, () -> {});
    away = true;
    for (int i = 0; i < 25; i++) {
      assertThatThrownBy(() -> reader.read(PLAN.planId(), AT))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("Plan " + PLAN.planId() + " cannot be read: ")
          .hasMessageContaining("broker:9092");
    }
    assertThat(asked).hasSize(1);
    away = false;
    nanos += TimeUnit.SECONDS.toNanos(1);
    assertThat(reader.read(PLAN.planId(), AT)).isEqualTo(PLAN);
    assertThat(asked).hasSize(2);
  }

  @Test
  void a_plan_that_was_read_needs_no_cluster() throws Exception {
    PlanReader reader = new PlanReader(this::at, () -> nanos, () -> {});
    assertThat(reader.read(PLAN.planId(), AT)).isEqualTo(PLAN);
    away = true;
    assertThat(reader.read(PLAN.planId(), AT)).isEqualTo(PLAN);
    assertThatThrownBy(() -> reader.read("another", AT)).isInstanceOf(IOException.class);
  }
}
