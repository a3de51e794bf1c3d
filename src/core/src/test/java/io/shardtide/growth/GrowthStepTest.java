package io.shardtide.growth;

import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.hashed;
import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.StepMemory;
import io.shardtide.step.KeyValues;
import io.shardtide.step.MemoryKeyValues;
import io.shardtide.step.WorkloadStep;
import io.shardtide.step.Workloads;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.Eviction;
import io.shardtide.workload.HashedStorageBuilder;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.TrainingPipeline;
import io.shardtide.workload.WorkloadChange;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** From predictions and reports to forecasts and changes of capacity. */
class GrowthStepTest {
  private static final Duration HOUR = Duration.ofHours(1);

  private final Workloads workloads = Workloads.inMemory();
  private final WorkloadStep predicting = new WorkloadStep(new PlainPredictors());
  private final GrowthStep step = new GrowthStep(CapacityPolicy.DEFAULTS);
  private final KeyValues<GrowthState> headers = new MemoryKeyValues<>();
  private final GrowthTables store =
      new GrowthTables(headers, new MemoryKeyValues<>(), new MemoryKeyValues<>());
  private long offset;
  private int reports;
  private Instant now = Fixtures.TIME;

  /** Returns whether the latest forecasts are obsolete. */
  private boolean predict(WorkloadChange event) {
    return predicting.apply(workloads, Fixtures.at(offset++), event).stream()
            .filter(part -> step.onPredictions(store, part))
            .count()
        == 1;
  }

  private boolean predict(Change... changes) {
    return predict(event(changes));
  }

  private static Change hashedTable(String name, long rows) {
    return new Change.TableUpserted(hashed(name, rows, 64, 5));
  }

  private static TableFill fill(String table, long slots, long ids) {
    return new TableFill(table, List.of(new ShardFill(0, 0, slots, ids, 7, 0, 3)));
  }

  private FillReport report(String run, TableFill... tables) {
    return new FillReport(
        "r" + reports++, Fixtures.WORKLOAD, "p", run, "trainer", now, List.of(tables));
  }

  private GrowthStep.Growth grow(TableFill... tables) {
    now = now.plus(HOUR);
    return step.report(store, report("run", tables), now.toEpochMilli());
  }

  private void assertRejected(FillReport report, RejectionReason reason, String message) {
    assertThatThrownBy(() -> step.report(store, report, now.toEpochMilli()))
        .isInstanceOfSatisfying(
            RejectedException.class, e -> assertThat(e.reason()).isEqualTo(reason))
        .hasMessageContaining(message);
  }

  private TableSpec spec(String table) {
    return store.tables().get(Fixtures.WORKLOAD, table).orElseThrow();
  }

  @Test
  void a_table_gets_more_slots_before_it_is_full_and_once() {
    predict(Fixtures.set(4, Fixtures.GIB), hashedTable("a", 14_000), upsert("b", 1_000, 64, 5));
    List<WorkloadChange> changes = new ArrayList<>();
    int resizedAt = 0;
    for (int hour = 1; hour <= 24 * 40; hour++) {
      long ids = 5_000 + 10L * hour;
      assertThat((double) ids)
          .as("hour %d", hour)
          .isLessThan(HashedTable.LOAD_FACTOR * spec("a").rows());
      GrowthStep.Growth growth = grow(fill("a", spec("a").rows(), ids));
      assertThat(growth.forecasts().tables()).hasSize(1);
      if (growth.change().isPresent()) {
        changes.add(growth.change().get());
        resizedAt = hour;
        // The next report comes before the change is predicted.
        now = now.plus(Duration.ofMinutes(1));
        FillReport next = report("run", fill("a", spec("a").rows(), ids + 1));
        assertThat(step.report(store, next, now.toEpochMilli()).change()).isEmpty();
        now = now.minus(Duration.ofMinutes(1));
        predict(growth.change().get());
      }
    }
    assertThat(changes).hasSize(1);
    WorkloadChange change = changes.get(0);
    assertThat(change.source()).isEqualTo("growth");
    assertThat(resizedAt).isBetween(24 * 20, 24 * 25);
    Change.TableResized resized = (Change.TableResized) change.changes().get(0);
    assertThat(resized.name()).isEqualTo("a");
    assertThat(HashedTable.LOAD_FACTOR * resized.rows())
        .isCloseTo(5_000 + 10 * (resizedAt + 28 * 24), within(500.0));
    assertThat(resized.reason())
        .matches("it is full in [0-9.]+ (days|hours) \\([0-9.]+ to [0-9.]+\\)");
  }

