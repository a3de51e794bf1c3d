package io.shardtide.growth;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class CapacitiesTest {
  private static final double PLENTY = 1e15;
  private static final Capacities CAPACITIES = new Capacities(CapacityPolicy.DEFAULTS);

  /** Grows evenly, as known for three weeks, so that nothing is uncertain. */
  private static Forecast growing(double ids, double perDay) {
    FillHistory history = FillHistory.of(new Fill(0, ids - 60 * perDay));
    for (int day = 1; day <= 60; day++) {
      history = history.with(new Fill(day * FillHistory.DAY_MS, ids + (day - 60) * perDay));
    }
    return Forecaster.forecast(history, 0);
  }

  /** A table with room for so many ids. */
  private static HashedTable keeping(String name, double room, double ids, double perDay) {
    return new HashedTable(
        name, slots(room), 100, growing(ids, perDay), false, new HitCurve(AccessCdf.UNKNOWN, 0), 1);
  }

  private static long slots(double room) {
    return (long) Math.ceil(room / HashedTable.LOAD_FACTOR);
  }

  private static HashedTable evicting(
      String name, long capacity, double ids, double lookups, Double... shares) {
    return new HashedTable(
        name,
        capacity,
        100,
        growing(ids, 0),
        true,
        new HitCurve(new AccessCdf(List.of(shares)), (long) ids),
        lookups);
  }

  private record Decision(List<Resize> resizes, Optional<MemoryEnd> memoryEnd) {}

  private static Decision decide(List<HashedTable> tables, double bytes) {
    return new Decision(CAPACITIES.resizes(tables, bytes), CAPACITIES.memoryEnd(tables, bytes));
  }

  @Test
  void nothing_changes_before_a_table_may_be_full_in_the_lead_time() {
    Decision decision = decide(List.of(keeping("a", 10_300, 10_000, 100)), PLENTY);
    assertThat(decision.resizes()).isEmpty();
    assertThat(decision.memoryEnd()).isEmpty();
  }

  @Test
  void all_tables_get_room_for_the_same_time_when_one_is_due() {
    Decision decision =
        decide(
            List.of(
                keeping("later", 12_000, 10_000, 100),
                keeping("due", 10_150, 10_000, 100),
                keeping("never", 50_000, 10_000, 1)),
            PLENTY);
    assertThat(decision.resizes())
        .containsExactly(
            new Resize("due", 16_000, "it is full in 36 hours (36 to 36)"),
            new Resize("later", 16_000, "it is full in 20 days (20 to 20)"));
  }

  /** 100 more ids a minute: the longer it lasts, the more are expected. */
  @Test
  void not_each_report_of_a_burst_leads_to_a_resize() {
    FillHistory history = FillHistory.of(new Fill(0, 10_000));
    long capacity = slots(10_500);
    List<Integer> resizedAt = new ArrayList<>();
    for (int minute = 1; minute <= 120; minute++) {
      history = history.with(new Fill(60_000L * minute, 10_000 + 100 * minute));
      HashedTable table =
          new HashedTable(
              "a",
              capacity,
              100,
              Forecaster.forecast(history, 0),
              false,
              new HitCurve(AccessCdf.UNKNOWN, 0),
              1);
      for (Resize resize : decide(List.of(table), PLENTY).resizes()) {
        resizedAt.add(minute);
        capacity = resize.capacity();
      }
      assertThat(capacity).as("minute %d", minute).isGreaterThan(slots(10_000 + 100 * minute));
    }
    assertThat(resizedAt).hasSizeBetween(4, 10);
  }

  @Test
  void memory_is_shared_so_that_tables_are_full_at_the_same_time() {
    // 100 slots a day each: 1,000 more slots are ten days for both.
    double memory = 100 * slots(22_000.0);
    Decision decision =
        decide(
            List.of(keeping("a", 10_150, 10_000, 100), keeping("b", 10_500, 10_000, 100)), memory);
    assertThat(decision.resizes()).extracting(Resize::table).containsExactly("a", "b");
    assertThat(decision.resizes())
        .allSatisfy(
            r ->
                assertThat(HashedTable.LOAD_FACTOR * r.capacity())
                    .as("room for 0.8 of the ten days")
                    .isCloseTo(10_800, within(108.0)));
    MemoryEnd end = decision.memoryEnd().orElseThrow();
    assertThat(end.days().median()).isCloseTo(10, within(1.0));
    // Both need 100 slots a day for 50 more days.
    assertThat((double) end.bytesShort())
        .isCloseTo(100 * 2 * 100 * 50 / HashedTable.LOAD_FACTOR, within(2e4));
  }

  @Test
  void the_last_memory_goes_to_the_tables_that_are_full_first_and_the_end_is_told() {
    Decision decision =
        decide(
            List.of(
                keeping("first", 10_150, 10_000, 100),
                keeping("later", 10_900, 10_000, 100),
                keeping("second", 10_200, 10_000, 100)),
            100.0 * (slots(10_300.0) + slots(10_900.0) + slots(10_300.0)));
    assertThat(decision.resizes()).extracting(Resize::table).containsExactly("first", "second");
    assertThat(decision.resizes())
        .allSatisfy(
            r ->
                assertThat(HashedTable.LOAD_FACTOR * r.capacity()).isCloseTo(10_300, within(10.0)));
    assertThat(decision.resizes().stream().mapToLong(Resize::capacity).sum())
        .isEqualTo(2 * slots(10_300.0));
    assertThat(decision.memoryEnd()).isPresent();
    assertThat(
            decide(List.of(keeping("full", 10_300, 10_300, 100)), 100.0 * (slots(10_300.0) + 2))
                .resizes())
        .as("two slots are not worth a plan")
        .isEmpty();
  }

  /** No capacity helps, and a plan of all memory may not even fit. */
  @Test
  void nothing_is_given_where_memory_does_not_hold_the_ids_of_today() {
    Decision decision =
        decide(
            List.of(keeping("huge", 10_000, 1_000_000, 100), keeping("small", 9_900, 10_000, 100)),
            100.0 * (slots(10_000.0) + slots(10_000.0) + 5_000));
    assertThat(decision.resizes()).isEmpty();
    assertThat(decision.memoryEnd().orElseThrow().days().median()).isZero();
  }

  @Test
  void no_table_gets_more_slots_than_a_table_may_have() {
    HashedTable table = keeping("a", 50.3e9, 50e9, 2e8);
    assertThat(decide(List.of(table), 1e18).resizes())
        .singleElement()
        .satisfies(r -> assertThat(r.capacity()).isEqualTo(TableSpec.MAX_ROWS));
    HashedTable largest = keeping("a", HashedTable.LOAD_FACTOR * TableSpec.MAX_ROWS, 5.49e10, 2e8);
    assertThat(largest.capacity()).isEqualTo(TableSpec.MAX_ROWS);
    assertThat(decide(List.of(largest, keeping("b", 12_000, 10_000, 100)), 1e18).resizes())
        .as("it can get no more, and others are not due")
        .isEmpty();
  }

  /** More than an event holds: the others follow from later reports. */
  @Test
  void the_resizes_of_a_report_fit_one_event() {
    List<HashedTable> tables = new ArrayList<>();
    Forecast forecast = growing(10_000, 100);
    for (int t = 0; t <= WorkloadChange.MAX_CHANGES; t++) {
      tables.add(
          new HashedTable(
              "t" + t,
              slots(t == 0 ? 12_000 : 10_150),
              100,
              forecast,
              false,
              new HitCurve(AccessCdf.UNKNOWN, 0),
              1));
    }
    assertThat(decide(tables, PLENTY).resizes())
        .hasSize(WorkloadChange.MAX_CHANGES)
        .as("not due")
        .noneMatch(resize -> resize.table().equals("t0"));
  }

  @Test
  void tables_that_evict_get_slots_where_they_add_most_hits() {
    HashedTable flat = evicting("flat", 64, 4_096, 1, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0);
    HashedTable steep = evicting("steep", 64, 4_096, 1, 0.1, 0.2, 0.3, 0.4, 0.9, 0.95, 1.0);
    Decision some = decide(List.of(flat, steep), 100 * (64 + 256));
    assertThat(some.resizes())
        .containsExactly(
            new Resize(
                "steep", 256, "40.0% of its lookups find their id, 90.0% with so many slots"));
    Decision all = decide(List.of(flat, steep), PLENTY);
    assertThat(all.resizes()).extracting(Resize::capacity).containsExactly(4_096L, 4_096L);
    assertThat(all.memoryEnd()).as("a table that evicts always fits").isEmpty();
  }

  @Test
  void settings_outside_their_range_are_refused() {
    assertThatThrownBy(() -> new CapacityPolicy(0, 28, 60, 0.1))
        .hasMessage("leadDays must be above 0 to 180, got 0");
    assertThatThrownBy(() -> new CapacityPolicy(7, 3, 60, 0.1))
        .hasMessage(
            "coverDays must be at least twice, and warningDays at least, leadDays, 7.0, got 3.0 and"
                + " 60.0");
    assertThatThrownBy(() -> new CapacityPolicy(7, 28, 6.5, 0.1))
        .hasMessage(
            "coverDays must be at least twice, and warningDays at least, leadDays, 7.0, got 28.0"
                + " and 6.5");
    assertThatThrownBy(() -> new CapacityPolicy(7, Double.NaN, 60, 0.1))
        .hasMessage("coverDays must be above 0 to 180, got NaN");
    assertThatThrownBy(() -> new CapacityPolicy(7, 28, 181, 0.1))
        .hasMessage("warningDays must be above 0 to 180, got 181");
    assertThatThrownBy(() -> new CapacityPolicy(7, 28, 60, 0))
        .hasMessage("leastHitGain must be above 0 to 1, got 0");
  }

  /**
   * A decision fits memory, lowers no capacity, and leaves no table that another one would raise.
   */
  @Property(tries = 200)
  void decisions_keep_to_memory(@ForAll long seed) {
    Random random = new Random(seed);
    List<HashedTable> tables = new ArrayList<>();
    double bytes = 0;
    for (int t = 1 + random.nextInt(6); t > 0; t--) {
      double ids = StrictMath.pow(10, 2 + 6 * random.nextDouble());
      HashedTable table =
          random.nextInt(3) == 0
              ? evicting(
                  "t" + t,
                  1 + (long) (ids * random.nextDouble()),
                  4_000,
                  random.nextInt(9),
                  0.1,
                  0.2,
                  0.3,
                  0.4,
                  0.6,
                  0.8,
                  1.0)
              : keeping(
                  "t" + t,
                  ids * (1 + 0.2 * random.nextDouble()),
                  ids,
                  ids / 100 * random.nextDouble());
      tables.add(table);
      bytes += table.capacity() * table.bytesPerSlot();
    }
    double memory = bytes * (0.9 + random.nextDouble());
    Decision decision = decide(tables, memory);
    for (Resize resize : decision.resizes()) {
      HashedTable table =
          tables.stream().filter(t -> t.name().equals(resize.table())).findFirst().orElseThrow();
      assertThat(resize.capacity()).isGreaterThan(table.capacity());
      bytes += (resize.capacity() - table.capacity()) * table.bytesPerSlot();
      assertThat(resize.reason()).isNotBlank();
    }
    if (!decision.resizes().isEmpty()) {
      assertThat(bytes).isLessThanOrEqualTo(memory);
    }
    // What was raised is not due again.
    List<HashedTable> after =
        tables.stream()
            .map(
                t ->
                    decision.resizes().stream()
                        .filter(r -> r.table().equals(t.name()))
                        .map(
                            r ->
                                new HashedTable(
                                    t.name(),
                                    r.capacity(),
                                    t.bytesPerSlot(),
                                    t.forecast(),
                                    t.evicts(),
                                    t.hits(),
                                    t.lookups()))
                        .findFirst()
                        .orElse(t))
            .toList();
    assertThat(decide(after, memory).resizes()).isEmpty();
  }
}
