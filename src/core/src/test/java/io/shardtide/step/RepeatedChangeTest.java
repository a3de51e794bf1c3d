package io.shardtide.step;

import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.WorkloadChange;
import org.junit.jupiter.api.Test;

/** A planner does not apply an event that changes a table twice, whoever published it. */
class RepeatedChangeTest {
  @Test
  void nothing_of_an_event_that_changes_a_table_twice_is_applied() {
    Workloads store = Workloads.inMemory();
    WorkloadStep step = new WorkloadStep(new PlainPredictors());
    WorkloadChange event =
        event(set(8, Fixtures.GIB), upsert("t", 1_000, 64, 1), upsert("t", 5_000, 64, 1));
    assertThatThrownBy(() -> step.apply(store, Fixtures.at(1), event))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.TOO_MANY_CHANGES))
        .hasMessageContaining("changes[1] and changes[2]: they differ in rows 1000 and 5000");
    assertThat(store.header(Fixtures.WORKLOAD).generation()).isZero();
    assertThat(store.tables().get(Fixtures.WORKLOAD, "t")).isEmpty();
  }
}
