package io.shardtide.bench.soak;

import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;

import io.shardtide.bench.soak.PredictedGenerations.CommittedGeneration;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.Effort;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.workload.SourcePosition;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/** Checks sharding-plans and infeasible-workloads, and keeps which plans there are. */
final class PlanLog {
  private final InputRecords inputs;
  private final PredictedGenerations predicted;
  private final Findings findings;
  private final Map<String, PlannedWorkload> workloads = new TreeMap<>();

  /**
   * A plan without its shards.
   *
   * @param position where it lies
   * @param planId its id
   * @param firstGeneration the first generation that it answers
   * @param generation the last one
   */
  record LoggedPlan(
      SourcePosition position, String planId, long firstGeneration, long generation) {}

  /**
   * An answer to the generations up to one.
   *
   * @param first the first generation; 0 for all that have no answer yet
   * @param last the last generation
   * @param positions the record
   */
  private record GenerationsAnswer(long first, long last, List<SourcePosition> positions) {}

  /** The plans of a workload. */
  private static final class PlannedWorkload {
    private final Map<String, LoggedPlan> byId = new HashMap<>();
    private final List<GenerationsAnswer> answers = new ArrayList<>();

    /** How many plans of a generation other speeds allow. */
    private final Map<Long, Integer> replanned = new HashMap<>();

    private Optional<LoggedPlan> last = Optional.empty();
    private List<DeviceSpeed> slow = List.of();
    private long shards;
  }

  private PlanLog(InputRecords inputs, PredictedGenerations predicted, Findings findings) {
    this.inputs = inputs;
    this.predicted = predicted;
    this.findings = findings;
  }

  static PlanLog read(
      SoakLog log, InputRecords inputs, PredictedGenerations predicted, Findings findings)
      throws IOException {
    PlanLog plans = new PlanLog(inputs, predicted, findings);
    log.read(
        log.topics().of(SHARDING_PLANS),
        record -> {
          if (record instanceof CommittedRecord.Stored<ShardingPlan> stored) {
            plans.add(stored.position(), stored.value());
          } else {
            findings.violated(
                Guarantee.PLAN_IDS, "", List.of(record.position()), "cannot be decoded");
          }
        });
    log.read(
        log.topics().of(INFEASIBLE_WORKLOADS),
        record -> {
          if (record instanceof CommittedRecord.Stored<InfeasibleWorkload> stored) {
            plans.add(stored.position(), stored.value());
          } else {
            findings.violated(
                Guarantee.GENERATIONS_ANSWERED,
                "",
                List.of(record.position()),
                "cannot be decoded");
          }
        });
    plans.checkAnswers();
    return plans;
  }

  private PlannedWorkload workload(String id) {
    return workloads.computeIfAbsent(id, key -> new PlannedWorkload());
  }

  private void add(SourcePosition position, ShardingPlan plan) {
    PlannedWorkload workload = workload(plan.workloadId());
    List<SourcePosition> here = List.of(position);
    findings.checked(Guarantee.PLAN_IDS);
    if (!plan.hasValidId()) {
      findings.violated(
          Guarantee.PLAN_IDS,
          plan.workloadId(),
          here,
          "expected id %s, got %s".formatted(plan.contentId(), plan.planId()));
    }
    checkCommitted(
        plan.workloadId(),
        position,
        plan.generation(),
        plan.origin().modelId(),
        plan.origin().source());
    checkChain(workload, position, plan);
    if (plan.origin().effort() == Effort.QUICK) {
      if (!plan.origin().slow().equals(workload.slow)) {
        workload.replanned.merge(plan.generation(), 1, Integer::sum);
        workload.slow = plan.origin().slow();
      }
      workload.answers.add(
          new GenerationsAnswer(plan.origin().firstGeneration(), plan.generation(), here));
    }
    LoggedPlan logged =
        new LoggedPlan(position, plan.planId(), plan.origin().firstGeneration(), plan.generation());
    workload.last = Optional.of(logged);
    workload.byId.put(plan.planId(), logged);
    workload.shards += plan.shards().size();
  }

  private void checkChain(PlannedWorkload workload, SourcePosition position, ShardingPlan plan) {
    findings.checked(Guarantee.PLAN_CHAIN);
    String id = plan.workloadId();
    long deletion = predicted.deletedUpTo(id, plan.generation());
    Optional<LoggedPlan> before = workload.last.filter(last -> last.generation() > deletion);
    CommittedGeneration committed = predicted.of(id).get(plan.generation());
    // A model that comes back may find the same plan again, from the same adopted one.
    boolean mayRecur = inputs.isReported(id) && committed != null && committed.times() > 1;
    workload
        .last
        .filter(
            last ->
                last.generation() > plan.generation()
                    || (last.planId().equals(plan.planId()) && !mayRecur))
        .ifPresent(
            last ->
                findings.violated(
                    Guarantee.PLAN_CHAIN,
                    id,
                    List.of(last.position(), position),
                    "expected another plan, of generation %d or later, got plan %s of generation %d after plan %s"
                        .formatted(
                            last.generation(), plan.planId(), plan.generation(), last.planId())));
    boolean isChained;
    if (inputs.isReported(id)) {
      // Moves count from the plan that a trainer adopted, at some time between the records.
      isChained =
          plan.origin().previousPlanId().isEmpty()
              || plan.origin()
                  .previousPlanId()
                  .map(workload.byId::get)
                  .filter(previous -> previous.generation() > deletion)
                  .isPresent();
    } else {
      isChained = plan.origin().previousPlanId().equals(before.map(LoggedPlan::planId));
    }
    if (!isChained) {
      findings.violated(
          Guarantee.PLAN_CHAIN,
          id,
          List.of(position),
          "previous plan must be %s%s, got %s"
              .formatted(
                  before.map(LoggedPlan::planId).orElse("none"),
                  inputs.isReported(id) ? " or an earlier one that was adopted" : "",
                  plan.origin().previousPlanId().orElse("none")));
    }
  }

