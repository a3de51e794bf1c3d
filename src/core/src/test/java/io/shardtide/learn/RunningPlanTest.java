package io.shardtide.learn;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostPredictions;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.state.PlanHistory;
import io.shardtide.state.PlanningSettings;
import io.shardtide.step.Planner;
import io.shardtide.step.PlanningOutcome.Planned;
import io.shardtide.step.PlanningStep;
import io.shardtide.step.PlanningTables;
import io.shardtide.step.WorkloadStep;
import io.shardtide.step.Workloads;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.testing.Plans;
import io.shardtide.workload.Change;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/**
 * Planning and feedback agree on which plan runs, in whatever order feedback reads its topics: the
 * predictions, the plans and the accepted statuses.
 */
class RunningPlanTest {
  private static final String W = Fixtures.WORKLOAD;

  private final PlainPredictors models = new PlainPredictors();
  private final WorkloadStep predicting = new WorkloadStep(models);
  private final PlanningStep planning =
      new PlanningStep(
          models,
          PlanningSettings.eachGeneration(SearchSettings.QUICK),
          new Planner(InstantSource.fixed(Fixtures.TIME), () -> 0));
  private final FeedbackStep feedback = new FeedbackStep(id -> false);

  /** What planning and feedback read and write of one workload. */
  private final class JudgedLog {
    private final Workloads workloads = Workloads.inMemory();
    private final PlanningTables planned = PlanningTables.inMemory();
    private final List<CostPredictions> predictions = new ArrayList<>();
    private final List<ShardingPlan> plans = new ArrayList<>();
    private final List<AcceptedStatus> accepted = new ArrayList<>();
    private boolean exists;
    private long offset;
    private long step;

    private void apply(Change... changes) {
      List<CostPredictions> parts =
          predicting.apply(workloads, Fixtures.at(offset++), Fixtures.event(changes));
      predictions.addAll(parts);
      parts.forEach(part -> planning.onPredictions(planned, part));
    }

    private void change(Random random) {
      List<Change> changes = new ArrayList<>();
      if (!exists) {
        changes.add(Fixtures.set(2, Fixtures.GIB));
      }
      changes.add(Fixtures.upsert("t", 1_000 + random.nextInt(1_000_000), 16, 1));
      exists = true;
      apply(changes.toArray(Change[]::new));
      plans.add(((Planned) planning.plan(planned, W).orElseThrow()).plan());
    }

    private void delete() {
      exists = false;
      apply(Fixtures.delete());
      accepted.add(AcceptedStatus.of(W, Optional.empty(), PlanHistory.NONE));
    }

    /** A status of any plan, lately of the latest ones, sometimes late. */
    private void report(Random random) {
      int back = random.nextInt(random.nextInt(4) == 0 ? plans.size() : Math.min(3, plans.size()));
      PlanStatus.StatusKind[] kinds = PlanStatus.StatusKind.values();
      PlanStatus status =
          new PlanStatus(
              W,
              plans.get(plans.size() - 1 - back).planId(),
              kinds[random.nextInt(kinds.length)],
              Math.max(0, step++ - random.nextInt(3)),
              Optional.empty(),
              "trainer",
              "run",
              Fixtures.TIME,
              1,
              1);
      try {
        accepted.add(planning.report(planned, status));
      } catch (RejectedException e) {
        // Planning writes nothing on accepted-statuses.
        assertThat(e.reason()).isIn(RejectionReason.UNKNOWN_PLAN, RejectionReason.STALE_STATUS);
      }
    }

    /** A planner takes the partition over. */
    private void tellAgain() {
      PlanHistory now = planned.header(W).plans();
      if (!now.ids().isEmpty()) {
        accepted.add(AcceptedStatus.of(W, Optional.empty(), now));
      }
    }
  }

  private FeedbackTables read(JudgedLog log, Random random) {
    Map<String, AcceptedStatus> accepted = new HashMap<>();
    FeedbackTables store = Plans.feedbackTables(accepted);
    List<List<Runnable>> topics = new ArrayList<>();
    topics.add(new ArrayList<>());
    log.predictions.forEach(part -> topics.get(0).add(() -> feedback.onPredictions(store, part)));
    topics.add(new ArrayList<>());
    log.plans.forEach(plan -> topics.get(1).add(() -> feedback.onPlan(store, plan)));
    topics.add(new ArrayList<>());
    log.accepted.forEach(status -> topics.get(2).add(() -> accepted.put(W, status)));
    topics.removeIf(List::isEmpty);
    while (!topics.isEmpty()) {
      List<Runnable> from = topics.get(random.nextInt(topics.size()));
      for (int n = 1 + random.nextInt(60); n > 0 && !from.isEmpty(); n--) {
        from.remove(0).run();
      }
      topics.removeIf(List::isEmpty);
    }
    return store;
  }

  @Property(tries = 60)
  void feedback_follows_planning_in_any_order_of_topics(@ForAll long seed) {
    Random random = new Random(seed);
    JudgedLog log = new JudgedLog();
    int actions = 4 + random.nextInt(random.nextBoolean() ? 12 : 120);
    for (int i = 0; i < actions; i++) {
      int action = random.nextInt(40);
      if (action == 0 && log.exists) {
        log.delete();
      } else if (action == 1) {
        log.tellAgain();
      } else if (action < 15 && !log.plans.isEmpty()) {
        log.report(random);
      } else {
        log.change(random);
      }
    }
    PlanHistory expected = log.planned.header(W).plans();
    for (int order = 0; order < 4; order++) {
      FeedbackTables store = read(log, random);
      PlanHistory followed = store.header(W).plans();
      assertThat(followed.running()).isEqualTo(expected.running());
      assertThat(followed.previous()).isEqualTo(expected.previous());
      assertThat(followed.reportedStep()).isEqualTo(expected.reportedStep());
      assertThat(followed.reportedRun()).isEqualTo(expected.reportedRun());
      assertThat(followed.ids()).containsSubsequence(expected.ids());
      expected.ids().forEach(id -> assertThat(store.plans().get(W, id)).as(id).isPresent());
      if (!log.exists) {
        assertThat(followed).as("of a deleted workload").isEqualTo(PlanHistory.NONE);
      }
    }
  }
}