  /** As an instance that takes the workload over shows it. */
  @Test
  void the_stores_say_what_the_latest_report_said_also_of_tables_that_it_did_not_have() {
    predict(Fixtures.set(4, Fixtures.GIB), hashedTable("a", 90_000), hashedTable("b", 70_000));
    assertThat(step.latest(store, Fixtures.WORKLOAD)).as("nothing was reported").isEmpty();
    for (int hour = 1; hour < 50; hour++) {
      ShardFill shard = new ShardFill(0, 0, 90_000, 100L * hour, 0, 0, 0);
      TableFill fill = new TableFill(hour % 3 == 0 ? "a" : "b", List.of(shard));
      assertThat(grow(fill).change()).isEmpty();
    }
    ShardFill last = new ShardFill(0, 0, 90_000, 5_000, 0, 0, 0);
    TableForecasts reported = grow(new TableFill("a", List.of(last))).forecasts();
    assertThat(reported.tables()).hasSize(2);
    assertThat(step.latest(store, Fixtures.WORKLOAD)).contains(reported);
    predict(Fixtures.delete());
    assertThat(step.latest(store, Fixtures.WORKLOAD)).isEmpty();
  }

  @Test
  void forecasts_are_of_all_tables_and_of_what_was_reported() {
    predict(Fixtures.set(4, Fixtures.GIB), hashedTable("a", 10_000), hashedTable("b", 500));
    grow(fill("b", 500, 100));
    TableForecasts forecasts = grow(fill("a", 9_000, 200)).forecasts();
    TableGrowth reported = store.growths().get(Fixtures.WORKLOAD, "a").orElseThrow();
    assertThat(forecasts.generation()).isEqualTo(1);
    assertThat(forecasts.measuredAt()).isEqualTo(now);
    Range still = new Range(200, 200, 200);
    assertThat(forecasts.tables())
        .first()
        .isEqualTo(
            new TableForecast(
                "a",
                200,
                9_000,
                10_000,
                7,
                0,
                3,
                still,
                still,
                still,
                Optional.empty(),
                Optional.of(
                    new TableInputs(
                        reported, 0, false, (double) spec("a").bytes() / spec("a").rows()))));
    assertThat(forecasts.tables().get(1).table()).isEqualTo("b");
    assertThat(forecasts.tables().get(1).insertions()).isZero();
    assertThat(forecasts.inputs().orElseThrow().policy()).isEqualTo(CapacityPolicy.DEFAULTS);
    assertThat(forecasts.inputs().orElseThrow().parts()).isZero();
  }

  @Test
  void ids_above_the_capacity_are_a_full_table() {
    predict(Fixtures.set(4, Fixtures.GIB), hashedTable("a", 1_000));
    GrowthStep.Growth growth = grow(fill("a", 1_000, 1_500));
    assertThat(growth.forecasts().tables().get(0).daysUntilFull()).contains(new Range(0, 0, 0));
    Change.TableResized resized =
        (Change.TableResized) growth.change().orElseThrow().changes().get(0);
    assertThat(resized.rows()).isGreaterThanOrEqualTo(1_500);
  }

  /** No more ids fit, so that the reports show no growth. */
  @Test
  void a_table_that_stopped_to_grow_because_it_is_full_gets_more_slots() {
    predict(Fixtures.set(4, Fixtures.GIB), hashedTable("a", 1_000));
    for (int hour = 0; hour < 24 * 30; hour++) {
      TableFill full = fill("a", 1_000, 960);
      now = now.plus(HOUR);
      step.report(store, report("run", full), now.toEpochMilli());
    }
    GrowthStep.Growth growth = grow(fill("a", 1_000, 960));
    assertThat(growth.forecasts().tables().get(0).daysUntilFull()).contains(new Range(0, 0, 0));
    assertThat(growth.change()).isPresent();
  }

