package io.shardtide.step;

import static io.shardtide.testing.Fixtures.drop;
import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.workload.Change;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.Workload;
import io.shardtide.workload.WorkloadState;
import org.junit.jupiter.api.Test;

/** How many tables a workload may have. */
class TableLimitTest {
  private static final String W = Fixtures.WORKLOAD;

  private final Workloads store = Workloads.inMemory();
  private final WorkloadStep step = new WorkloadStep(new PlainPredictors());
  private long offset;

  private void apply(Change... changes) {
    step.apply(store, Fixtures.at(offset++), event(changes));
  }

  /** As a version without the limit may have left it. */
  private void fill(int tables) {
    for (int t = 0; t < tables; t++) {
      store.tables().put(W, "t" + t, Fixtures.table("t" + t, 1_000, 4, 1));
    }
  }

  @Test
  void as_many_tables_as_allowed_are_applied_and_no_more() {
    fill(Workload.MAX_TABLES - 1);
    apply(upsert("last", 1, 4, 1));
    assertThat(store.tableCount(W)).isEqualTo(Workload.MAX_TABLES);
    WorkloadState before = store.header(W);
    assertThatThrownBy(() -> apply(upsert("one more", 1, 4, 1)))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.TOO_MANY_TABLES));
    assertThat(store.header(W)).isEqualTo(before);
    assertThat(store.tables().get(W, "one more")).isEmpty();
  }

  @Test
  void a_workload_that_has_too_many_already_can_change_and_shrink() {
    fill(Workload.MAX_TABLES + 10);
    apply(upsert("t0", 7, 4, 1));
    apply(drop("t1"), drop("t2"), upsert("instead", 1, 4, 1));
    assertThat(store.tableCount(W)).isEqualTo(Workload.MAX_TABLES + 9);
    assertThatThrownBy(() -> apply(drop("t3"), upsert("a", 1, 4, 1), upsert("b", 1, 4, 1)))
        .isInstanceOf(RejectedException.class)
        .hasMessageContaining("must be at most 20000, got 20010");
    assertThat(store.tables().get(W, "t3")).as("nothing of the event is applied").isPresent();
  }
}
