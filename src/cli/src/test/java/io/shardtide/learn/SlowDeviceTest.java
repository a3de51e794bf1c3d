package io.shardtide.learn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.CommunicationCost;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.Slowdowns;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.VersionedPrediction;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.CostPart;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.MeasuredCostsBuilder;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.SearchSettingsBuilder;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.replay.Replay;
import io.shardtide.replay.ReplayResult;
import io.shardtide.replay.ReplayScope;
import io.shardtide.search.GroupSearch;
import io.shardtide.search.GroupedProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.state.PlanningSettings;
import io.shardtide.step.Planner;
import io.shardtide.step.PlanningOutcome;
import io.shardtide.step.PlanningOutcome.Planned;
import io.shardtide.step.PlanningStep;
import io.shardtide.step.PlanningTables;
import io.shardtide.step.WorkloadStep;
import io.shardtide.step.Workloads;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.MemoryRecords;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Plans;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The loop of measurements, speeds and plans with the real steps: a trainer on devices that cost
 * what the model predicts, times their slowdown, with 2% noise.
 */
class SlowDeviceTest {
  private static final int DEVICES = 8;
  private static final double NOISE = 0.02;
  private static final ModelBundle BUNDLE = ModelFiles.shippedForNodes();
  private static final CostModel MODEL = new CostModel(BUNDLE);

  /** Reports between two changes of the workload, and after a plan until the background search. */
  private static final int CHANGE_EVERY = 10;

  private static final int IDLE = 6;

  /** A step takes 7 to 10 ms, so that a gain of 2% pays for a reshard. */
  private static final PlanningSettings SETTINGS = settings(300_000);

  /** Where the plans do not matter. */
  private static final PlanningSettings BRIEF = settings(1_000);

  private static PlanningSettings settings(long evaluations) {
    return new PlanningSettings(
        Duration.ZERO,
        Duration.ZERO,
        SearchSettings.QUICK,
        Optional.of(
            SearchSettingsBuilder.builder(SearchSettings.DEEP)
                .repairEvaluations(evaluations)
                .build()),
        Duration.ZERO,
        0.005,
        0);
  }

  private static final class TrainingLoop {
    private final ClusterSpec cluster =
        new ClusterSpec(DEVICES, 40 * Fixtures.GIB, 262_144, DEVICES, BUNDLE.hardware());
    private final Workloads workloads = Workloads.inMemory();
    private final PlanningTables plans = PlanningTables.inMemory();
    private final Map<String, AcceptedStatus> accepted = new TreeMap<>();
    private final FeedbackTables feedback = Plans.feedbackTables(accepted);
    private final PlainPredictors models = new PlainPredictors();
    private final WorkloadStep predicting = new WorkloadStep(models);
    private final PlanningStep planning;
    private final FeedbackStep step = new FeedbackStep(model -> false);
    private final Random random;
    private final List<TableSpec> tables;

    /** What planning read and said. */
    private final List<DeviceSpeeds> speeds = new ArrayList<>();

    private final List<ShardingPlan> adopted = new ArrayList<>();
    private List<DeviceSpeed> truth = List.of();
    private ShardingPlan running;
    private long reports;
    private long events;
    private int sincePlan;

    TrainingLoop(long seed, PlanningSettings settings) {
      planning =
          new PlanningStep(
              models, settings, new Planner(InstantSource.fixed(Fixtures.TIME), () -> 0));
      models.takeOver(BUNDLE);
      random = new Random(seed);
      tables = new ArrayList<>(Plans.randomTables(new Random(seed), 40));
      List<Change> changes = new ArrayList<>(List.of(new Change.ClusterSet(cluster)));
      tables.forEach(table -> changes.add(new Change.TableUpserted(table)));
      apply(changes.toArray(Change[]::new));
    }

    private void apply(Change... changes) {
      List<CostPredictions> parts =
          predicting.apply(workloads, Fixtures.at(events++), Fixtures.event(changes));
      parts.forEach(part -> planning.onPredictions(plans, part));
      parts.forEach(part -> records.add(TopicType.COST_PREDICTIONS, part));
      parts.forEach(part -> step.onPredictions(feedback, part));
      planIfDue();
    }

    private final MemoryRecords records = new MemoryRecords();

    private void planIfDue() {
      planning.plan(plans, Fixtures.WORKLOAD).ifPresent(this::adopt);
    }