  /** A table that evicts never reports more ids than slots; its publisher knows how many it saw. */
  @Test
  void a_table_that_evicts_gets_slots_for_the_ids_that_it_gave_up() {
    AccessCdf shares = new AccessCdf(List.of(0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0));
    TableSpec table = hashed("a", 1_000, 64, 5);
    predict(
        Fixtures.set(4, Fixtures.GIB),
        new Change.TableUpserted(
            TableSpecBuilder.builder(table)
                .storage(
                    Optional.of(
                        HashedStorageBuilder.builder(table.storage().orElseThrow())
                            .ids(4_096)
                            .eviction(Eviction.LRU)
                            .hitShares(shares)
                            .build()))
                .build()));
    GrowthStep.Growth growth = grow(fill("a", 1_000, 1_000));
    assertThat(growth.forecasts().resizes())
        .containsExactly(
            new Resize(
                "a", 4_096, "79.4% of its lookups find their id, 100.0% with so many slots"));
  }

  @Test
  void a_fill_that_falls_leaves_the_capacity() {
    predict(Fixtures.set(4, Fixtures.GIB), hashedTable("a", 1_000));
    grow(fill("a", 1_000, 900));
    GrowthStep.Growth growth = grow(fill("a", 1_000, 10));
    assertThat(growth.change()).isEmpty();
    assertThat(growth.forecasts().tables().get(0).inWeek().low()).isNotNegative();
  }

  @Test
  void growth_by_a_million_times_is_announced_and_takes_no_more_than_memory() {
    predict(Fixtures.set(4, Fixtures.GIB), hashedTable("a", 1_000), upsert("b", 1_000_000, 64, 5));
    grow(fill("a", 1_000, 100));
    GrowthStep.Growth growth = grow(fill("a", 1_000, 100_000_000));
    assertThat(growth.change()).isEmpty();
    MemoryEnd end = growth.forecasts().memoryEnd().orElseThrow();
    assertThat(end.days()).isEqualTo(new Range(0, 0, 0));
    double bytes =
        (double) spec("a").bytes() / spec("a").rows() * 100_000_000 / HashedTable.LOAD_FACTOR;
    double memory = 0.95 * 4 * Fixtures.GIB - spec0Bytes();
    assertThat((double) end.bytesShort()).isCloseTo(bytes - memory, within(1e6));
  }

  /** It was asked for more than a table may have, and each later report was rejected. */
  @Test
  void a_table_near_the_most_slots_is_forecast_for_ever() {
    predict(
        Fixtures.set(1_024, 80 * Fixtures.GIB),
        new Change.TableUpserted(hashed("big", 62_000_000_000L, 4, 5)));
    for (int report = 0; report < 4; report++) {
      now = now.plus(Duration.ofDays(1));
      long ids = 50_000_000_000L + report * 1_000_000_000L;
      GrowthStep.Growth growth =
          step.report(
              store, report("run", fill("big", spec("big").rows(), ids)), now.toEpochMilli());
      assertThat(growth.forecasts().tables().get(0).ids()).isEqualTo(ids);
      growth.change().ifPresent(this::predict);
    }
    assertThat(spec("big").rows()).isEqualTo(TableSpec.MAX_ROWS);
  }

