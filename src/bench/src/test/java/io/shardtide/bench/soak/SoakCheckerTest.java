package io.shardtide.bench.soak;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.CURRENT_PREDICTIONS;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostPredictions;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.RandomEvents;
import io.shardtide.testing.Samples;
import io.shardtide.wire.Topic;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** True logs of the real steps have no violation; whatever is planted in one is found. */
class SoakCheckerTest {
  private static final long SEED = 7;

  private static MemorySoakLog calm(long seed) {
    return new MemorySoakLog(new RandomEvents(seed, RandomEvents.BURSTS, "feed", "ads").calmly(12));
  }

  private static SoakReport check(MemorySoakLog log) throws IOException {
    return new SoakChecker(PlainTowers::new).check(log, log.ledger);
  }

  private static List<Guarantee> broken(MemorySoakLog log) throws IOException {
    return check(log).violations().stream().map(SoakViolation::guarantee).toList();
  }

  /** With bursts, statuses, background searches, deletions and models that are replaced. */
  @Property(tries = 10)
  void a_true_log_has_no_violation(@ForAll long seed) throws IOException {
    MemorySoakLog log =
        new MemorySoakLog(new RandomEvents(seed, RandomEvents.BURSTS, "feed", "ads").go(16));
    assertThat(check(log).violations()).isEmpty();
  }

  /** Of records of one workload: those of others may come in any order. */
  @Property(tries = 8)
  void any_dropped_doubled_or_swapped_record_is_found(@ForAll long seed) throws IOException {
    MemorySoakLog log = calm(seed);
    Random random = new Random(seed);
    plant(log, log.topics.of(COST_PREDICTIONS), CostPredictions::workloadId, random);
    assertThat(check(log).violations()).isNotEmpty();
    log = calm(seed);
    plant(log, log.topics.of(SHARDING_PLANS), ShardingPlan::workloadId, random);
    assertThat(check(log).violations()).isNotEmpty();
    log = calm(seed);
    if (!log.all(log.topics.of(REJECTED_EVENTS)).isEmpty()) {
      plant(log, log.topics.of(REJECTED_EVENTS), rejected -> "any", random);
      assertThat(check(log).violations()).isNotEmpty();
    }
  }

  private static <V> void plant(
      MemorySoakLog log, Topic<V> topic, Function<V, String> workload, Random random) {
    int index = random.nextInt(log.all(topic).size());
    int next =
        IntStream.range(index + 1, log.all(topic).size())
            .filter(
                i ->
                    workload
                        .apply(log.value(topic, i))
                        .equals(workload.apply(log.value(topic, index))))
            .findFirst()
            .orElse(index);
    int kind = random.nextInt(next > index ? 3 : 2);
    switch (kind) {
      case 0 -> log.all(topic).remove(index);
      case 1 -> log.repeat(topic, index);
      default -> log.swap(topic, index, next);
    }
  }

  @Test
  void a_lost_event_is_found() throws IOException {
    MemorySoakLog log = calm(SEED);
    log.all(log.topics.of(WORKLOAD_CHANGES)).remove(3);
    assertThat(broken(log)).contains(Guarantee.ACKNOWLEDGED_ON_LOG);
  }

  @Test
  void an_event_that_is_applied_twice_is_found() throws IOException {
    MemorySoakLog log = calm(SEED);
    log.repeat(log.topics.of(WORKLOAD_CHANGES), 3);
    assertThat(broken(log)).contains(Guarantee.APPLIED_ONCE, Guarantee.SENT_ONCE);
  }

  /** Before a deletion, which answers what has no plan, only the publisher's answers show it. */
  @Test
  void a_lost_plan_is_found() throws IOException {
    MemorySoakLog log = calm(SEED);
    List<Optional<String>> continued =
        log.all(log.topics.of(SHARDING_PLANS)).stream()
            .map(
                plan ->
                    ((CommittedRecord.Stored<ShardingPlan>) plan).value().origin().previousPlanId())
            .toList();
    int index = 0;
    while (!continued.contains(
        Optional.of(log.value(log.topics.of(SHARDING_PLANS), index).planId()))) {
      index++;
    }
    log.all(log.topics.of(SHARDING_PLANS)).remove(index);
    assertThat(broken(log)).contains(Guarantee.GENERATIONS_ANSWERED, Guarantee.PLAN_CHAIN);
  }

  @Test
  void a_plan_without_predictions_is_found() throws IOException {
    MemorySoakLog log = calm(SEED);
    int last = log.all(log.topics.of(COST_PREDICTIONS)).size() - 1;
    String workload = log.value(log.topics.of(COST_PREDICTIONS), last).workloadId();
    long generation = log.value(log.topics.of(COST_PREDICTIONS), last).generation();
    log.all(log.topics.of(COST_PREDICTIONS))
        .removeIf(
            record ->
                record instanceof CommittedRecord.Stored<CostPredictions> stored
                    && stored.value().workloadId().equals(workload)
                    && stored.value().generation() == generation);
    assertThat(broken(log)).contains(Guarantee.APPLIED_ONCE, Guarantee.PLANS_OF_COMMITTED);
  }

