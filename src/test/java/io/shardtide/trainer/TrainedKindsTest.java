package io.shardtide.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.MeasuredCollective;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.TableSpecBuilder;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.RandomShardings;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** All kinds of shards are trained, and resharded one to another. */
class TrainedKindsTest {
  private static final int BATCH = 60;
  private static final long SEED = 7;
  private static final float RATE = 0.5f;

  /**
   * Bounds of the difference from unsharded training, of a loss, a weight or a state; relative if
   * that is above 1. Row shards add up to seven floats of a sample in another order, copies the
   * gradients of some hundred lookups.
   */
  private static final float ROWS_BOUND = 1e-6f;

  private static final float COPIES_BOUND = 2e-5f;

  /**
   * Rows of several chunks, Adagrad, the state of a row in the bytes, fewer rows than devices, and
   * no lookups at all.
   */
  private static final List<TableSpec> TABLES =
      List.of(
          TableSpecBuilder.builder(Fixtures.table("a", 5_000, 12, 3.5))
              .reuseHistogram(Fixtures.reuse())
              .optimizerBytesPerRow(40)
              .build(),
          adagrad("b", 300, 8, 6),
          Fixtures.table("c", 3, 4, 0.25),
          Fixtures.table("d", 50, 12, 0));

  private static ClusterSpec cluster(int devices, int devicesPerNode, long memoryBytes) {
    return new ClusterSpec(devices, memoryBytes, BATCH, devicesPerNode, "cpu-test");
  }

  private static Trainer trainer(int cores) {
    return new Trainer(SEED, RATE, cores);
  }

  /** Returns a trainer with all tables on one device. */
  private static Trainer alone(List<TableSpec> tables) {
    Trainer trainer = trainer(1);
    ClusterSpec one = cluster(1, 1, Fixtures.GIB);
    trainer.reshard(
        one,
        TableSpec.byName(tables),
        new RandomShardings(one, new Random(1)).ofKind(tables, ShardKind.TABLE_WISE));
    return trainer;
  }

  /** Returns all weights, each followed by its optimizer's state, which are equal in all copies. */
  private static float[] weights(Trainer trainer, List<TableSpec> tables) {
    int count = tables.stream().mapToInt(table -> (int) table.rows() * table.columns()).sum();
    float[] weights = new float[2 * count];
    int next = 0;
    for (TableSpec table : tables) {
      for (long row = 0; row < table.rows(); row++) {
        for (int column = 0; column < table.columns(); column++) {
          List<ShardWeights> copies = trainer.shards(table.name(), row, column).toList();
          weights[next] = copies.get(0).weight(row, column);
          weights[next + 1] = copies.get(0).state(row, column);
          for (ShardWeights copy : copies) {
            assertThat(copy.weight(row, column)).isEqualTo(weights[next]);
            assertThat(copy.state(row, column)).isEqualTo(weights[next + 1]);
          }
          next += 2;
        }
      }
    }
    return weights;
  }

  private static float difference(float[] one, float[] other) {
    float max = 0;
    for (int i = 0; i < one.length; i++) {
      max = Math.max(max, Math.abs(one[i] - other[i]) / Math.max(1, Math.abs(one[i])));
    }
    return max;
  }

  @ParameterizedTest
  @EnumSource
  void training_of_each_kind_equals_unsharded_training(ShardKind kind) {
    for (int devicesPerNode : new int[] {1, 2, 3, 5}) {
      ClusterSpec cluster = cluster(5, devicesPerNode, Fixtures.GIB);
      try (Trainer alone = alone(TABLES);
          Trainer sharded = trainer(2)) {
        List<Shard> shards = new RandomShardings(cluster, new Random(1)).ofKind(TABLES, kind);
        sharded.reshard(cluster, TableSpec.byName(TABLES), shards);
        float[] before = weights(alone, TABLES);
        assertThat(weights(sharded, TABLES)).isEqualTo(before);
        double loss = 0;
        for (int step = 0; step < 8; step++) {
          alone.train();
          sharded.train();
          loss = Math.max(loss, Math.abs(sharded.loss() - alone.loss()));
        }
        float[] expected = weights(alone, TABLES);
        assertThat(difference(before, expected)).as("change by training").isGreaterThan(0.001f);
        float difference = difference(expected, weights(sharded, TABLES));
        assertThat(difference).isLessThanOrEqualTo(bound(kind));
        assertThat(loss).as("loss").isLessThan(Math.max(1e-12, bound(kind)));
      }
    }
  }

  private static float bound(ShardKind kind) {
    return switch (kind.scope()) {
      case DEVICE -> 0;
      case NODE, CLUSTER -> ROWS_BOUND;
      case COPIES -> COPIES_BOUND;
    };
  }