  /** Whatever is reported of tables of any size: it is processed, or nothing is written. */
  @Property(tries = 200)
  void a_report_is_processed_or_writes_nothing(@ForAll Random random) {
    List<Change> changes = new ArrayList<>(List.of(Fixtures.set(1_024, 80 * Fixtures.GIB)));
    for (int t = 0; t < 3; t++) {
      changes.add(hashedTable("t" + t, (long) Math.pow(2, 36 * random.nextDouble())));
    }
    predict(event(changes.toArray(Change[]::new)));
    for (int report = 0; report < 6; report++) {
      now = now.plus(Duration.ofHours(random.nextInt(48)));
      TableFill fill =
          fill(
              "t" + random.nextInt(4),
              1 + random.nextInt(1_000),
              (long) Math.pow(2, 50 * random.nextDouble()));
      List<String> writes = new ArrayList<>();
      try {
        step.report(written(writes), report("run", fill), now.toEpochMilli())
            .change()
            .ifPresent(this::predict);
        assertThat(writes).contains("growths", "headers");
      } catch (RejectedException e) {
        assertThat(writes).as(e.getMessage()).isEmpty();
        assertThat(e.reason())
            .isIn(RejectionReason.UNKNOWN_TABLE, RejectionReason.STALE_MEASUREMENT);
      }
    }
  }

  /** Returns a state that tells which of its stores were written. */
  private GrowthTables written(List<String> writes) {
    return new GrowthTables(
        written("headers", headers, writes),
        written("tables", store.tables(), writes),
        written("growths", store.growths(), writes));
  }

