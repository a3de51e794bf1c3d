package io.shardtide.testing;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.CostPredictionsBuilder;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.CostSampleBuilder;
import io.shardtide.cost.DeviceShard;
import io.shardtide.plan.Bottleneck;
import io.shardtide.plan.CacheMisses;
import io.shardtide.plan.CollectiveCodec;
import io.shardtide.plan.CostPart;
import io.shardtide.plan.CostQuantity;
import io.shardtide.plan.Deduplication;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.Effort;
import io.shardtide.plan.ExpectedTime;
import io.shardtide.plan.Explanation;
import io.shardtide.plan.HotOwner;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.Insight;
import io.shardtide.plan.MeasuredCollective;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.MeasuredCostsBuilder;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.MoveStep;
import io.shardtide.plan.OutOfRange;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanMoves;
import io.shardtide.plan.PlanOrigin;
import io.shardtide.plan.PlanPrediction;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.PlannedKernel;
import io.shardtide.plan.Region;
import io.shardtide.plan.Replication;
import io.shardtide.plan.SearchRun;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Shortfall;
import io.shardtide.plan.Transfer;
import io.shardtide.plan.UseKnowledge;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.DriftAlarmBuilder;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.ModelDecisionBuilder;
import io.shardtide.workload.Bytes;
import io.shardtide.workload.CacheAlgorithm;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.Collective;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.DeviceMemory;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Eviction;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.IdWeights;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.OutputType;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.RowOrder;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableFeature;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.TrainingPipeline;
import io.shardtide.workload.WorkloadChange;
import java.util.EnumSet;
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
    long rows = 123_456_789_012L % TableSpec.MAX_ROWS;
    return TableSpecBuilder.builder(
            new TableSpec("tab\"le 表", rows, 64, 7.25, Fixtures.reuse(), 4.5))
        .accessCdf(Fixtures.cdf(rows))
        .optimizerBytesPerElement(8)
        .optimizerBytesPerRow(2.5)
        .constraints(
            new TableConstraints(
                EnumSet.of(ShardKind.GRID_SHARD, ShardKind.TABLE_WISE),
                16,
                Optional.of("an\"other 表")))
        .optimizer(Optional.of(Optimizer.PARTIAL_ROWWISE_ADAM))
        .enforceHbm(true)
        .features(
            List.of(
                new TableFeature("a\"d 表", 7, 0.5, 1), new TableFeature("another", 11.25, 1, 3)))
        .idWeights(Optional.of(IdWeights.LEARNED))
        .build();
  }

  public static ClusterSpec cluster() {
    return ClusterSpecBuilder.builder(
            new ClusterSpec(9, 80 * Fixtures.GIB, 65_536, 8, Fixtures.HARDWARE))
        .hostMemoryBytesPerDevice(64 * Fixtures.GIB)
        .reservedMemoryBytesPerDevice(3 * Fixtures.GIB)
        .countsStepMemory(true)
        .forwardBytesPerElement(2)
        .backwardBytesPerElement(1.5)
        .replicaGroups(List.of(1, 9))
        .synchronizationSteps(20)
        .codecs(
            List.of(
                new CommCodec("fp16", 2),
                new CommCodec("top", 7.5, 120, 0.25, false, List.of(Direction.BACKWARD))))
        .optimizer(Optional.of(Optimizer.ADAM))
        .pipeline(Optional.of(TrainingPipeline.PREFETCH))
        .memoryBytesByDevice(
            List.of(new DeviceMemory(2, 40 * Fixtures.GIB), new DeviceMemory(8, 96 * Fixtures.GIB)))
        .devicesPerHost(4)
        .build();
  }

  public static HashedStorage storage() {
    return new HashedStorage(7, 1.5, 24.25, Eviction.LFU, Fixtures.cdf(7), Optional.of("fu\"ll 表"));
  }

  public static WorkloadChange change() {
    return Fixtures.event(
        OptionalLong.of(41),
        new io.shardtide.workload.Change.ClusterSet(cluster()),
        new io.shardtide.workload.Change.TableUpserted(table()),
        Fixtures.upsert("b", 10, 4, 0),
        Fixtures.drop("c"),
        Fixtures.resize("d", 5_000_000_000L, "fu\"ll 表"));
  }

  public static CostPredictions predictions() {
    TableSpec table = Fixtures.table("a", 1000, 8, 3);
    return CostPredictionsBuilder.builder()
        .workloadId(Fixtures.WORKLOAD)
        .generation(5)
        .eventId(UUID.randomUUID())
        .source(Fixtures.at(17))
        .modelId(TestModels.bundle().modelId())
        .part(1)
        .parts(3)
        .cluster(Fixtures.cluster(8, Fixtures.GIB))
        .proxyHardware(Optional.empty())
        .update(
            Optional.of(
                new Update.Predicted(
                    new PlainTowers(TestModels.bundle()).predict(List.of(table), 65_536).get(0))))
        .build();
  }

  public static ShardingPlan plan() {
    return new ShardingPlan(
            "",
            new PlanOrigin(
                Fixtures.WORKLOAD,
                7,
                6,
                Effort.QUICK,
                Fixtures.at(3),
                TestModels.bundle().modelId(),
                SearchSettings.DEFAULTS,
                Optional.of("before"),
                List.of()),
            "1 table added (a)",
            List.of(
                new Shard("a", new Region(0, 4, 0, 10), 1, ShardKind.COLUMN_WISE),
                new Shard("a", new Region(4, 4, 0, 10), 0, ShardKind.COLUMN_WISE)),
            Replication.NONE,
            List.of(),
            List.of(),
            new PlanPrediction(
                List.of(new DeviceCost(1.5, 2, 3, 160, 0), new DeviceCost(1, 2, 3.25, 160, 0)),
                6.5,
                new Insight(
                    6.25,
                    0,
                    new Bottleneck(1, Explanation.Cause.COMMUNICATION, "a", 0.5),
                    List.of(
                        new Explanation(
                            Explanation.ExplainedAction.MOVE,
                            "a",
                            0,
                            1,
                            Explanation.Cause.COMPUTATION,
                            0.75),
                        new Explanation(
                            Explanation.ExplainedAction.SPLIT,
                            "a",
                            -1,
                            -1,
                            Explanation.Cause.MEMORY,
                            0)),
                    List.of()),
                List.of(new OutOfRange("a", "rows", 10, 1000, 20_000_000)),
                2,
                List.of(
                    new CacheMisses(
                        "a", 0.125, UseKnowledge.REUSE_HISTOGRAM, OptionalDouble.empty())),
                List.of()),
            new PlanMoves(
                List.of(new Transfer(new Overlap("a", new Region(0, 4, 0, 10), 0, 1), 160)),
                List.of(
                    new MoveStep(0, MoveStep.Stage.TO_HOST),
                    new MoveStep(0, MoveStep.Stage.FROM_HOST))),
            new SearchRun(99, 12.5, Fixtures.TIME))
        .identified();
  }

  /** Returns a kernel of which everything is decided. */
  public static TableKernel kernel() {
    return new TableKernel(
        Optional.of(ComputeKernel.FUSED_UVM_CACHING),
        OptionalDouble.of(0.25),
        Optional.of(CacheAlgorithm.LFU),
        Optional.of(OutputType.BF16),
        Optional.of(false));
  }

  /**
   * Returns a plan with distinct ids, an order of rows, a hot owner and a cache that is too small.
   */
  public static ShardingPlan withRepeats(ShardingPlan plan) {
    PlanPrediction of = plan.prediction();
    Insight insight = of.insight();
    return new ShardingPlan(
            "",
            plan.origin(),
            plan.reason(),
            plan.shards().stream()
                .map(
                    s ->
                        new Shard(
                            s.table(),
                            s.region(),
                            s.device(),
                            s.kind(),
                            s.cacheShare(),
                            true,
                            Optional.of(RowOrder.ROUND_ROBIN)))
                .toList(),
            plan.replication(),
            plan.codecs(),
            plan.kernels(),
            new PlanPrediction(
                of.deviceCosts(),
                of.predictedMs(),
                new Insight(
                    insight.lowerBoundMs(),
                    insight.uncertaintyMs(),
                    insight.bottleneck(),
                    insight.explanations(),
                    List.of(new Deduplication("a", 0.25, 1.5))),
                of.outOfRange(),
                of.outOfRangeCount(),
                List.of(
                    new CacheMisses(
                        "a", 0.125, UseKnowledge.REUSE_HISTOGRAM, OptionalDouble.of(0.25))),
                List.of(new HotOwner("a", 1, 2.5))),
            plan.transition(),
            plan.run())
        .identified();
  }

  /** Returns a plan with other codecs, and with the id that follows. */
  public static ShardingPlan with(ShardingPlan plan, List<CollectiveCodec> codecs) {
    return new ShardingPlan(
            "",
            plan.origin(),
            plan.reason(),
            plan.shards(),
            plan.replication(),
            codecs,
            List.of(),
            plan.prediction(),
            plan.transition(),
            plan.run())
        .identified();
  }

  /** Returns a plan with other kernels, and with the id that follows. */
  public static ShardingPlan withKernels(ShardingPlan plan, List<PlannedKernel> kernels) {
    return new ShardingPlan(
            "",
            plan.origin(),
            plan.reason(),
            plan.shards(),
            plan.replication(),
            plan.codecs(),
            kernels,
            plan.prediction(),
            plan.transition(),
            plan.run())
        .identified();
  }

  public static PlanStatus status() {
    return new PlanStatus(
        Fixtures.WORKLOAD,
        plan().planId(),
        PlanStatus.StatusKind.REJECTED,
        4_711,
        Optional.of("device 3 has no room"),
        "trainer-0",
        "run-1",
        Fixtures.TIME,
        2,
        3);
  }

  public static DeviceSpeeds speeds() {
    return new DeviceSpeeds(
        Fixtures.WORKLOAD,
        plan().planId(),
        Fixtures.TIME,
        List.of(
            new DeviceSpeed(1, CostPart.COMPUTATION, 1.5, 0.02, Fixtures.TIME),
            new DeviceSpeed(3, CostPart.COMMUNICATION, 2, 0.1, Fixtures.TIME)));
  }

  public static InfeasibleWorkload infeasible() {
    return new InfeasibleWorkload(
        Fixtures.WORKLOAD,
        8,
        Fixtures.at(4),
        TestModels.bundle().modelId(),
        new Shortfall(17, true, List.of(new Shortfall.TableBytes("a", 18)), "17 bytes short"),
        Optional.empty());
  }

  /** A workload that fits, and will not. */
  public static InfeasibleWorkload expectedInfeasible() {
    return new InfeasibleWorkload(
        Fixtures.WORKLOAD,
        0,
        Fixtures.at(4),
        "",
        infeasible().shortfall(),
        Optional.of(
            new ExpectedTime(
                Fixtures.TIME,
                Fixtures.TIME.plusSeconds(1),
                Optional.of(Fixtures.TIME.plusSeconds(2)))));
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
    return MeasuredCostsBuilder.builder()
        .measurementId("measurement-1")
        .workloadId(Fixtures.WORKLOAD)
        .planId(plan().planId())
        .run("run-1")
        .step(4_711)
        .steps(20)
        .devices(
            List.of(
                new MeasuredDevice(1.5, 0.25, 0.125, OptionalDouble.of(0.625)),
                new MeasuredDevice(0, 1.75, 0.5)))
        .collectives(
            List.of(
                new MeasuredCollective(
                    ShardScope.DEVICE,
                    Collective.ALL_TO_ALL,
                    Direction.FORWARD,
                    List.of(0.25, 0.75)),
                new MeasuredCollective(
                    ShardScope.COPIES,
                    Collective.ALL_REDUCE,
                    Direction.BACKWARD,
                    List.of(0.125, 0.5))))
        .source("trainer-0")
        .measuredAt(Fixtures.TIME)
        .build();
  }

  public static CostSample sample(CostSample.Cost cost) {
    return CostSampleBuilder.builder()
        .measurementId("measurement-1")
        .hardware("cpu-test")
        .workloadId(Fixtures.WORKLOAD)
        .planId(plan().planId())
        .modelId(TestModels.bundle().modelId())
        .source("trainer-0")
        .batchSize(1_024)
        .steps(20)
        .measuredAt(Fixtures.TIME)
        .cost(cost)
        .build();
  }

  public static CostSample.Computation computation() {
    return new CostSample.Computation(
        1,
        List.of(
            DeviceShard.ofColumns(table(), 1_024),
            new DeviceShard(table().withColumns(8), 512, 1, true, OptionalDouble.empty(), 1_024),
            new DeviceShard(
                table().withColumns(12), 1_024, 0.375, false, OptionalDouble.of(0.25), 1_024)),
        1.5,
        OptionalDouble.of(0.5),
        1.25);
  }

  public static CostSample.StepCommunication communication() {
    return new CostSample.StepCommunication(
        List.of(64, 0),
        1,
        2,
        1.5,
        measured().devices(),
        List.of(new MeasuredDevice(1, 0.5, 0.25), new MeasuredDevice(0, 1.25, 0.25)),
        List.of(0.25, 0.75),
        List.of(0.125, 0.5),
        List.of(
            new CostSample.GroupCollective(
                Collective.ALL_REDUCE, Direction.BACKWARD, 2, 1, List.of(4_096.0), List.of(0.25)),
            new CostSample.GroupCollective(
                Collective.ALL_TO_ALL,
                Direction.FORWARD,
                2,
                1,
                List.of(512.0, 0.0),
                List.of(0.5, 0.125))),
        false);
  }

  public static DriftAlarm alarm(OptionalInt device) {
    return DriftAlarmBuilder.builder()
        .hardware("cpu-test")
        .modelId(TestModels.bundle().modelId())
        .kind(device.isPresent() ? DriftAlarm.AlarmKind.STRAGGLER : DriftAlarm.AlarmKind.MODEL)
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
    return ModelDecisionBuilder.builder()
        .hardware("cpu-test")
        .trigger(ModelDecision.Trigger.DRIFT)
        .championId(TestModels.bundle().modelId())
        .challengerId(Optional.of("challenger"))
        .published(true)
        .recentSamples(300)
        .oldSamples(200)
        .championRecentError(OptionalDouble.of(0.5))
        .challengerRecentError(OptionalDouble.of(0.05))
        .championOldError(OptionalDouble.empty())
        .challengerOldError(OptionalDouble.empty())
        .championPlanLoss(OptionalDouble.of(0.12))
        .challengerPlanLoss(OptionalDouble.of(0.02))
        .reason("better on what is recent")
        .decidedAt(Fixtures.TIME)
        .build();
  }
}