    private void adopt(PlanningOutcome outcome) {
      running = ((Planned) outcome).plan();
      adopted.add(running);
      records.add(TopicType.SHARDING_PLANS, running);
      sincePlan = 0;
      step.onPlan(feedback, running);
      PlanStatus status =
          new PlanStatus(
              Fixtures.WORKLOAD,
              running.planId(),
              PlanStatus.StatusKind.ADOPTED,
              reports,
              Optional.empty(),
              "trainer",
              "run",
              Fixtures.TIME,
              1,
              1);
      accepted.put(Fixtures.WORKLOAD, planning.report(plans, status));
    }

    private Slowdowns slowdowns() {
      return Slowdowns.of(truth, new PlanShards(List.of(), DEVICES));
    }

    private List<TablePrediction> predictions() {
      return plans.tables().range(Fixtures.WORKLOAD).values().stream()
          .map(VersionedPrediction::prediction)
          .sorted((a, b) -> a.table().name().compareTo(b.table().name()))
          .toList();
    }

    private StepCost cost() {
      return StepCost.of(
          predictions(), running.shards(), StepCollectives.of(cluster), MODEL, slowdowns());
    }

    /** Returns the step of the running plan over that of the best plan for the true speeds. */
    double stepOverBest() {
      SearchResult.Found best =
          (SearchResult.Found)
              GroupSearch.search(
                  new GroupedProblem(predictions(), cluster, MODEL, PlanShards.NONE, false, truth),
                  SearchSettings.DEFAULTS);
      return cost().predictedMs() / Math.min(best.predictedMs(), cost().predictedMs());
    }

    private double noisy(double ms) {
      return ms * (1 + NOISE * random.nextGaussian());
    }

    private MeasuredCosts measured() {
      StepCost cost = cost();
      double lastStartMs = 0;
      for (int d = 0; d < DEVICES; d++) {
        lastStartMs = Math.max(lastStartMs, cost.computeMs()[d] + cost.backwardCommMs()[d]);
      }
      double[] computeMs = new double[DEVICES];
      double[] forwardMs = new double[DEVICES];
      double[] backwardMs = new double[DEVICES];
      for (int d = 0; d < DEVICES; d++) {
        double idleMs = lastStartMs - cost.computeMs()[d] - cost.backwardCommMs()[d];
        computeMs[d] = noisy(cost.computeMs()[d]);
        forwardMs[d] = noisy(cost.forwardCommMs()[d] - idleMs);
        backwardMs[d] = noisy(cost.backwardCommMs()[d]);
      }
      StepCost noisy = StepCost.of(computeMs, new CommunicationCost(forwardMs, backwardMs));
      List<MeasuredDevice> devices = new ArrayList<>();
      for (int d = 0; d < DEVICES; d++) {
        devices.add(new MeasuredDevice(computeMs[d], noisy.forwardCommMs()[d], backwardMs[d]));
      }
      Instant now = Fixtures.TIME.plusSeconds(reports);
      return MeasuredCostsBuilder.builder()
          .measurementId("m" + reports)
          .workloadId(Fixtures.WORKLOAD)
          .planId(running.planId())
          .run("run")
          .step(reports)
          .steps(10)
          .devices(devices)
          .collectives(List.of())
          .source("trainer")
          .measuredAt(now)
          .build();
    }

    /** Trains for so many reports, while the workload goes on changing. */
    void train(int times) {
      for (int i = 0; i < times; i++) {
        reports++;
        if (reports % CHANGE_EVERY == 0) {
          int t = random.nextInt(tables.size());
          TableSpec table = tables.get(t);
          tables.set(
              t,
              Fixtures.table(
                  table.name(),
                  table.rows(),
                  table.columns(),
                  table.poolingFactor() * (0.98 + 0.04 * random.nextDouble())));
          apply(new Change.TableUpserted(tables.get(t)));
        }
        step.measure(feedback, measured())
            .speeds()
            .ifPresent(
                changed -> {
                  speeds.add(changed);
                  records.add(TopicType.DEVICE_SPEEDS, changed);
                  planning.onSpeeds(plans, changed);
                  planIfDue();
                });
        if (++sincePlan == IDLE) {
          planning
              .backgroundSearch(plans, Fixtures.WORKLOAD)
              .flatMap(search -> planning.finish(plans, search, planning.search(search)))
              .ifPresent(this::adopt);
        }
      }
    }

