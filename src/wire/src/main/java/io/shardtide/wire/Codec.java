package io.shardtide.wire;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.VersionedPrediction;
import io.shardtide.growth.FillReport;
import io.shardtide.growth.GrowthState;
import io.shardtide.growth.TableForecasts;
import io.shardtide.growth.TableGrowth;
import io.shardtide.models.AvroLimits;
import io.shardtide.models.ModelBundleMapping;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.CurveRequest;
import io.shardtide.pool.CurveState;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolLinks;
import io.shardtide.pool.PoolMember;
import io.shardtide.pool.StoredPool;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.FeedbackState;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.PlanningState;
import io.shardtide.state.ResidualWindow;
import io.shardtide.state.TrainingState;
import io.shardtide.workload.HeldRecord;
import io.shardtide.workload.Quarantine;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.VersionedTable;
import io.shardtide.workload.WorkloadChange;
import io.shardtide.workload.WorkloadState;
import java.util.Optional;
import java.util.function.Function;
import org.apache.avro.Schema;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificRecord;

/**
 * Converts between a value and its Avro record.
 *
 * @param avroType the generated class
 * @param toAvro returns the record of a value
 * @param fromAvro returns the value of a record; throws {@link
 *     io.shardtide.workload.RejectedException} if a field is outside its range
 * @param <V> type of the values
 * @param <A> the generated Avro record
 */