  /** A sum of two numbers has one order. */
  @ParameterizedTest
  @EnumSource(names = {"ROW_WISE", "TABLE_ROW_WISE", "GRID_SHARD"})
  void row_shards_give_the_same_bits_for_at_most_two_lookups(ShardKind kind) {
    List<TableSpec> tables = List.of(Fixtures.table("a", 5_000, 16, 2), adagrad("b", 300, 8, 1.5));
    ClusterSpec cluster = cluster(4, 2, Fixtures.GIB);
    try (Trainer alone = alone(tables);
        Trainer sharded = trainer(2)) {
      List<Shard> shards = new RandomShardings(cluster, new Random(1)).ofKind(tables, kind);
      sharded.reshard(cluster, TableSpec.byName(tables), shards);
      alone.train(5);
      sharded.train(5);
      assertThat(weights(sharded, tables)).isEqualTo(weights(alone, tables));
    }
  }

  @Property(tries = 10)
  void a_run_is_repeatable_bit_for_bit(@ForAll long seed) {
    Random random = new Random(seed);
    ClusterSpec cluster = cluster(1 + random.nextInt(6), 1 + random.nextInt(4), Fixtures.GIB);
    List<Shard> shards = new RandomShardings(cluster, random).ofAnyKind(TABLES);
    try (Trainer one = trainer(1);
        Trainer other = trainer(4)) {
      one.reshard(cluster, TableSpec.byName(TABLES), shards);
      other.reshard(cluster, TableSpec.byName(TABLES), shards);
      other.setSlowdown(Slowdown.ofDevice(0, 3));
      one.train(3);
      other.train(2);
      other.setSlowdown(Slowdown.ofLink(0, 3));
      other.train();
      assertThat(other.loss()).isEqualTo(one.loss());
      assertThat(weights(other, TABLES)).isEqualTo(weights(one, TABLES));
    }
  }

  @ParameterizedTest
  @EnumSource
  void reshards_from_a_kind_to_each_other_one_keep_everything(ShardKind before) {
    for (ShardKind after : ShardKind.values()) {
      Random random = new Random(after.name().hashCode());
      ClusterSpec first = cluster(4, 2, Fixtures.GIB);
      ClusterSpec second = cluster(5, 2, Fixtures.GIB);
      reshard(
          first,
          new RandomShardings(first, random).ofKind(TABLES, before),
          second,
          new RandomShardings(second, random).ofKind(TABLES, after),
          Math.max(bound(before), bound(after)));
    }
  }

  @Property(tries = 50)
  void reshards_keep_everything(
      @ForAll @IntRange(min = 1, max = 5) int devicesBefore,
      @ForAll @IntRange(min = 1, max = 5) int devicesAfter,
      @ForAll @IntRange(min = 1, max = 3) int devicesPerNode,
      @ForAll long seed) {
    Random random = new Random(seed);
    ClusterSpec before = cluster(devicesBefore, devicesPerNode, Fixtures.GIB);
    ClusterSpec after = cluster(devicesAfter, devicesPerNode, Fixtures.GIB);
    reshard(
        before,
        new RandomShardings(before, random).ofAnyKind(TABLES),
        after,
        new RandomShardings(after, random).ofAnyKind(TABLES),
        COPIES_BOUND);
  }

  /** With the memory that the larger plan needs on its fullest device, and no more. */
  private static void reshard(
      ClusterSpec before, List<Shard> from, ClusterSpec after, List<Shard> to, float bound) {
    long memory = Math.max(largest(from, before), largest(to, after));
    try (Trainer sharded = trainer(2);
        Trainer alone = alone(TABLES)) {
      sharded.reshard(
          cluster(before.devices(), before.devicesPerNode(), memory),
          TableSpec.byName(TABLES),
          from);
      sharded.train(2);
      float[] kept = weights(sharded, TABLES);
      sharded.reshard(
          cluster(after.devices(), after.devicesPerNode(), memory), TableSpec.byName(TABLES), to);
      assertThat(weights(sharded, TABLES)).isEqualTo(kept);
      for (int d = 0; d < after.devices(); d++) {
        assertThat(sharded.peakBytes(d)).isLessThanOrEqualTo(memory);
      }
      sharded.train(2);
      alone.train(4);
      assertThat(difference(weights(alone, TABLES), weights(sharded, TABLES)))
          .isLessThanOrEqualTo(bound);
      assertThat(sharded.loss()).isCloseTo(alone.loss(), within(Math.max(1e-12, bound)));
    }
  }

  /** Returns the bytes on the fullest device. */
  private static long largest(List<Shard> shards, ClusterSpec cluster) {
    ColumnIndex index = ColumnIndex.of(cluster, TableSpec.byName(TABLES), shards);
    long[] bytes = new long[cluster.devices()];
    for (Shard shard : index.shards()) {
      long ofShard = shard.region().bytes(index.tables().get(shard.table()));
      shard.holders(bytes.length).forEach(device -> bytes[device] += ofShard);
    }
    return LongStream.of(bytes).max().orElseThrow();
  }