  @Test
  void a_changed_plan_is_found() throws IOException {
    MemorySoakLog log = calm(SEED);
    ShardingPlan changed = withReason(log.value(log.topics.of(SHARDING_PLANS), 1), "another");
    log.replace(log.topics.of(SHARDING_PLANS), 1, changed);
    assertThat(broken(log)).contains(Guarantee.PLAN_IDS, Guarantee.PLANS_REPLAYED);
    log.replace(log.topics.of(SHARDING_PLANS), 1, changed.identified());
    assertThat(broken(log)).contains(Guarantee.PLANS_REPLAYED).doesNotContain(Guarantee.PLAN_IDS);
  }

  private static ShardingPlan withReason(ShardingPlan plan, String reason) {
    return new ShardingPlan(
        plan.planId(),
        plan.origin(),
        reason,
        plan.shards(),
        plan.replication(),
        List.of(),
        List.of(),
        plan.prediction(),
        plan.transition(),
        plan.run());
  }

  @Test
  void wrong_current_records_are_found() throws IOException {
    MemorySoakLog log = calm(SEED);
    log.append(log.topics.of(CURRENT_PLANS), log.value(log.topics.of(SHARDING_PLANS), 0));
    assertThat(broken(log)).containsOnly(Guarantee.CURRENT_PLANS);
    log = calm(SEED);
    log.append(log.topics.of(CURRENT_PREDICTIONS), log.value(log.topics.of(COST_PREDICTIONS), 0));
    assertThat(broken(log)).containsOnly(Guarantee.CURRENT_PREDICTIONS);
  }

  @Test
  void false_answers_are_found() throws IOException {
    List<Ledger.Answer> answers =
        List.of(
            new Ledger.ToldAccepted("e", "feed", OptionalLong.empty()),
            new Ledger.ToldRejected("e", "feed", Fixtures.at(1), RejectionReason.NO_CHANGES),
            new Ledger.ToldPlan("e", "feed", "0123", 1));
    for (Ledger.Answer answer : answers) {
      MemorySoakLog log = calm(SEED);
      log.ledger.add(answer);
      assertThat(broken(log)).containsExactly(Guarantee.ANSWERS_TRUE);
    }
  }

  @Test
  void a_dashboard_that_shows_another_plan_is_found() throws IOException {
    MemorySoakLog log = calm(SEED);
    ShardingPlan last =
        log.value(log.topics.of(SHARDING_PLANS), log.all(log.topics.of(SHARDING_PLANS)).size() - 1);
    log.ledger.add(new Ledger.ShownPlan("a", last.workloadId(), last.planId(), last.planId()));
    assertThat(check(log).isClean()).isTrue();
    log.ledger.add(new Ledger.ShownPlan("b", last.workloadId(), "", last.planId()));
    log.ledger.add(new Ledger.ShownPlan("c", last.workloadId(), "0123", "0123"));
    assertThat(check(log).found()).containsEntry(Guarantee.DASHBOARDS, 2L);
  }

  @Test
  void a_bad_measurement_that_is_accepted_is_found() throws IOException {
    MemorySoakLog log = calm(SEED);
    MeasuredCosts measured = Samples.measured();
    log.append(log.topics.of(MEASURED_COSTS), measured);
    log.ledger.add(
        new Ledger.Delivery(
            Ledger.InputKind.MEASUREMENT,
            measured.measurementId(),
            measured.workloadId(),
            Ledger.Validity.BAD,
            Optional.empty()));
    assertThat(broken(log)).containsExactly(Guarantee.RIGHTLY_REJECTED);
  }

  @Test
  void what_is_applied_though_it_is_bad_is_found() throws IOException {
    MemorySoakLog log = calm(SEED);
    MemorySoakLog other = calm(SEED);
    Ledger ledger = new Ledger();
    for (Ledger.Delivery delivery : other.ledger.deliveries()) {
      ledger.add(
          new Ledger.Delivery(
              delivery.kind(),
              delivery.id(),
              delivery.workloadId(),
              Ledger.Validity.BAD,
              delivery.acknowledged()));
    }
    SoakReport report = new SoakChecker(PlainTowers::new).check(log, ledger);
    assertThat(report.found().get(Guarantee.RIGHTLY_REJECTED))
        .isEqualTo(
            log.all(log.topics.of(WORKLOAD_CHANGES)).size()
                - log.all(log.topics.of(REJECTED_EVENTS)).size());
  }

  @Test
  void valid_records_are_not_rejected_for_their_content() throws IOException {
    MemorySoakLog log = calm(SEED);
    List<CommittedRecord<RejectedEvent>> rejections =
        new ArrayList<>(log.all(log.topics.of(REJECTED_EVENTS)));
    assertThat(rejections).isNotEmpty();
    RejectedEvent rejected = log.value(log.topics.of(REJECTED_EVENTS), 0);
    log.replace(
        log.topics.of(REJECTED_EVENTS),
        0,
        new RejectedEvent(
            rejected.source(),
            rejected.workloadId(),
            RejectionReason.UNDECODABLE,
            "",
            Optional.empty(),
            Optional.empty()));
    assertThat(broken(log)).contains(Guarantee.RIGHTLY_REJECTED, Guarantee.ANSWERS_TRUE);
  }

  @Test
  void the_report_is_a_table() throws IOException {
    MemorySoakLog log = calm(SEED);
    log.repeat(log.topics.of(REJECTED_EVENTS), 0);
    assertThat(check(log).toString().lines())
        .anyMatch(line -> line.matches("rejected records are reported once +\\d+ +1"))
        .anyMatch(line -> line.contains("expected one, got two or more"));
  }
}
