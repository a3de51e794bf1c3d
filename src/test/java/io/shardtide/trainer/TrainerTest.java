package io.shardtide.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ClusterSpecBuilder;
import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import io.shardtide.domain.MeasuredCollective;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.Region;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.TableSpecBuilder;
import io.shardtide.testing.Fixtures;
import io.shardtide.trainer.StepCosts.CollectiveStepCosts;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class TrainerTest {
  private static final int BATCH = 60;
  private static final long SEED = 7;
  private static final float RATE = 0.5f;

  /** Rows of several chunks, a fractional pooling factor, and no lookups at all. */
  private static final List<TableSpec> TABLES =
      List.of(
          Fixtures.table("a", 9_000, 16, 3.5).withReuse(Fixtures.reuse()),
          Fixtures.table("b", 300, 8, 2),
          Fixtures.table("c", 5, 4, 0.25),
          Fixtures.table("d", 50, 12, 0));

  private static ClusterSpec cluster(int devices, long memoryBytes) {
    return new ClusterSpec(devices, memoryBytes, BATCH, 8, "cpu-test");
  }

  private static Trainer trainer() {
    return new Trainer(SEED, RATE, 2);
  }

  private static List<Shard> whole(List<TableSpec> tables) {
    return tables.stream().map(t -> Shard.ofColumns(t, 0, t.columns(), 0)).toList();
  }

  /** Cuts tables at random columns and places the shards on random devices. */
  private static List<Shard> random(List<TableSpec> tables, int devices, Random random) {
    List<Shard> shards = new ArrayList<>();
    for (TableSpec table : tables) {
      int offset = 0;
      while (offset < table.columns()) {
        int width = 4 * (1 + random.nextInt((table.columns() - offset) / 4));
        shards.add(Shard.ofColumns(table, offset, width, random.nextInt(devices)));
        offset += width;
      }
    }
    return shards;
  }

  private static void assertSameWeights(Trainer one, Trainer other, List<TableSpec> tables) {
    for (TableSpec table : tables) {
      for (long row = 0; row < table.rows(); row++) {
        for (int column = 0; column < table.columns(); column++) {
          assertThat(other.weight(table.name(), row, column))
              .as("table %s, row %d, column %d", table.name(), row, column)
              .isEqualTo(one.weight(table.name(), row, column));
        }
      }
    }
  }

  @Property(tries = 15)
  void training_gives_the_same_bits_however_tables_are_cut_by_columns_and_resharded(
      @ForAll long seed) {
    Random random = new Random(seed);
    try (Trainer alone = trainer();
        Trainer sharded = trainer()) {
      alone.reshard(cluster(1, Fixtures.GIB), TableSpec.byName(TABLES), whole(TABLES));
      for (int round = 0; round < 4; round++) {
        int devices = 1 + random.nextInt(4);
        sharded.reshard(
            cluster(devices, Fixtures.GIB),
            TableSpec.byName(TABLES),
            random(TABLES, devices, random));
        for (int step = 0; step < 2; step++) {
          alone.train();
          sharded.train();
          assertThat(Math.abs(sharded.loss() - alone.loss())).isLessThan(1e-12);
        }
      }
      assertSameWeights(alone, sharded, TABLES);
    }
  }

  @Test
  void training_reduces_the_loss() {
    TableSpec table = Fixtures.table("a", 200, 16, 2);
    try (Trainer trainer = trainer()) {
      trainer.reshard(
          cluster(2, Fixtures.GIB),
          TableSpec.byName(List.of(table)),
          List.of(Shard.ofColumns(table, 0, 8, 0), Shard.ofColumns(table, 8, 8, 1)));
      trainer.train();
      double before = trainer.loss();
      trainer.train(200);
      assertThat(before).as("about ln 2 before training").isBetween(0.65, 0.72);
      assertThat(trainer.loss()).isLessThan(0.7 * before);
    }
  }

  @Test
  void full_devices_swap_their_tables_within_their_memory() {
    List<TableSpec> tables =
        List.of(Fixtures.table("a", 5_000, 8, 2), Fixtures.table("b", 5_000, 8, 2));
    long memory = tables.get(0).bytes();
    try (Trainer alone = trainer();
        Trainer trainer = trainer()) {
      alone.reshard(cluster(1, Fixtures.GIB), TableSpec.byName(tables), whole(tables));
      trainer.reshard(
          cluster(2, memory),
          TableSpec.byName(tables),
          List.of(
              Shard.ofColumns(tables.get(0), 0, 8, 0), Shard.ofColumns(tables.get(1), 0, 8, 1)));
      alone.train(2);
      trainer.train(2);
      long moved =
          trainer.reshard(
              cluster(2, memory),
              TableSpec.byName(tables),
              List.of(
                  Shard.ofColumns(tables.get(0), 0, 8, 1),
                  Shard.ofColumns(tables.get(1), 0, 8, 0)));
      assertThat(moved).isEqualTo(2 * memory);
      assertThat(trainer.peakBytes(0)).isEqualTo(memory);
      assertThat(trainer.peakBytes(1)).isEqualTo(memory);
      alone.train(2);
      trainer.train(2);
      assertSameWeights(alone, trainer, tables);
    }
  }

  /** A device has room for its shard and no more; its parts arrive one by one and are joined. */
  @Test
  void the_optimizers_state_counts_as_memory() {
    TableSpec plain = Fixtures.table("a", 5_000, 16, 2);
    TableSpec table =
        TableSpecBuilder.builder(plain)
            .optimizerBytesPerElement(4)
            .optimizerBytesPerRow(40)
            .build();
    assertThat(table.bytes()).isEqualTo(5_000L * (16 * 8 + 40));
    Map<String, TableSpec> tables = TableSpec.byName(List.of(table));
    List<Shard> whole = whole(List.of(table));
    try (Trainer trainer = trainer()) {
      assertThatThrownBy(() -> trainer.reshard(cluster(1, table.bytes() - 1), tables, whole))
          .hasMessage("The shards of device 0 need 840,000 bytes, but it has 839,999");
      List<Shard> parts = new ArrayList<>();
      for (int part = 0; part < 4; part++) {
        parts.add(Shard.ofColumns(table, 4 * part, 4, 3 - part));
      }
      trainer.reshard(cluster(4, table.bytes()), tables, parts);
      assertThat(trainer.peakBytes(0)).isEqualTo(table.bytes(4)).isEqualTo(5_000L * (4 * 8 + 40));
      trainer.reshard(cluster(4, table.bytes()), tables, whole);
      assertThat(trainer.peakBytes(0)).isEqualTo(table.bytes());
      trainer.reshard(cluster(4, table.bytes(4)), tables, parts);
      assertThat(trainer.peakBytes(3)).isEqualTo(table.bytes(4));
      ClusterSpec reserving =
          ClusterSpecBuilder.builder(cluster(1, table.bytes()))
              .reservedMemoryBytesPerDevice(1)
              .build();
      assertThatThrownBy(() -> trainer.reshard(reserving, tables, whole))
          .hasMessage("The shards of device 0 need 840,000 bytes, but it has 839,999");
    }
  }

  @Test
  void changed_tables_keep_their_weights() {
    TableSpec a = Fixtures.table("a", 5_000, 16, 2);
    TableSpec b = Fixtures.table("b", 100, 8, 2);
    try (Trainer trainer = trainer()) {
      trainer.reshard(
          cluster(2, Fixtures.GIB),
          TableSpec.byName(List.of(a, b)),
          List.of(
              Shard.ofColumns(a, 0, 8, 0),
              Shard.ofColumns(a, 8, 8, 1),
              Shard.ofColumns(b, 0, 8, 1)));
      trainer.train(3);
      float kept = trainer.weight("a", 4_000, 4);
      float moved = trainer.weight("a", 10, 9);
      TableSpec wider = Fixtures.table("a", 6_000, 20, 2);
      TableSpec fresh = Fixtures.table("c", 10, 4, 1);
      trainer.reshard(
          cluster(2, Fixtures.GIB),
          TableSpec.byName(List.of(wider, fresh)),
          List.of(Shard.ofColumns(wider, 0, 20, 0), Shard.ofColumns(fresh, 0, 4, 1)));
      assertThat(trainer.weight("a", 4_000, 4)).isEqualTo(kept);
      assertThat(trainer.weight("a", 10, 9)).isEqualTo(moved);
      assertThatThrownBy(() -> trainer.weight("b", 0, 0)).hasMessageContaining("table b");
      try (Trainer other = trainer()) {
        other.reshard(
            cluster(1, Fixtures.GIB), TableSpec.byName(List.of(wider)), whole(List.of(wider)));
        assertThat(trainer.weight("a", 5_500, 3)).isEqualTo(other.weight("a", 5_500, 3));
        assertThat(trainer.weight("a", 17, 18)).isEqualTo(other.weight("a", 17, 18));
      }
      TableSpec less = Fixtures.table("a", 4_500, 8, 2);
      trainer.reshard(
          cluster(1, Fixtures.GIB), TableSpec.byName(List.of(less)), whole(List.of(less)));
      assertThat(trainer.weight("a", 4_000, 4)).isEqualTo(kept);
      trainer.train();
    }
  }

  @Test
  void an_unsupported_sharding_is_rejected_without_a_change() {
    TableSpec table = Fixtures.table("a", 1_000, 8, 2);
    Map<String, TableSpec> tables = TableSpec.byName(List.of(table));
    try (Trainer trainer = trainer()) {
      trainer.reshard(cluster(2, Fixtures.GIB), tables, whole(List.of(table)));
      trainer.train();
      float weight = trainer.weight("a", 3, 3);
      assertThatThrownBy(() -> trainer.reshard(cluster(2, 100), tables, whole(List.of(table))))
          .hasMessage("The shards of device 0 need 32,000 bytes, but it has 100");
      assertThatThrownBy(
              () ->
                  trainer.reshard(
                      cluster(2, Fixtures.GIB),
                      tables,
                      List.of(new Shard("a", new Region(0, 8, 0, 500), 0, ShardKind.ROW_WISE))))
          .hasMessageStartingWith("table \"a\" must have the shards of row_wise sharding");
      assertThatThrownBy(
              () ->
                  trainer.reshard(
                      cluster(1, Fixtures.GIB),
                      Map.of(),
                      List.of(new Shard("z", new Region(0, 8, 0, 1_000), 0, ShardKind.TABLE_WISE))))
          .hasMessage("shards must be of the workload's tables, got table z");
      assertThatThrownBy(
              () ->
                  trainer.reshard(
                      new ClusterSpec(4, Fixtures.GIB, 3, 8, "cpu-test"),
                      tables,
                      whole(List.of(table))))
          .hasMessage("batch size must be between the number of devices (4) and 1048576, got 3");
      assertThat(trainer.weight("a", 3, 3)).isEqualTo(weight);
      trainer.train();
    }
  }

  @Test
  void a_workload_without_tables_is_supported() {
    try (Trainer trainer = trainer()) {
      trainer.reshard(cluster(2, Fixtures.GIB), Map.of(), List.of());
      assertThat(trainer.train().stepMs()).isGreaterThanOrEqualTo(0);
      trainer.reshard(cluster(2, Fixtures.GIB), TableSpec.byName(TABLES), whole(TABLES));
      trainer.train();
    }
  }

  @Test
  void a_slowdown_changes_no_result() {
    try (Trainer plain = trainer();
        Trainer slow = trainer()) {
      for (Trainer trainer : List.of(plain, slow)) {
        trainer.reshard(
            cluster(3, Fixtures.GIB), TableSpec.byName(TABLES), random(TABLES, 3, new Random(1)));
      }
      for (Slowdown slowdown :
          List.of(Slowdown.ofWide(8, 3), Slowdown.ofDevice(1, 4), Slowdown.ofLink(2, 5))) {
        slow.setSlowdown(slowdown);
        plain.train(2);
        slow.train(2);
      }
      assertSameWeights(plain, slow, TABLES);
      assertThatThrownBy(() -> Slowdown.ofWide(8, 0))
          .hasMessage("slowdown factor of wide shards must be between 1 and 100, got 0");
    }
  }

  @Test
  void the_slowest_device_determines_the_cost_of_a_step() {
    StepCosts costs =
        new StepCosts(
            List.of(new StepCosts.DeviceStepCosts(5, 2), new StepCosts.DeviceStepCosts(2, 1)),
            List.of(
                allToAll(Direction.FORWARD, List.of(1.0, 0.75), List.of(0.5, 0.5)),
                allToAll(Direction.BACKWARD, List.of(0.25, 0.5), List.of(0.5, 0.25))));
    assertThat(costs.measured().get(0))
        .isEqualTo(new MeasuredDevice(5, 1.5, 1, OptionalDouble.of(2)));
    assertThat(costs.measured().get(1))
        .as("includes 3.25 ms of idle time")
        .isEqualTo(new MeasuredDevice(2, 1.5 + 3.25, 0.75, OptionalDouble.of(1)));
    assertThat(costs.allToAllMs(Direction.FORWARD)).as("without it").containsExactly(1.5, 1.5);
    assertThat(costs.allToAllMs(Direction.BACKWARD)).containsExactly(1, 0.75);
    assertThat(costs.measuredCollectives())
        .extracting(MeasuredCollective::shown, MeasuredCollective::ms)
        .containsExactly(
            tuple("forward all_to_all for scope device", List.of(1.5, 1.5)),
            tuple("backward all_to_all for scope device", List.of(1.0, 0.75)));
    assertThat(costs.stepMs()).isEqualTo(7.5);
  }

  private static CollectiveStepCosts allToAll(
      Direction direction, List<Double> sendMs, List<Double> receiveMs) {
    return new CollectiveStepCosts(
        ShardScope.DEVICE, Collective.ALL_TO_ALL, direction, 2, sendMs, receiveMs);
  }

  /** Devices wait for those of their node, not for others; the last node is of one device. */
  @Test
  void devices_wait_for_the_last_sender_of_their_group() {
    CollectiveStepCosts costs =
        new CollectiveStepCosts(
            ShardScope.NODE,
            Collective.REDUCE_SCATTER,
            Direction.FORWARD,
            2,
            List.of(1.0, 3.0, 0.5, 0.25, 0.125),
            List.of(1.0, 1.0, 2.0, 2.0, 4.0));
    assertThat(costs.ms()).containsExactly(4.0, 4.0, 2.5, 2.5, 4.125);
  }
}
