package io.shardtide.search.problem;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.TablePrediction;
import io.shardtide.plan.Shortfall;
import io.shardtide.plan.Shortfall.TableBytes;
import io.shardtide.testing.Fixtures;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.DeviceMemory;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TrainingPipeline;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Two devices of 1,600 bytes; a row of 4 columns has 16. */
class FeasibilityTest {
  private static final ClusterSpec CLUSTER = Fixtures.cluster(2, 1_600);

  private static TableSpec table(String name, long rows) {
    return Fixtures.table(name, rows, 4, 1);
  }

  private static List<TableSpec> tables(int count, long rows) {
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < count; t++) {
      tables.add(table("t%02d".formatted(t), rows));
    }
    return tables;
  }

  /** Tables that are cut by columns only. */
  private static Shortfall refute(List<TableSpec> tables, ClusterSpec cluster) {
    return Feasibility.refutePredicted(
        tables.stream().map(FeasibilityTest::predicted).toList(), cluster);
  }

  private static TablePrediction predicted(TableSpec table) {
    int shapes = table.columns() / TableSpec.COLUMN_UNIT;
    return new TablePrediction(table, Collections.nCopies(shapes, new float[0]), List.of());
  }

  @Test
  void tables_that_fill_the_memory_may_fit() {
    assertThat(refute(tables(2, 100), CLUSTER)).isNull();
    assertThat(refute(List.of(), CLUSTER)).isNull();
  }

  /**
   * 4 samples a device, with one lookup: (3 + 2) x 4 x 12 bytes of batches, 4 x 4 x 16 of outputs.
   */
  @Test
  void what_a_step_needs_whatever_the_shards_are_is_not_there_for_shards() {
    ClusterSpec training =
        ClusterSpecBuilder.builder(CLUSTER)
            .batchSize(8)
            .countsStepMemory(true)
            .pipeline(Optional.of(TrainingPipeline.SPARSE_DIST))
            .memoryBytesPerDevice(1_600 + 496)
            .build();
    assertThat(refute(List.of(table("a", 100)), training)).isNull();
    assertThat(refute(List.of(table("a", 101)), training).bytesShort()).isEqualTo(16);
    Shortfall none =
        refute(
            List.of(table("a", 1)),
            ClusterSpecBuilder.builder(training).memoryBytesPerDevice(496).build());
    assertThat(none.bytesShort()).isEqualTo(1);
    assertThat(none.message())
        .isEqualTo(
            "Without any shards, a device needs 496 B for the batches of a step and the outputs of"
                + " its samples, and has 496 B. Maybe use fewer samples in a batch");
  }

  @Test
  void a_row_too_many_is_too_tall() {
    Shortfall shortfall =
        refute(
            List.of(table("a", 101), table("low", 10), table("c", 103), table("b", 103)), CLUSTER);
    assertThat(shortfall.proven()).isTrue();
    assertThat(shortfall.bytesShort())
        .as("of all tables, not of the tallest only")
        .isEqualTo(1_872);
    assertThat(shortfall.tablesToBlame())
        .containsExactly(
            new TableBytes("b", 1_648), new TableBytes("c", 1_648), new TableBytes("a", 1_616));
    assertThat(shortfall.message())
        .isEqualTo(
            "The narrowest shard of table b, 4 columns, needs 1.6 KiB, and a device has 1.6 KiB."
                + " Maybe use fewer rows or fewer bytes per element."
                + " The tables need 5.0 KiB, and 2 devices of 1.6 KiB have 3.1 KiB");
  }

  @Test
  void the_device_with_the_most_memory_is_named() {
    ClusterSpec unequal =
        ClusterSpecBuilder.builder(CLUSTER)
            .memoryBytesByDevice(List.of(new DeviceMemory(1, 3_200)))
            .build();
    assertThat(refute(List.of(table("a", 200), table("b", 100)), unequal)).isNull();
    Shortfall tall = refute(List.of(table("a", 201)), unequal);
    assertThat(tall.bytesShort()).isEqualTo(16);
    assertThat(tall.message())
        .startsWith(
            "The narrowest shard of table a, 4 columns, needs 3.1 KiB, and the device with the most memory has 3.1 KiB.");
    Shortfall together = refute(tables(4, 100), unequal);
    assertThat(together.bytesShort()).isEqualTo(1_600);
    assertThat(together.message())
        .isEqualTo("The tables need 6.3 KiB, and 2 devices of 1.6 KiB to 3.1 KiB have 4.7 KiB");
  }

  /** The largest tables that together have the missing bytes. */
  @Test
  void tables_that_are_too_large_together_are_named() {
    List<TableSpec> tables =
        List.of(table("c", 20), table("a", 90), table("b", 90), table("d", 90), table("e", 30));
    Shortfall shortfall = refute(tables, CLUSTER);
    assertThat(shortfall.bytesShort()).isEqualTo(320 * 16 - 3_200);
    assertThat(shortfall.tablesToBlame())
        .as("two of 90 rows for 120 rows")
        .containsExactly(new TableBytes("a", 1_440), new TableBytes("b", 1_440));
    Shortfall exactly = refute(tables(3, 100), CLUSTER);
    assertThat(exactly.tablesToBlame()).containsExactly(new TableBytes("t00", 1_600));
    Shortfall many = refute(tables(60, 50), CLUSTER);
    assertThat(many.tablesToBlame()).as("20 of 56 tables").hasSize(20);
  }

  @Test
  void more_bytes_than_a_number_holds_are_too_many() {
    TableSpec huge = new TableSpec("huge", 1L << 36, 4096, 1, table("a", 1).reuseHistogram(), 64);
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < 1_024; t++) {
      tables.add(huge);
    }
    ClusterSpec largest = Fixtures.cluster(16_384, 1L << 44);
    assertThat(refute(tables, largest).bytesShort()).isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void what_a_search_left_over_is_not_proved_impossible() {
    Shortfall shortfall =
        Feasibility.notFound(List.of(table("b", 60), table("a", 60), table("c", 70)), CLUSTER, 960);
    assertThat(shortfall.proven()).isFalse();
    assertThat(shortfall.bytesShort()).isEqualTo(960);
    assertThat(shortfall.tablesToBlame()).containsExactly(new TableBytes("c", 1_120));
    assertThat(
            Feasibility.notFound(List.of(table("b", 60), table("a", 60)), CLUSTER, 961)
                .tablesToBlame())
        .containsExactly(new TableBytes("a", 960), new TableBytes("b", 960));
  }
}