  private static TableSpec adagrad(String name, long rows, int columns, double pooling) {
    return TableSpecBuilder.builder(Fixtures.table(name, rows, columns, pooling))
        .optimizerBytesPerElement(4)
        .build();
  }

  /** Tables that grow while their kind changes: kept weights stay, new ones are initial. */
  @Property(tries = 30)
  void tables_change_while_they_are_resharded(
      @ForAll ShardKind before, @ForAll ShardKind after, @ForAll long seed) {
    Random random = new Random(seed);
    TableSpec table = adagrad("a", 1 + random.nextInt(9_000), 8, 2);
    TableSpec changed = adagrad("a", 1 + random.nextInt(9_000), 4 * (1 + random.nextInt(3)), 2);
    ClusterSpec cluster = cluster(4, 2, Fixtures.GIB);
    RandomShardings shardings = new RandomShardings(cluster, random);
    try (Trainer trainer = trainer(2);
        Trainer untrained = alone(List.of(changed))) {
      trainer.reshard(
          cluster, TableSpec.byName(List.of(table)), shardings.ofKind(List.of(table), before));
      trainer.train(2);
      float[] kept = weights(trainer, List.of(table));
      trainer.reshard(
          cluster, TableSpec.byName(List.of(changed)), shardings.ofKind(List.of(changed), after));
      float[] now = weights(trainer, List.of(changed));
      float[] initial = weights(untrained, List.of(changed));
      for (int i = 0; i < now.length; i++) {
        int row = i / (2 * changed.columns());
        int column = i % (2 * changed.columns());
        boolean old = row < table.rows() && column < 2 * table.columns();
        assertThat(now[i]).isEqualTo(old ? kept[row * 2 * table.columns() + column] : initial[i]);
      }
      trainer.train();
    }
  }

  @ParameterizedTest
  @EnumSource
  void each_kind_reports_its_collectives(ShardKind kind) {
    ClusterSpec cluster = cluster(4, 2, Fixtures.GIB);
    try (Trainer trainer = trainer(2)) {
      trainer.reshard(
          cluster,
          TableSpec.byName(TABLES),
          new RandomShardings(cluster, new Random(1)).ofKind(TABLES, kind));
      StepCosts costs = trainer.train(5);
      MeasuredCosts report =
          new MeasuredCosts(
              "m",
              "w",
              "p",
              "r",
              4,
              5,
              costs.measured(),
              costs.measuredCollectives(),
              "test",
              Fixtures.TIME);
      assertThat(report.collectives())
          .extracting(MeasuredCollective::shown)
          .containsExactlyElementsOf(
              switch (kind.scope()) {
                case DEVICE ->
                    List.of(
                        "forward all_to_all for scope device",
                        "backward all_to_all for scope device");
                case NODE ->
                    List.of(
                        "forward reduce_scatter for scope node",
                        "forward all_to_all for scope node",
                        "backward all_to_all for scope node",
                        "backward all_gather for scope node");
                case CLUSTER ->
                    List.of(
                        "forward reduce_scatter for scope cluster",
                        "backward all_gather for scope cluster");
                case COPIES -> List.of("backward all_reduce for scope copies");
              });
      assertThat(report.collectives())
          .allSatisfy(collective -> assertThat(collective.ms()).allMatch(ms -> ms > 0));
    }
  }

  @Test
  void copies_come_from_a_device_that_has_them() {
    TableSpec table = Fixtures.table("a", 1_000, 8, 2);
    ClusterSpec two = cluster(2, 2, table.bytes());
    ClusterSpec four = cluster(4, 2, table.bytes());
    try (Trainer trainer = trainer(2)) {
      RandomShardings ofFour = new RandomShardings(four, new Random(1));
      RandomShardings ofTwo = new RandomShardings(two, new Random(1));
      List<TableSpec> tables = List.of(table);
      trainer.reshard(two, TableSpec.byName(tables), ofTwo.ofKind(tables, ShardKind.ROW_WISE));
      assertThat(
              trainer.reshard(
                  four, TableSpec.byName(tables), ofFour.ofKind(tables, ShardKind.DATA_PARALLEL)))
          .as("two halves, each to the three devices that lack it")
          .isEqualTo(3 * table.bytes());
      assertThat(
              trainer.reshard(
                  four, TableSpec.byName(tables), ofFour.ofKind(tables, ShardKind.ROW_WISE)))
          .as("each device keeps its rows")
          .isZero();
      trainer.reshard(
          four, TableSpec.byName(tables), ofFour.ofKind(tables, ShardKind.DATA_PARALLEL));
      assertThat(
              trainer.reshard(
                  two, TableSpec.byName(tables), ofTwo.ofKind(tables, ShardKind.DATA_PARALLEL)))
          .as("fewer copies")
          .isZero();
    }
  }
}
