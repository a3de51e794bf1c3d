package io.shardtide.workload;

import static io.shardtide.testing.Fixtures.delete;
import static io.shardtide.testing.Fixtures.drop;
import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.hashed;
import static io.shardtide.testing.Fixtures.resize;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.table;
import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.testing.Fixtures;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class WorkloadTest {
  private final Workload empty = Workload.empty(Fixtures.WORKLOAD);

  @Test
  void an_event_raises_the_generation_by_one_and_applies_its_changes_in_order() {
    Workload next =
        empty.apply(
            event(
                set(8, 100),
                upsert("a", 10, 4, 1),
                upsert("b", 10, 4, 1),
                drop("a"),
                upsert("b", 20, 4, 1)));
    assertThat(next.generation()).isEqualTo(1);
    assertThat(next.cluster()).contains(Fixtures.cluster(8, 100));
    assertThat(next.tables()).containsOnly(java.util.Map.entry("b", table("b", 20, 4, 1)));
    assertThat(empty.tables()).isEmpty();
  }

  @Test
  void an_event_that_changes_something_twice_is_refused_with_both_changes() {
    assertRepeated(
        "an event must have at most one change of table \"t\", got changes[1] and changes[2]: they"
            + " differ in rows 1000000 and 50, columns 64 and 8, poolingFactor 1.0 and 2.0. Maybe"
            + " rename one, leave one out, or publish two events",
        set(8, 100),
        upsert("t", 1_000_000, 64, 1),
        upsert("t", 50, 8, 2));
    assertRepeated(": they are equal. Maybe", upsert("t", 50, 8, 2), upsert("t", 50, 8, 2));
    assertRepeated(": one sets it, the other drops it. Maybe", upsert("t", 50, 8, 2), drop("t"));
    assertRepeated(": one sets it, the other drops it. Maybe", drop("t"), upsert("t", 50, 8, 2));
    assertRepeated(": both drop it. Maybe", drop("t"), drop("u"), drop("t"));
    assertRepeated(
        ": one sets it, the other resizes it. Maybe", upsert("t", 50, 8, 2), resize("t", 9, ""));
    assertRepeated(": one resizes it, the other drops it. Maybe", resize("t", 9, ""), drop("t"));
    assertRepeated(
        ": they differ in rows 9 and 8. Maybe", resize("t", 9, "x"), resize("t", 8, "x"));
    assertRepeated(
        "the cluster, got changes[0] and changes[2]: they differ in devices 8 and 4",
        set(8, 100),
        upsert("t", 50, 8, 2),
        set(4, 100));
    event(set(8, 100), upsert("t", 50, 8, 2), upsert("T", 50, 8, 2), drop("u")).checkDistinct();
  }

  private static void assertRepeated(String message, Change... changes) {
    WorkloadChange event = event(changes);
    assertThatThrownBy(event::checkDistinct)
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.TOO_MANY_CHANGES))
        .hasMessageContaining(message);
  }

  @Test
  void an_event_with_one_wrong_change_changes_nothing() {
    Workload one = empty.apply(event(upsert("a", 10, 4, 1)));
    assertThatThrownBy(() -> one.apply(event(upsert("b", 1, 4, 1), drop("nope"))))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.UNKNOWN_TABLE))
        .hasMessage("dropped table must be one of workload \"feed-ranking\", got \"nope\"");
    assertThat(one.tables()).containsOnlyKeys("a");
  }

  @Test
  void a_deleted_workload_keeps_its_generation_only() {
    Workload one = empty.apply(event(set(8, 100), upsert("a", 10, 4, 1)));
    assertThat(one.exists()).isTrue();
    Workload deleted = one.apply(event(delete()));
    assertThat(deleted).isEqualTo(new Workload(one.id(), 2, Optional.empty(), new TreeMap<>()));
    assertThat(deleted.exists()).isFalse();
    assertThat(deleted.apply(event(upsert("b", 10, 4, 1))).generation()).isEqualTo(3);
    assertThat(empty.apply(event(upsert("a", 10, 4, 1))).apply(event(delete())).exists())
        .as("without a cluster")
        .isFalse();
    for (Workload missing : List.of(empty, deleted)) {
      assertThatThrownBy(() -> missing.apply(event(delete())))
          .isInstanceOfSatisfying(
              RejectedException.class,
              e -> assertThat(e.reason()).isEqualTo(RejectionReason.UNKNOWN_WORKLOAD))
          .hasMessage(
              "a deleted workload must have a table or a cluster, workload \"feed-ranking\" has neither");
    }
  }

  private static Change upserted(TableSpec table) {
    return new Change.TableUpserted(table);
  }

  private static TableSpec with(TableSpec table, long ids, AccessCdf cdf) {
    HashedStorage storage =
        HashedStorageBuilder.builder(table.storage().get()).ids(ids).eviction(Eviction.LRU).build();
    return TableSpecBuilder.builder(table).accessCdf(cdf).storage(Optional.of(storage)).build();
  }

  @Test
  void a_resize_changes_the_capacity_and_nothing_else() {
    TableSpec table = with(hashed("t", 16, 64, 2), 12, Fixtures.cdf(16));
    Workload one = empty.apply(event(upserted(table), upsert("u", 10, 4, 1)));
    Workload two = one.apply(event(resize("t", 17, "full in 3 days")));
    assertThat(two.generation()).isEqualTo(2);
    TableSpec resized = two.tables().get("t");
    HashedStorage storage =
        HashedStorageBuilder.builder(table.storage().get())
            .resizeReason(Optional.of("full in 3 days"))
            .build();
    assertThat(resized)
        .isEqualTo(
            TableSpecBuilder.builder(table)
                .rows(17)
                .accessCdf(new AccessCdf(List.of(1 / 3.0, 2 / 3.0, 1.0, 1.0)))
                .storage(Optional.of(storage))
                .build());
    assertThat(two.tables().get("u")).isEqualTo(table("u", 10, 4, 1));
    TableSpec smaller = two.apply(event(resize("t", 5, ""))).tables().get("t");
    assertThat(smaller.rows()).isEqualTo(5);
    assertThat(smaller.storage().get().resizeReason()).as("of the last resize").isEmpty();
  }

  @Test
  void only_hashed_tables_of_the_workload_are_resized() {
    Workload one = empty.apply(event(upsert("u", 10, 4, 1)));
    assertThatThrownBy(() -> one.apply(event(resize("t", 5, ""))))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.UNKNOWN_TABLE))
        .hasMessage("resized table must be one of workload \"feed-ranking\", got \"t\"");
    assertThatThrownBy(() -> one.apply(event(resize("u", 5, ""))))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_STORAGE))
        .hasMessage(
            "resized table must be hashed, got \"u\" of workload \"feed-ranking\", which has a fixed number of rows. Maybe publish the table again with its storage, or with other rows");
  }

  @Test
  void an_upsert_of_a_hashed_table_keeps_the_capacity_that_a_resize_gave_it() {
    TableSpec stated = hashed("t", 16, 64, 2);
    Workload resized =
        empty.apply(event(upserted(stated))).apply(event(resize("t", 64, "full in 3 days")));
    TableSpec changed = with(stated, 20, Fixtures.cdf(16));
    TableSpec kept = resized.apply(event(upserted(changed))).tables().get("t");
    assertThat(kept).isEqualTo(changed.resized(64, Optional.of("full in 3 days")));
    assertThat(kept.storage().get().ids()).isEqualTo(20);
    assertThat(kept.accessCdf().shares()).hasSize(AccessCdf.size(64));
    assertThat(resized.apply(event(upserted(stated))).tables()).isEqualTo(resized.tables());

    TableSpec larger = hashed("t", 100, 64, 2);
    assertThat(resized.apply(event(upserted(larger))).tables().get("t"))
        .as("the resize is not why it has 100 slots")
        .isEqualTo(larger);
    TableSpec fixed = table("t", 16, 64, 2);
    assertThat(resized.apply(event(upserted(fixed))).tables().get("t")).isEqualTo(fixed);
    assertThat(resized.apply(event(drop("t"))).apply(event(upserted(stated))).tables().get("t"))
        .isEqualTo(stated);
    Workload wasFixed = empty.apply(event(upsert("t", 64, 64, 2)));
    assertThat(wasFixed.apply(event(upserted(stated))).tables().get("t")).isEqualTo(stated);
  }

  /** Also of a table that is not as its publisher states it. */
  @Test
  void constraints_of_a_table_that_keeps_its_capacity_are_checked() {
    TableSpec stated = hashed("t", 16, 64, 2);
    Workload resized = empty.apply(event(upserted(stated))).apply(event(resize("t", 64, "")));
    TableSpec elsewhere =
        stated.withConstraints(new TableConstraints(Set.of(), 0, Optional.of("nowhere")));
    assertThatThrownBy(() -> resized.apply(event(upserted(elsewhere))))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.UNKNOWN_TABLE));
  }

  private static Change constrained(String name, String leader, ShardKind... kinds) {
    return new Change.TableUpserted(
        table(name, 10, 64, 1)
            .withConstraints(new TableConstraints(Set.of(kinds), 0, Optional.of(leader))));
  }

  @Test
  void tables_on_the_same_devices_must_exist_after_the_event() {
    assertThat(empty.apply(event(constrained("b", "a"), upsert("a", 10, 4, 1))).tables())
        .containsOnlyKeys("a", "b");
    Workload one = empty.apply(event(upsert("a", 10, 4, 1)));
    for (WorkloadChange wrong :
        List.of(event(constrained("b", "c")), event(constrained("b", "a"), drop("a")))) {
      assertThatThrownBy(() -> one.apply(wrong))
          .isInstanceOfSatisfying(
              RejectedException.class,
              e -> assertThat(e.reason()).isEqualTo(RejectionReason.UNKNOWN_TABLE))
          .hasMessageStartingWith(
              "table \"b\" must be on the devices of a table of workload \"feed-ranking\", got ");
    }
    Workload both = one.apply(event(constrained("b", "a")));
    assertThat(both.apply(event(drop("a"))).tables())
        .as("a table may be dropped whose devices others share")
        .containsOnlyKeys("b");
    assertThat(one.apply(event(constrained("b", "c"), drop("b"))).tables()).containsOnlyKeys("a");
  }

  @Test
  void tables_on_the_same_devices_need_a_kind_in_common() {
    Workload one =
        empty.apply(event(upsert("x", 10, 4, 1), constrained("a", "x", ShardKind.ROW_WISE)));
    assertThatThrownBy(
            () ->
                one.apply(
                    event(constrained("b", "a", ShardKind.TABLE_WISE, ShardKind.DATA_PARALLEL))))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_CONSTRAINTS))
        .hasMessage(
            "tables \"b\" and \"a\" must be on the same devices and need an allowed kind in common,"
                + " got table_wise, data_parallel and row_wise");
  }

  @Test
  void a_deletion_is_the_only_change_of_its_event() {
    assertThat(event(delete()).isDeletion()).isTrue();
    assertThat(event(drop("a")).isDeletion()).isFalse();
    assertThatThrownBy(() -> event(upsert("a", 10, 4, 1), delete()))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.TOO_MANY_CHANGES))
        .hasMessage(
            "the deletion of a workload must be the only change of its event, got 2 changes");
  }

  @Test
  void a_stale_event_is_rejected() {
    Workload two = empty.apply(event(upsert("a", 10, 4, 1))).apply(event(upsert("b", 1, 4, 1)));
    assertThat(two.apply(event(OptionalLong.of(2), drop("a"))).generation()).isEqualTo(3);
    assertThatThrownBy(() -> two.apply(event(OptionalLong.of(1), drop("a"))))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.STALE_GENERATION))
        .hasMessageContaining(
            "expected generation of workload \"feed-ranking\" must be its current one, 2, or"
                + " absent, got 1");
  }

  @Test
  void an_event_holds_1_to_10000_changes() {
    assertThatThrownBy(Fixtures::event)
        .hasMessage("changes of an event must be between 1 and 10000, got 0");
    Change[] most = Fixtures.times(10_000, upsert("a", 1, 4, 1)).toArray(new Change[0]);
    assertThat(event(most).changes()).hasSize(10_000);
    Change[] more = Fixtures.times(10_001, upsert("a", 1, 4, 1)).toArray(new Change[0]);
    assertThatThrownBy(() -> event(more))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.TOO_MANY_CHANGES))
        .hasMessageContaining("must be between 1 and 10000, got 10001");
  }

  @Test
  void a_workload_has_a_name() {
    assertThatThrownBy(
            () ->
                new WorkloadChange(
                    java.util.UUID.randomUUID(),
                    " ",
                    Fixtures.TIME,
                    "test",
                    OptionalLong.empty(),
                    List.of(drop("a"))))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_WORKLOAD_ID));
  }
}
