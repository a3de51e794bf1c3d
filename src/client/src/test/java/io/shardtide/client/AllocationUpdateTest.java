package io.shardtide.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationChange;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.AllocationQuality;
import io.shardtide.pool.WorkloadAllocation;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class AllocationUpdateTest {
  private static Allocation has(int devices, String... nodes) {
    return new Allocation(
            "",
            "gpus",
            1,
            Optional.empty(),
            AllocationPolicy.DEFAULTS,
            new TreeMap<>(),
            List.of(
                new WorkloadAllocation(
                    "ads",
                    List.of(nodes),
                    devices,
                    1,
                    1,
                    AllocationChange.KEPT,
                    "keeps",
                    Optional.empty())),
            List.of(),
            new AllocationQuality(1, 0, 0, 0))
        .identified();
  }

  private static boolean concerns(Allocation before, Allocation now) {
    return new AllocationUpdate(now, Optional.of(before)).concerns("ads");
  }

  @Test
  void a_workload_is_concerned_when_its_nodes_or_devices_change() {
    assertThat(concerns(has(8, "n1"), has(8, "n1"))).isFalse();
    assertThat(concerns(has(8, "n1"), has(8, "n2"))).isTrue();
    assertThat(concerns(has(7, "n1"), has(8, "n1"))).isTrue();
    assertThat(concerns(has(8, "n1"), has(0))).isTrue();
  }

  @Test
  void the_first_allocation_concerns_who_has_nodes() {
    assertThat(new AllocationUpdate(has(8, "n1"), Optional.empty()).concerns("ads")).isTrue();
    assertThat(new AllocationUpdate(has(0), Optional.empty()).concerns("ads")).isFalse();
    assertThat(new AllocationUpdate(has(8, "n1"), Optional.empty()).concerns("feed")).isFalse();
  }
}
