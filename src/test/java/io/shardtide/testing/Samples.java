package io.shardtide.testing;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.CostSample;
import io.shardtide.domain.Bottleneck;
import io.shardtide.domain.Bytes;
import io.shardtide.domain.CostQuantity;
import io.shardtide.domain.DeviceCost;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.DriftAlarmBuilder;
import io.shardtide.domain.Effort;
import io.shardtide.domain.Explanation;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.Insight;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.Move;
import io.shardtide.domain.MoveStep;
import io.shardtide.domain.OutOfRange;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.Shortfall;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.WorkloadChange;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.UUID;

/** One full value of each kind that the log holds. */
public final class Samples {
  private Samples() {}

  public static TableSpec table() {
    return new TableSpec(
        "tab\"le 表", 123_456_789_012L % TableSpec.MAX_ROWS, 64, 7.25, Fixtures.reuse(), 4.5);
  }

  public static WorkloadChange change() {
    return Fixtures.event(
        OptionalLong.of(41),
        Fixtures.set(8, 80 * Fixtures.GIB),
        new io.shardtide.domain.Change.TableUpserted(table()),
        Fixtures.upsert("b", 10, 4, 0),
        Fixtures.drop("c"));
  }

  public static CostPredictions predictions() {
    TableSpec table = Fixtures.table("a", 1000, 8, 3);
    return new CostPredictions(
        Fixtures.WORKLOAD,
        5,
        UUID.randomUUID(),
        Fixtures.at(17),
        Fixtures.bundle().modelId(),
        1,
        3,
        Fixtures.cluster(8, Fixtures.GIB),
        Optional.of(
            new Update.Predicted(
                new PlainTowers(Fixtures.bundle()).predict(List.of(table), 65_536).get(0))));
  }

  public static ShardingPlan plan() {
    return new ShardingPlan(
            "",
            Fixtures.WORKLOAD,
            7,
            6,
            Effort.QUICK,
            Fixtures.at(3),
            Fixtures.bundle().modelId(),
            SearchSettings.DEFAULTS,
            Optional.of("before"),
            "1 table added (a)",
            List.of(
                new Shard("a", ShardKind.COLUMN_WISE, 0, 4, 0, 10, 1),
                new Shard("a", ShardKind.COLUMN_WISE, 4, 4, 0, 10, 0)),
            List.of(new DeviceCost(1.5, 2, 3, 160), new DeviceCost(1, 2, 3.25, 160)),
            6.5,
            List.of(new Move("a", 0, 4, 0, 10, 0, 1, 160)),
            List.of(
                new MoveStep(0, MoveStep.Stage.TO_HOST), new MoveStep(0, MoveStep.Stage.FROM_HOST)),
            new Insight(
                6.25,
                new Bottleneck(1, Explanation.Cause.COMMUNICATION, "a", 0.5),
                List.of(
                    new Explanation(
                        Explanation.Kind.MOVE, "a", 0, 1, Explanation.Cause.COMPUTATION, 0.75),
                    new Explanation(
                        Explanation.Kind.SPLIT, "a", -1, -1, Explanation.Cause.MEMORY, 0))),
            List.of(new OutOfRange("a", "rows", 10, 1000, 20_000_000)),
            2,
            99,
            12.5,
            Fixtures.TIME)
        .identified();
  }

  public static PlanStatus status() {
    return new PlanStatus(
        Fixtures.WORKLOAD,
        plan().planId(),
        PlanStatus.Kind.REJECTED,
        4_711,
        Optional.of("device 3 has no room"),
        "trainer-0",
        "run-1",
        Fixtures.TIME);
  }

  public static InfeasibleWorkload infeasible() {
    return new InfeasibleWorkload(
        Fixtures.WORKLOAD,
        8,
        Fixtures.at(4),
        Fixtures.bundle().modelId(),
        new Shortfall(17, true, List.of(new Shortfall.TableBytes("a", 18)), "17 bytes short"));
  }

  public static RejectedEvent rejected() {
    return new RejectedEvent(
        Fixtures.at(5),
        Optional.of(Fixtures.WORKLOAD),
        RejectionReason.UNDECODABLE,
        "no",
        Optional.of(Bytes.copyOf(new byte[] {1})),
        Optional.of(Bytes.copyOf(new byte[] {0, (byte) 0xff, 3})));
  }

  public static MeasuredCosts measured() {
    return new MeasuredCosts(
        "measurement-1",
        Fixtures.WORKLOAD,
        plan().planId(),
        "run-1",
        4_711,
        20,
        List.of(new MeasuredDevice(1.5, 0.25, 0.125), new MeasuredDevice(0, 1.75, 0.5)),
        "trainer-0",
        Fixtures.TIME);
  }

  public static CostSample sample(CostSample.Cost cost) {
    return new CostSample(
        "measurement-1",
        "cpu-test",
        Fixtures.WORKLOAD,
        plan().planId(),
        Fixtures.bundle().modelId(),
        "trainer-0",
        1_024,
        20,
        Fixtures.TIME,
        cost);
  }

  public static CostSample.Computation computation() {
    return new CostSample.Computation(1, List.of(table(), table().withColumns(8)), 1.5, 1.25);
  }

  public static CostSample.Exchange exchange() {
    return new CostSample.Exchange(
        List.of(64, 0),
        measured().devices(),
        List.of(new MeasuredDevice(1, 0.5, 0.25), new MeasuredDevice(0, 1.25, 0.25)));
  }

  public static DriftAlarm alarm(OptionalInt device) {
    return DriftAlarmBuilder.builder()
        .hardware("cpu-test")
        .modelId(Fixtures.bundle().modelId())
        .kind(device.isPresent() ? DriftAlarm.Kind.STRAGGLER : DriftAlarm.Kind.MODEL)
        .quantity(CostQuantity.COMPUTE)
        .workloadId(Fixtures.WORKLOAD)
        .device(device)
        .planId(plan().planId())
        .detector("cusum")
        .samples(42)
        .usualRatio(1.01)
        .recentRatio(1.75)
        .measuredAt(Fixtures.TIME)
        .build();
  }

  public static ModelDecision decision() {
    return new ModelDecision(
        "cpu-test",
        ModelDecision.Trigger.DRIFT,
        Fixtures.bundle().modelId(),
        Optional.of("challenger"),
        true,
        300,
        200,
        OptionalDouble.of(0.5),
        OptionalDouble.of(0.05),
        OptionalDouble.empty(),
        OptionalDouble.empty(),
        "better on what is recent",
        Fixtures.TIME);
  }
}
