package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.PlannedKernel;
import io.shardtide.testing.Fixtures;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class TableKernelTest {
  private static TableKernel computedBy(ComputeKernel kernel) {
    return TableKernelBuilder.builder(TableKernel.NONE).computeKernel(Optional.of(kernel)).build();
  }

  private static TableSpec table(ComputeKernel kernel, TableConstraints constraints) {
    return TableSpecBuilder.builder(Fixtures.table("t", 1000, 64, 1))
        .constraints(constraints)
        .kernel(computedBy(kernel))
        .build();
  }

  private static TableConstraints only(ShardKind... kinds) {
    return TableConstraints.NONE.withKinds(Set.of(kinds));
  }

  @Test
  void names_are_torchrecs() {
    for (ComputeKernel kernel : ComputeKernel.values()) {
      assertThat(ComputeKernel.of(kernel.label())).isEqualTo(kernel);
    }
    assertThat(Named.join(List.of(ComputeKernel.values())))
        .isEqualTo("dense, fused, fused_uvm, fused_uvm_caching");
    assertThat(CacheAlgorithm.of("LFU")).isEqualTo(CacheAlgorithm.LFU);
    assertThat(OutputType.of("BF16").bytes()).isEqualTo(2);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "key_value",
        "quant",
        "ssd_virtual_table",
        "dram_virtual_table",
        "customized_kernel",
        "fused_triton",
        "FUSED"
      })
  void other_kernels_are_refused(String name) {
    assertThatThrownBy(() -> ComputeKernel.of(name))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_CONSTRAINTS))
        .hasMessage(
            "compute kernel of a table must be one of dense, fused, fused_uvm, fused_uvm_caching, got \"%s\""
                .formatted(name));
  }

  @Test
  void other_algorithms_and_formats_are_refused() {
    assertThatThrownBy(() -> CacheAlgorithm.of("lru"))
        .isInstanceOf(RejectedException.class)
        .hasMessage("cache algorithm of a table must be LRU or LFU, got \"lru\"");
    assertThatThrownBy(() -> OutputType.of("INT4"))
        .isInstanceOf(RejectedException.class)
        .hasMessage("output type of a table must be one of FP32, FP16, BF16, INT8, got \"INT4\"");
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, -0.1, 1.01, Double.NaN})
  void a_cache_holds_a_share(double share) {
    assertThatThrownBy(
            () ->
                TableKernelBuilder.builder(TableKernel.NONE)
                    .cacheLoadFactor(OptionalDouble.of(share))
                    .build())
        .isInstanceOf(RejectedException.class)
        .hasMessage("cache load factor of a table must be above 0 and at most 1, got " + share);
  }

  @ParameterizedTest
  @CsvSource({
    "DENSE,             DATA_PARALLEL, true,  false",
    "DENSE,             ROW_WISE,      true,  false",
    "FUSED,             DATA_PARALLEL, false, false",
    "FUSED,             TABLE_WISE,    true,  false",
    "FUSED_UVM,         TABLE_WISE,    false, true",
    "FUSED_UVM_CACHING, GRID_SHARD,    false, true",
    "FUSED_UVM_CACHING, DATA_PARALLEL, false, false",
  })
  void a_kernel_computes_shards_in_its_memory(
      ComputeKernel kernel, ShardKind kind, boolean inDeviceMemory, boolean inHostMemory) {
    assertThat(computedBy(kernel).allows(kind.scope(), false)).isEqualTo(inDeviceMemory);
    assertThat(computedBy(kernel).allows(kind.scope(), true)).isEqualTo(inHostMemory);
    assertThat(TableKernel.NONE.allows(kind.scope(), false)).isTrue();
    assertThat(TableKernel.NONE.allows(kind.scope(), true)).isTrue();
  }

  @Test
  void the_kernel_of_a_shard_follows_from_where_its_rows_are() {
    OptionalDouble device = OptionalDouble.empty();
    TableKernel any = TableKernel.NONE;
    assertThat(any.planned(ShardKind.DATA_PARALLEL, device, ComputeKernel.FUSED))
        .isEqualTo(ComputeKernel.DENSE);
    assertThat(any.planned(ShardKind.TABLE_WISE, device, ComputeKernel.FUSED))
        .isEqualTo(ComputeKernel.FUSED);
    assertThat(any.planned(ShardKind.TABLE_WISE, OptionalDouble.of(0.2), ComputeKernel.FUSED))
        .isEqualTo(ComputeKernel.FUSED_UVM_CACHING);
    assertThat(any.planned(ShardKind.TABLE_WISE, OptionalDouble.of(0), ComputeKernel.FUSED))
        .isEqualTo(ComputeKernel.FUSED_UVM);
    assertThat(
            computedBy(ComputeKernel.DENSE)
                .planned(ShardKind.ROW_WISE, device, ComputeKernel.FUSED))
        .isEqualTo(ComputeKernel.DENSE);
  }

  @ParameterizedTest
  @EnumSource(ComputeKernel.class)
  void a_kernel_fits_the_constraints_of_its_table(ComputeKernel kernel) {
    EnumSet<ShardKind> refused = EnumSet.noneOf(ShardKind.class);
    for (ShardKind kind : ShardKind.values()) {
      try {
        table(kernel, only(kind));
      } catch (RejectedException e) {
        refused.add(kind);
        assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_CONSTRAINTS);
      }
    }
    assertThat(refused)
        .isEqualTo(
            switch (kernel) {
              case DENSE -> EnumSet.noneOf(ShardKind.class);
              case FUSED -> EnumSet.of(ShardKind.DATA_PARALLEL);
              case FUSED_UVM, FUSED_UVM_CACHING ->
                  EnumSet.of(ShardKind.DATA_PARALLEL, ShardKind.PARTIAL_ROW_WISE);
            });
    assertThat(table(kernel, TableConstraints.NONE).mayBeCached())
        .isEqualTo(kernel.isInHostMemory());
  }

  @Test
  void a_contradiction_names_both_sides() {
    assertThatThrownBy(() -> table(ComputeKernel.FUSED, only(ShardKind.DATA_PARALLEL)))
        .hasMessage(
            "constraints of table \"t\" must allow a kind other than data_parallel, since its compute kernel is fused; got data_parallel");
    assertThatThrownBy(
            () ->
                table(
                    ComputeKernel.FUSED_UVM_CACHING, TableConstraints.NONE.withMayBeCached(false)))
        .hasMessage(
            "constraints of table \"t\" must allow that it is cached, and a kind other than data_parallel and partial_row_wise, since its compute kernel is fused_uvm_caching; got all kinds, mayBeCached false");
  }

  @Test
  void a_plan_lists_tables_of_which_something_is_decided() {
    TableSpec plain = Fixtures.table("a", 10, 8, 1);
    TableSpec fused = table(ComputeKernel.FUSED, TableConstraints.NONE);
    TableSpec enforced =
        TableSpecBuilder.builder(Fixtures.table("b", 10, 8, 1)).enforceHbm(true).build();
    assertThat(PlannedKernel.of(List.of(fused, plain, enforced)))
        .containsExactly(
            new PlannedKernel("b", TableKernel.NONE, true),
            new PlannedKernel("t", computedBy(ComputeKernel.FUSED), false));
  }
}