    void becomes(DeviceSpeed... slow) {
      truth = List.of(slow);
      speeds.clear();
      adopted.clear();
    }

    long reshards() {
      return adopted.stream().filter(plan -> !plan.transition().moves().isEmpty()).count();
    }
  }

  private static DeviceSpeed slow(int device, CostPart part, double slowdown) {
    return new DeviceSpeed(device, part, slowdown, 0, Fixtures.TIME);
  }

  /**
   * @param stepOverBest the longest step of a plan that follows, over that of the best plan
   */
  private static void assertLoadFollows(long seed, double stepOverBest, DeviceSpeed... slow) {
    TrainingLoop loop = new TrainingLoop(seed, SETTINGS);
    loop.train(48);
    assertThat(loop.speeds).isEmpty();
    // A plan that was no better before does not have to be now.
    double most = Math.max(stepOverBest, 1.01 * loop.stepOverBest());
    loop.becomes(slow);
    loop.train(30);
    assertThat(loop.stepOverBest()).isLessThan(most);
    assertThat(loop.reshards()).isLessThanOrEqualTo(2);
    List<DeviceSpeed> known = loop.speeds.get(loop.speeds.size() - 1).slow();
    assertThat(known).hasSize(slow.length);
    for (int i = 0; i < slow.length; i++) {
      assertThat(known.get(i).device()).isEqualTo(slow[i].device());
      assertThat(known.get(i).part()).isEqualTo(slow[i].part());
      assertThat(known.get(i).slowdown())
          .isCloseTo(slow[i].slowdown(), within(4 * known.get(i).standardError()));
    }
    loop.becomes();
    loop.train(30);
    assertThat(loop.speeds.get(loop.speeds.size() - 1).slow()).isEmpty();
    assertThat(loop.running.origin().slow()).isEmpty();
    assertThat(loop.stepOverBest()).isLessThan(most);
    assertThat(loop.reshards()).isLessThanOrEqualTo(2);
  }

  /** Where little is gained, the plan stays. */
  @Test
  void load_follows_the_speed_of_a_device() {
    assertLoadFollows(1, 1.03, slow(5, CostPart.COMPUTATION, 1.5));
  }

  @Test
  void load_follows_the_speed_of_a_link() {
    assertLoadFollows(1, 1.03, slow(2, CostPart.COMMUNICATION, 1.5));
  }

  /** Of eight seeds, steps are 1.010 to 1.042 times those of the best plans. */
  @Test
  @Tag("nightly")
  void load_follows_the_speeds_of_two_devices() {
    assertLoadFollows(
        4, 1.05, slow(1, CostPart.COMPUTATION, 1.5), slow(6, CostPart.COMPUTATION, 2));
  }

  @Test
  void noise_changes_no_speed() {
    TrainingLoop loop = new TrainingLoop(5, BRIEF);
    loop.train(300);
    assertThat(loop.speeds).isEmpty();
  }

  @Test
  void a_replay_gives_the_same_plans() throws Exception {
    TrainingLoop loop = new TrainingLoop(7, BRIEF);
    loop.train(48);
    loop.becomes(slow(5, CostPart.COMPUTATION, 1.5));
    loop.train(30);
    loop.becomes();
    loop.train(30);
    loop.records.add(BUNDLE);
    loop.records.forget(TopicType.WORKLOAD_CHANGES);
    ReplayResult result =
        new Replay(
                loop.records,
                ReplayScope.ALL,
                loop.records.models(),
                PlainTowers::new,
                (plans, of) -> {})
            .run(false);
    assertThat(result.problems()).isEmpty();
    assertThat(result.isEqual()).isTrue();
  }

  /** Throttled and cooled by turns: each recovery takes twice as many measurements as before. */
  @ParameterizedTest
  @ValueSource(ints = {10, 20, 40})
  void a_device_that_is_slow_by_turns_is_replanned_a_few_times(int turn) {
    TrainingLoop loop = new TrainingLoop(6, BRIEF);
    loop.train(48);
    loop.adopted.clear();
    for (int i = 0; i < 400; i += 2 * turn) {
      loop.truth = List.of(slow(5, CostPart.COMPUTATION, 1.5));
      loop.train(turn);
      loop.truth = List.of();
      loop.train(turn);
    }
    assertThat(loop.speeds).hasSizeLessThanOrEqualTo(9);
    assertThat(loop.running.origin().slow()).as("stays slow").hasSize(turn == 10 ? 0 : 1);
  }
}