  @SuppressWarnings("unchecked")
  private static <V> KeyValues<V> written(String name, KeyValues<V> store, List<String> writes) {
    return (KeyValues<V>)
        Proxy.newProxyInstance(
            KeyValues.class.getClassLoader(),
            new Class<?>[] {KeyValues.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("put") || method.getName().equals("delete")) {
                writes.add(name);
              }
              return method.invoke(store, arguments);
            });
  }

  private double spec0Bytes() {
    return (double) spec("b").bytes();
  }

  @Test
  void a_resize_that_is_lost_is_asked_for_again() {
    predict(Fixtures.set(4, Fixtures.GIB), hashedTable("a", 1_000));
    WorkloadChange first = grow(fill("a", 1_000, 1_500)).change().orElseThrow();
    WorkloadChange again = grow(fill("a", 1_000, 1_500)).change().orElseThrow();
    assertThat(again.changes()).isEqualTo(first.changes());
    assertThat(again.eventId()).isNotEqualTo(first.eventId());
  }

  /** Reports that waited for a planner, and are processed before its resizes are predicted. */
  @Test
  void a_resize_gives_no_fewer_slots_than_one_that_is_on_its_way() {
    predict(Fixtures.set(4, Fixtures.GIB), hashedTable("a", 1_000));
    WorkloadChange first = grow(fill("a", 1_000, 5_000)).change().orElseThrow();
    WorkloadChange second = grow(fill("a", 1_000, 1_500)).change().orElseThrow();
    assertThat(second.changes()).isEqualTo(first.changes());
    predict(first);
    predict(Fixtures.resize("a", 1_000, "by its owner"));
    Change.TableResized later =
        (Change.TableResized) grow(fill("a", 1_000, 1_600)).change().orElseThrow().changes().get(0);
    assertThat(later.rows()).as("the first was answered").isBetween(2_000L, 4_000L);
  }

  @Test
  void reports_that_cannot_be_used_change_nothing() {
    predict(Fixtures.set(4, Fixtures.GIB), hashedTable("a", 1_000), upsert("b", 1_000, 64, 5));
    grow(fill("a", 1_000, 100));
    FillReport first = report("run", fill("a", 1_000, 100));
    assertRejected(first, RejectionReason.STALE_MEASUREMENT, "must be after 2026-11-21T11:15:30Z");
    now = now.plus(HOUR);
    FillReport next = report("run", fill("a", 1_000, 110));
    step.report(store, next, now.toEpochMilli());
    assertRejected(next, RejectionReason.DUPLICATE_MEASUREMENT, "must have a new id");
    now = now.plus(HOUR);
    assertRejected(
        report("run", fill("a", 1_000, 120), fill("b", 1_000, 5)),
        RejectionReason.UNKNOWN_TABLE,
        "must be hashed tables of workload \"feed-ranking\", got \"b\"");
    assertRejected(report("run", fill("c", 1_000, 5)), RejectionReason.UNKNOWN_TABLE, "got \"c\"");
    now = now.plus(Duration.ofDays(1));
    FillReport ahead = report("run", fill("a", 1_000, 120));
    now = now.minus(Duration.ofDays(1));
    assertRejected(
        ahead, RejectionReason.INVALID_MEASUREMENT, "Maybe the clock of \"trainer\" is wrong");
    assertThat(step.report(store, report("run", fill("a", 1_000, 120)), now.toEpochMilli()))
        .as("nothing of them is left")
        .isNotNull();
  }

  @Test
  void a_new_run_takes_over_and_the_old_one_is_rejected() {
    predict(Fixtures.set(4, Fixtures.GIB), hashedTable("a", 1_000));
    grow(fill("a", 1_000, 100));
    now = now.plus(HOUR);
    step.report(store, report("second", fill("a", 1_000, 50)), now.toEpochMilli());
    now = now.plus(HOUR);
    assertRejected(
        report("run", fill("a", 1_000, 110)),
        RejectionReason.OUTDATED_MEASUREMENT,
        "must be \"second\", which began to report later, or a new one, got \"run\"");
  }

  @Test
  void deletion_and_drop_remove_what_was_reported() {
    predict(Fixtures.set(4, Fixtures.GIB), hashedTable("a", 1_000), hashedTable("b", 1_000));
    grow(fill("a", 1_000, 100), fill("b", 1_000, 100));
    assertThat(predict(Fixtures.drop("a"))).as("forecasts of b remain").isFalse();
    assertThat(store.growths().range(Fixtures.WORKLOAD)).containsOnlyKeys("b");
    assertThat(predict(new Change.TableUpserted(Fixtures.table("b", 1_000, 64, 5)))).isTrue();
    assertThat(store.growths().range(Fixtures.WORKLOAD)).as("no longer hashed").isEmpty();
    assertThat(store.header(Fixtures.WORKLOAD).fixedBytes()).isEqualTo((double) spec("b").bytes());
    predict(hashedTable("b", 1_000));
    grow(fill("b", 1_000, 100));
    assertThat(predict(Fixtures.delete())).isTrue();
    assertThat(store.header(Fixtures.WORKLOAD)).isEqualTo(GrowthState.NONE);
    assertRejected(
        report("run", fill("b", 1_000, 100)), RejectionReason.UNKNOWN_WORKLOAD, "deleted workload");
  }

  /** Column parts have the same ids; parts of rows have different ones. */
  @Test
  void shards_with_the_same_rows_count_once() {
    TableFill fill =
        new TableFill(
            "a",
            List.of(
                new ShardFill(0, 0, 500, 100, 10, 1, 2),
                new ShardFill(1, 0, 500, 101, 11, 0, 2),
                new ShardFill(2, 500, 400, 50, 5, 5, 0)));
    assertThat(fill.sum(ShardFill::slots)).isEqualTo(900);
    assertThat(fill.sum(ShardFill::ids)).isEqualTo(151);
    assertThat(fill.sum(ShardFill::insertions)).isEqualTo(16);
    assertThat(fill.sum(ShardFill::evictions)).isEqualTo(6);
    assertThat(fill.sum(ShardFill::collisions)).isEqualTo(2);
  }

  @Test
  void values_outside_their_range_are_refused() {
    assertThatThrownBy(() -> new ShardFill(0, 0, 0, 1, 0, 0, 0))
        .hasMessage("slots of a table's fill must be between 1 and 2^50, got 0");
    assertThatThrownBy(() -> new ShardFill(0, 0, 1, -1, 0, 0, 0)).hasMessageContaining("got -1");
    assertThatThrownBy(() -> new TableFill("a", List.of())).hasMessageContaining("got 0");
    assertThatThrownBy(() -> report("run"))
        .hasMessage("number of tables of a report of fill must be between 1 and 20000, got 0");
    assertThatThrownBy(() -> report("run", fill("a", 1, 1), fill("a", 1, 1)))
        .hasMessage("tables of a report of fill must be different, got \"a\" twice");
  }

  /** A table of 10,000 slots gets 720,000 ids within an hour: each resize is worth its reshard. */
  @Test
  void a_long_burst_that_is_reported_often_leads_to_few_resizes() {
    predict(Fixtures.set(4, Fixtures.GIB), hashedTable("a", 10_000));
    int resizes = 0;
    for (int second = 0; second < 3_600; second += 2) {
      now = now.plus(Duration.ofSeconds(2));
      long ids = 5_000 + 200L * second;
      GrowthStep.Growth growth =
          step.report(store, report("run", fill("a", spec("a").rows(), ids)), now.toEpochMilli());
      resizes += growth.change().isPresent() ? 1 : 0;
      growth.change().ifPresent(this::predict);
      if (second > 6) {
        assertThat(spec("a").rows()).as("second %d", second).isGreaterThan(ids);
      }
    }
    assertThat(resizes).isBetween(3, 20);
    assertThat(spec("a").rows()).isLessThan(5 * 725_000);
  }

  @Test
  void memory_of_a_step_is_no_room_for_slots() {
    ClusterSpec cluster =
        new ClusterSpec(4, Fixtures.GIB, 65_536, 4, TestModels.bundle().hardware());
    predict(new Change.ClusterSet(cluster), hashedTable("a", 10_000), upsert("b", 1_000, 64, 5));
    double without = memory(grow(fill("a", 10_000, 100)));
    ClusterSpec counted =
        ClusterSpecBuilder.builder(cluster)
            .countsStepMemory(true)
            .pipeline(Optional.of(TrainingPipeline.SPARSE_DIST))
            .build();
    predict(new Change.ClusterSet(counted));
    double step = StepMemory.ofDevice(store.tables().range(Fixtures.WORKLOAD).values(), counted);
    assertThat(step).isPositive();
    assertThat(memory(grow(fill("a", 10_000, 100))))
        .isCloseTo(without - GrowthStep.FILLED * 4 * step, within(1.0));
  }

  private static double memory(GrowthStep.Growth growth) {
    return growth.forecasts().inputs().orElseThrow().memoryBytes();
  }

  /** Without more memory, a table is full in three weeks: said once, and again when that moves. */
  @Test
  void the_end_of_memory_is_announced_once_until_it_moves() {
    predict(Fixtures.set(1, Fixtures.GIB), hashedTable("a", 1_000_000));
    List<MemoryWarning> warnings = new ArrayList<>();
    List<Instant> at = new ArrayList<>();
    for (int hour = 1; hour <= 24 * 24; hour++) {
      long ids = 500_000 + 2_500L * Math.min(hour, 480) + 10_000L * Math.max(0, hour - 480);
      GrowthStep.Growth growth = grow(fill("a", spec("a").rows(), ids));
      growth.change().ifPresent(this::predict);
      growth
          .warning()
          .ifPresent(
              warning -> {
                warnings.add(warning);
                at.add(now);
              });
      assertThat(growth.warning().isPresent() && growth.forecasts().memoryEnd().isEmpty())
          .isFalse();
    }
    assertThat(warnings).hasSizeBetween(2, 6);
    MemoryWarning first = warnings.get(0);
    assertThat(first.shortfall().bytesShort()).isPositive();
    assertThat(first.shortfall().tablesToBlame())
        .singleElement()
        .satisfies(table -> assertThat(table.table()).isEqualTo("a"))
        .satisfies(table -> assertThat(table.bytes()).isGreaterThan(Fixtures.GIB));
    assertThat(first.shortfall().message())
        .startsWith("memory holds its tables for ")
        .contains(" are missing. Add devices or host memory");
    assertThat(first.time().earliest()).isBeforeOrEqualTo(first.time().median());
    assertThat(first.time().median()).isAfter(at.get(0).plus(Duration.ofDays(10)));
    MemoryWarning last = warnings.get(warnings.size() - 1);
    assertThat(last.time().median()).isBefore(warnings.get(0).time().median());
    predict(new Change.WorkloadDeleted("test"));
    assertThat(store.header(Fixtures.WORKLOAD).announced()).isEmpty();
  }
}