public record Codec<V, A extends SpecificRecord>(
    Class<A> avroType, Function<V, A> toAvro, Function<A, V> fromAvro) {

  static {
    AvroLimits.set();
  }

  /** Changes to workloads. */
  public static final Codec<WorkloadChange, io.shardtide.avro.WorkloadChange> WORKLOAD_CHANGE =
      of(WorkloadMapping.INSTANCE::toAvro, WorkloadMapping.INSTANCE::fromAvro);

  /** Predicted costs of tables. */
  public static final Codec<CostPredictions, io.shardtide.avro.CostPredictions> COST_PREDICTIONS =
      of(WorkloadMapping.INSTANCE::toAvro, WorkloadMapping.INSTANCE::fromAvro);

  /** Plans. */
  public static final Codec<ShardingPlan, io.shardtide.avro.ShardingPlan> SHARDING_PLAN =
      of(PlanMapping.INSTANCE::toAvro, PlanMapping.INSTANCE::fromAvro);

  /** Infeasible workloads. */
  public static final Codec<InfeasibleWorkload, io.shardtide.avro.InfeasibleWorkload>
      INFEASIBLE_WORKLOAD = of(PlanMapping.INSTANCE::toAvro, PlanMapping.INSTANCE::fromAvro);

  /** Rejected events. */
  public static final Codec<RejectedEvent, io.shardtide.avro.RejectedEvent> REJECTED_EVENT =
      of(QuarantineMapping.INSTANCE::toAvro, QuarantineMapping.INSTANCE::fromAvro);

  /** Keys that enter or leave quarantine, on the log and in stores. */
  public static final Codec<Quarantine, io.shardtide.avro.Quarantine> QUARANTINE =
      of(QuarantineMapping.INSTANCE::toAvro, QuarantineMapping.INSTANCE::fromAvro);

  /** Records of keys in quarantine, in stores. */
  public static final Codec<HeldRecord, io.shardtide.avro.HeldRecord> HELD_RECORD =
      of(QuarantineMapping.INSTANCE::toAvro, QuarantineMapping.INSTANCE::fromAvro);

  /** Trained models. */
  public static final Codec<ModelBundle, io.shardtide.avro.CostModelBundle> MODEL_BUNDLE =
      of(ModelBundleMapping::toAvro, ModelBundleMapping::fromAvro);

  /** Reports of trainers on plans. */
  public static final Codec<PlanStatus, io.shardtide.avro.PlanStatus> PLAN_STATUS =
      of(PlanMapping.INSTANCE::toAvro, PlanMapping.INSTANCE::fromAvro);

  /** Statuses that planning accepted. */
  public static final Codec<AcceptedStatus, io.shardtide.avro.AcceptedStatus> ACCEPTED_STATUS =
      of(PlanMapping.INSTANCE::toAvro, PlanMapping.INSTANCE::fromAvro);

  /** Speeds of devices. */
  public static final Codec<DeviceSpeeds, io.shardtide.avro.DeviceSpeeds> DEVICE_SPEEDS =
      of(PlanMapping.INSTANCE::toAvro, PlanMapping.INSTANCE::fromAvro);

  /** Measured costs. */
  public static final Codec<MeasuredCosts, io.shardtide.avro.MeasuredCosts> MEASURED_COSTS =
      of(LearningMapping.INSTANCE::toAvro, LearningMapping.INSTANCE::fromAvro);

  /** Training samples. */
  public static final Codec<CostSample, io.shardtide.avro.CostSample> COST_SAMPLE =
      of(LearningMapping.INSTANCE::toAvro, LearningMapping.INSTANCE::fromAvro);

  /** Alarms of drift between measured and predicted costs. */
  public static final Codec<DriftAlarm, io.shardtide.avro.DriftAlarm> DRIFT_ALARM =
      of(LearningMapping.INSTANCE::toAvro, LearningMapping.INSTANCE::fromAvro);

  /** Decisions on retrained models. */
  public static final Codec<ModelDecision, io.shardtide.avro.ModelDecision> MODEL_DECISION =
      of(LearningMapping.INSTANCE::toAvro, LearningMapping.INSTANCE::fromAvro);

  /** State between retraining jobs, in stores. */
  public static final Codec<TrainingState, io.shardtide.avro.TrainingState> TRAINING_STATE =
      of(LearningMapping.INSTANCE::toAvro, LearningMapping.INSTANCE::fromAvro);

  /** State of a workload in planning, in stores. */
  public static final Codec<PlanningState, io.shardtide.avro.PlanningHeader> PLANNING_HEADER =
      of(PlanMapping.INSTANCE::toAvro, PlanMapping.INSTANCE::fromAvro);

  /** State of a workload in feedback, in stores. */
  public static final Codec<FeedbackState, io.shardtide.avro.FeedbackHeader> FEEDBACK_HEADER =
      of(LearningMapping.INSTANCE::toAvro, LearningMapping.INSTANCE::fromAvro);

  /** Residuals, in stores. */
  public static final Codec<ResidualWindow, io.shardtide.avro.ResidualWindow> RESIDUAL_WINDOW =
      of(LearningMapping.INSTANCE::toAvro, LearningMapping.INSTANCE::fromAvro);

  /** Tables with the generation of their last change, in stores. */
  public static final Codec<VersionedTable, io.shardtide.avro.DatedTable> DATED_TABLE =
      of(LearningMapping.INSTANCE::toAvro, LearningMapping.INSTANCE::fromAvro);

  /** Tables, in stores. */
  public static final Codec<TableSpec, io.shardtide.avro.TableSpec> TABLE_SPEC =
      of(SpecMapping.INSTANCE::toAvro, SpecMapping.INSTANCE::fromAvro);

  /** Tables with their predictions, in stores. */
  public static final Codec<VersionedPrediction, io.shardtide.avro.DatedPrediction>
      DATED_PREDICTION = of(TablePredictionMapping::toAvro, TablePredictionMapping::fromAvro);

  /** State of a workload, in stores. */
  public static final Codec<WorkloadState, io.shardtide.avro.WorkloadHeader> WORKLOAD_HEADER =
      of(WorkloadMapping.INSTANCE::toAvro, WorkloadMapping.INSTANCE::fromAvro);

  /** Pools as publishers set them. */
  public static final Codec<Pool, io.shardtide.avro.PoolSpec> POOL =
      of(PoolMapping.INSTANCE::toAvro, PoolMapping.INSTANCE::setFromAvro);

  /** Measured bandwidth between the nodes of a pool. */
  public static final Codec<PoolLinks, io.shardtide.avro.PoolLinks> POOL_LINKS =
      of(
          links -> LinksMapping.toAvro(Optional.of(links)),
          avro -> LinksMapping.fromAvro(avro).orElseThrow());

  /** Changes to pools. */
  public static final Codec<PoolChange, io.shardtide.avro.PoolChange> POOL_CHANGE =
      of(PoolMapping.INSTANCE::toAvro, PoolMapping.INSTANCE::fromAvro);

  /** Requests for throughput curves. */
  public static final Codec<CurveRequest, io.shardtide.avro.CurveRequest> CURVE_REQUEST =
      of(PoolMapping.INSTANCE::toAvro, PoolMapping.INSTANCE::fromAvro);

  /** Throughput curves. */
  public static final Codec<CurveReport, io.shardtide.avro.CurveReport> CURVE_REPORT =
      of(PoolMapping.INSTANCE::toAvro, PoolMapping.INSTANCE::fromAvro);

  /** Allocations of pools. */
  public static final Codec<Allocation, io.shardtide.avro.Allocation> ALLOCATION =
      of(PoolMapping.INSTANCE::toAvro, PoolMapping.INSTANCE::fromAvro);

  /** State of a pool, in stores. */
  public static final Codec<StoredPool, io.shardtide.avro.PoolHeader> POOL_HEADER =
      of(PoolMapping.INSTANCE::toAvro, PoolMapping.INSTANCE::fromAvro);

  /** State of a workload with a claim, in stores. */
  public static final Codec<PoolMember, io.shardtide.avro.PoolMember> POOL_MEMBER =
      of(PoolMapping.INSTANCE::toAvro, PoolMapping.INSTANCE::fromAvro);

  /** State of a workload whose throughput may be requested, in stores. */
  public static final Codec<CurveState, io.shardtide.avro.CurveHeader> CURVE_HEADER =
      of(PoolMapping.INSTANCE::toAvro, PoolMapping.INSTANCE::fromAvro);

  /** Reports of how full hashed tables are. */
  public static final Codec<FillReport, io.shardtide.avro.FillReport> FILL_REPORT =
      of(GrowthMapping.INSTANCE::toAvro, GrowthMapping.INSTANCE::fromAvro);

  /** Forecasts of hashed tables. */
  public static final Codec<TableForecasts, io.shardtide.avro.TableForecasts> TABLE_FORECASTS =
      of(GrowthMapping.INSTANCE::toAvro, GrowthMapping.INSTANCE::fromAvro);

  /** State of a workload whose hashed tables are followed, in stores. */
  public static final Codec<GrowthState, io.shardtide.avro.GrowthHeader> GROWTH_HEADER =
      of(GrowthMapping.INSTANCE::toAvro, GrowthMapping.INSTANCE::fromAvro);

  /** What was reported of a hashed table, in stores. */
  public static final Codec<TableGrowth, io.shardtide.avro.TableGrowth> TABLE_GROWTH =
      of(GrowthMapping.INSTANCE::toAvro, GrowthMapping.INSTANCE::fromAvro);

  /**
   * Returns a codec.
   *
   * @param type none: the compiler makes an array of the generated class
   */
  @SafeVarargs
  private static <V, A extends SpecificRecord> Codec<V, A> of(
      Function<V, A> toAvro, Function<A, V> fromAvro, A... type) {
    @SuppressWarnings("unchecked") // That of an array of A.
    Class<A> avroType = (Class<A>) type.getClass().getComponentType();
    return new Codec<>(avroType, toAvro, fromAvro);
  }

  /** Returns the writer's schema. */
  public Schema schema() {
    return SpecificData.get().getSchema(avroType);
  }
}
