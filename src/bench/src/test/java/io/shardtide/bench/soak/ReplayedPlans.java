package io.shardtide.bench.soak;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.replay.LogRecords;
import io.shardtide.replay.MalformedRecordException;
import io.shardtide.replay.Replay;
import io.shardtide.replay.ReplayResult;
import io.shardtide.replay.ReplayScope;
import io.shardtide.replay.Verdict;
import io.shardtide.wire.TopicType;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Function;

/** Recomputes all plans by {@link Replay}, some workloads after others, so that they fit memory. */
final class ReplayedPlans {
  /**
   * Shards of the plans that are recomputed together. A shard takes about 150 bytes, and each plan
   * is there twice: 300 MB.
   */
  private static final long SHARDS = 1_000_000;

  private ReplayedPlans() {}

  /** The records of some workloads. */
  private record WorkloadRecords(
      SoakLog log, Map<String, ModelBundle> models, Set<String> workloads) implements LogRecords {
    @Override
    public boolean has(TopicType<?> kind) {
      return true;
    }

    @Override
    public <V> void read(TopicType<V> kind, Consumer<? super V> each) throws IOException {
      log.read(
          log.topics().of(kind),
          record -> {
            if (record instanceof CommittedRecord.Stored<V> stored
                && workloads.contains(kind.keyOf(stored.value()))) {
              try {
                each.accept(stored.value());
              } catch (IllegalArgumentException e) {
                throw new MalformedRecordException(stored.position().toString(), e);
              }
            }
          });
    }
  }

  static void check(
      SoakLog log,
      PlanLog plans,
      Function<ModelBundle, TowerPredictor> predictorOf,
      Findings findings)
      throws IOException {
    Map<String, ModelBundle> models = log.models();
    for (Set<String> workloads : plans.groups(SHARDS)) {
      check(new WorkloadRecords(log, models, workloads), plans, predictorOf, findings);
    }
  }

  private static void check(
      WorkloadRecords records,
      PlanLog plans,
      Function<ModelBundle, TowerPredictor> predictorOf,
      Findings findings)
      throws IOException {
    ReplayResult result;
    try {
      result =
          new Replay(records, ReplayScope.ALL, records.models(), predictorOf, (done, of) -> {})
              .run(false);
    } catch (RuntimeException e) {
      // Records that contradict each other may stop a replay anywhere, for all its workloads.
      if (records.workloads().size() > 1) {
        for (String workload : new TreeSet<>(records.workloads())) {
          check(
              new WorkloadRecords(records.log(), records.models(), Set.of(workload)),
              plans,
              predictorOf,
              findings);
        }
      } else {
        findings.violated(
            Guarantee.PLANS_REPLAYED,
            records.workloads().iterator().next(),
            List.of(),
            "expected plans that can be recomputed, got " + e);
      }
      return;
    }
    report(result, plans, findings);
  }

  private static void report(ReplayResult result, PlanLog plans, Findings findings) {
    result
        .rows()
        .forEach(
            row -> {
              findings.checked(Guarantee.PLANS_REPLAYED);
              if (row.verdict() == Verdict.DIFFERS || row.verdict() == Verdict.NOT_REPRODUCED) {
                String planId = row.planId().orElseThrow();
                findings.violated(
                    Guarantee.PLANS_REPLAYED,
                    row.workloadId(),
                    plans.find(row.workloadId(), planId).stream()
                        .map(PlanLog.LoggedPlan::position)
                        .toList(),
                    "expected plan %s of generation %d, got verdict \"%s\"%s"
                        .formatted(
                            planId,
                            row.generation(),
                            row.verdict(),
                            result
                                .first()
                                .filter(first -> first.id().equals(planId))
                                .map(first -> ": " + first.explanation())
                                .orElse("")));
              }
            });
    result
        .problems()
        .forEach(problem -> findings.violated(Guarantee.PLANS_REPLAYED, "", List.of(), problem));
  }
}
