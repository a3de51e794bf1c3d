package io.shardtide.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class AllocationTest {
  @Test
  void a_policy_is_in_range() {
    assertThatThrownBy(() -> new AllocationPolicy(1, 0, 0, 1, 1))
        .hasMessage("adjustedAtOnce must be 2 to 1000, got 1");
    assertThatThrownBy(() -> new AllocationPolicy(2, 1.1, 0, 1, 1))
        .hasMessage("fairnessLoss must be 0 to 1, got 1.1");
    assertThatThrownBy(() -> new AllocationPolicy(2, 0, 5, 4, 1))
        .hasMessage("paybackSeconds must be above 0 and at least adjustmentSeconds, 5.0, got 4.0");
    assertThatThrownBy(() -> new AllocationPolicy(2, 0, 0, 0, 1))
        .hasMessage("paybackSeconds must be above 0 and at least adjustmentSeconds, 0.0, got 0.0");
    assertThatThrownBy(() -> new AllocationPolicy(2, 0, 0, 1, 0))
        .hasMessage("solverIterations must be 1 to 10000000, got 0");
    assertThat(AllocationPolicy.DEFAULTS.adjustmentPrice()).isEqualTo(300.0 / 86_400);
  }

  @Test
  void an_allocation_gives_a_node_once() {
    WorkloadAllocation a = allocated("a", "n1");
    WorkloadAllocation b = allocated("b", "n1");
    assertThatThrownBy(() -> allocation(List.of(a, b)))
        .hasMessage("nodes of workloads must be different, got \"n1\" twice");
  }

  @Test
  void the_id_of_an_allocation_is_that_of_its_content() {
    Allocation ab = allocation(List.of(allocated("a", "n1"), allocated("b", "n2")));
    Allocation ba = allocation(List.of(allocated("b", "n2"), allocated("a", "n1")));
    assertThat(ba).isEqualTo(ab);
    assertThat(allocation(List.of(allocated("a", "n2"), allocated("b", "n1"))).allocationId())
        .isNotEqualTo(ab.allocationId());
  }

  private static WorkloadAllocation allocated(String workload, String node) {
    return new WorkloadAllocation(
        workload, List.of(node), 8, 1, 1, AllocationChange.STARTED, "starts", Optional.empty());
  }

  private static Allocation allocation(List<WorkloadAllocation> workloads) {
    return new Allocation(
            "",
            "p",
            1,
            Optional.empty(),
            AllocationPolicy.DEFAULTS,
            new TreeMap<>(),
            workloads,
            List.of(),
            new AllocationQuality(1, 0, 0, 0))
        .identified();
  }
}