  private void add(SourcePosition position, InfeasibleWorkload infeasible) {
    String id = infeasible.workloadId();
    checkCommitted(
        id, position, infeasible.generation(), infeasible.modelId(), infeasible.source());
    workload(id).answers.add(new GenerationsAnswer(0, infeasible.generation(), List.of(position)));
  }

  private void checkCommitted(
      String id, SourcePosition position, long generation, String modelId, SourcePosition source) {
    findings.checked(Guarantee.PLANS_OF_COMMITTED);
    CommittedGeneration committed = predicted.of(id).get(generation);
    if (committed == null
        || !committed.isPredictedBy(modelId)
        || !committed.source().equals(source)) {
      findings.violated(
          Guarantee.PLANS_OF_COMMITTED,
          id,
          List.of(position),
          "expected predictions of generation %d by model %s for %s, got %s"
              .formatted(
                  generation,
                  modelId,
                  source,
                  committed == null
                      ? "no predictions of the generation"
                      : "those of %s".formatted(committed.source())));
    }
  }

  private void checkAnswers() {
    for (String id : predicted.workloads()) {
      PlannedWorkload workload = workload(id);
      List<GenerationsAnswer> answers = new ArrayList<>(workload.answers);
      predicted
          .of(id)
          .forEach(
              (generation, committed) -> {
                findings.checked(Guarantee.GENERATIONS_ANSWERED);
                if (committed.isDeletion() || inputs.isFailed(committed.source())) {
                  answers.add(new GenerationsAnswer(0, generation, List.of(committed.source())));
                }
              });
      // Of one generation, the answer that begins first is to the changes.
      answers.sort(
          Comparator.comparingLong(GenerationsAnswer::last)
              .thenComparingLong(GenerationsAnswer::first));
      check(id, workload, answers);
    }
  }

  private void check(String id, PlannedWorkload workload, List<GenerationsAnswer> answers) {
    long answered = 0;
    int times = 0;
    for (GenerationsAnswer answer : answers) {
      if (answer.last() > answered) {
        times = 1;
        if (answer.first() > answered + 1) {
          unanswered(id, answered + 1, answer.first() - 1);
        } else if (answer.first() > 0 && answer.first() <= answered) {
          twice(id, answer, answered);
        }
        answered = answer.last();
      } else {
        times++;
        CommittedGeneration committed = predicted.of(id).get(answered);
        int expected =
            (committed == null ? 1 : committed.times())
                + workload.replanned.getOrDefault(answered, 0);
        if (times > expected) {
          twice(id, answer, answered);
        }
      }
    }
    Map.Entry<Long, CommittedGeneration> latest = predicted.of(id).lastEntry();
    if (latest != null && latest.getKey() > answered) {
      unanswered(id, answered + 1, latest.getKey());
    }
  }

  private void unanswered(String id, long first, long last) {
    findings.violated(
        Guarantee.GENERATIONS_ANSWERED,
        id,
        List.of(),
        "generations %d to %d must have a plan, an infeasible workload or a failure, got none"
            .formatted(first, last));
  }

  private void twice(String id, GenerationsAnswer answer, long answered) {
    findings.violated(
        Guarantee.GENERATIONS_ANSWERED,
        id,
        answer.positions(),
        "generations up to %d were answered, expected no further answer to them, got one to %d to %d"
            .formatted(answered, answer.first(), answer.last()));
  }

  /** Returns a plan of a workload; empty if it is not on the log. */
  Optional<LoggedPlan> find(String workloadId, String planId) {
    return Optional.ofNullable(workloads.get(workloadId)).map(of -> of.byId.get(planId));
  }

  /** Returns the last plan of a workload that is not deleted; empty without one. */
  Optional<LoggedPlan> current(String workloadId) {
    return Optional.ofNullable(workloads.get(workloadId))
        .flatMap(of -> of.last)
        .filter(last -> last.generation() > predicted.deletedUpTo(workloadId, Long.MAX_VALUE));
  }

  /**
   * Divides the workloads with plans into groups whose plans fit memory together.
   *
   * @param shards shards of all plans of a group, unless a single workload has more
   */
  List<Set<String>> groups(long shards) {
    List<Set<String>> groups = new ArrayList<>();
    long left = 0;
    for (Map.Entry<String, PlannedWorkload> entry : workloads.entrySet()) {
      if (groups.isEmpty() || entry.getValue().shards > left) {
        groups.add(new HashSet<>());
        left = shards;
      }
      left -= entry.getValue().shards;
      groups.get(groups.size() - 1).add(entry.getKey());
    }
    return groups;
  }
}
