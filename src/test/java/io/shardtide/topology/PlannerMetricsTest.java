package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.shardtide.domain.Effort;
import io.shardtide.domain.RejectionReason;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What is counted under which name: dashboards rely on it. */
class PlannerMetricsTest {
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final PlannerMetrics metrics = new PlannerMetrics(meters);

  @Test
  void every_meter_is_there_at_zero() {
    assertThat(meters.getMeters())
        .extracting(meter -> meter.getId().getName())
        .contains(
            "shardtide.events.applied",
            "shardtide.events.rejected",
            "shardtide.tables.predicted",
            "shardtide.prediction",
            "shardtide.plans.published",
            "shardtide.search",
            "shardtide.workloads.infeasible",
            "shardtide.searches.discarded",
            "shardtide.answer",
            "shardtide.trainings",
            "shardtide.training",
            "shardtide.workloads.pending");
    assertThat(meters.get("shardtide.events.rejected").counters())
        .hasSize(RejectionReason.values().length)
        .allMatch(counter -> counter.count() == 0);
  }

  @Test
  void what_is_done_is_counted_under_its_tags() {
    metrics.rejected(RejectionReason.UNDECODABLE);
    metrics.predicted(3, 2_000_000);
    metrics.searched(Effort.DEEP, 1.5);
    metrics.published(Effort.QUICK);
    metrics.infeasible();
    metrics.discarded();
    metrics.answered(1_000, 1_040);
    metrics.answered(1_000, 900);
    metrics.trained(false, 3_000_000);
    assertThat(meters.get("shardtide.trainings").tag("result", "kept").counter().count())
        .isEqualTo(1);
    assertThat(meters.get("shardtide.trainings").tag("result", "published").counter().count())
        .isZero();
    assertThat(meters.get("shardtide.training").timer().totalTime(TimeUnit.MILLISECONDS))
        .isEqualTo(3);
    assertThat(
            meters.get("shardtide.events.rejected").tag("reason", "UNDECODABLE").counter().count())
        .isEqualTo(1);
    assertThat(meters.get("shardtide.tables.predicted").counter().count()).isEqualTo(3);
    assertThat(meters.get("shardtide.prediction").timer().totalTime(TimeUnit.MILLISECONDS))
        .isEqualTo(2);
    assertThat(
            meters
                .get("shardtide.search")
                .tag("effort", "deep")
                .timer()
                .totalTime(TimeUnit.MILLISECONDS))
        .isEqualTo(1.5);
    assertThat(meters.get("shardtide.plans.published").tag("effort", "quick").counter().count())
        .isEqualTo(1);
    assertThat(meters.get("shardtide.workloads.infeasible").counter().count()).isEqualTo(1);
    assertThat(meters.get("shardtide.searches.discarded").counter().count()).isEqualTo(1);
    assertThat(meters.get("shardtide.answer").timer().totalTime(TimeUnit.MILLISECONDS))
        .isEqualTo(40);
  }

  @Test
  void waiting_workloads_are_the_sum_over_tasks_that_are_open() {
    PlannerMetrics.Pending one = metrics.pending(() -> 2);
    PlannerMetrics.Pending two = metrics.pending(() -> 5);
    assertThat(meters.get("shardtide.workloads.pending").gauge().value()).isEqualTo(7);
    one.close();
    assertThat(meters.get("shardtide.workloads.pending").gauge().value()).isEqualTo(5);
    two.close();
    assertThat(meters.get("shardtide.workloads.pending").gauge().value()).isZero();
  }
}
