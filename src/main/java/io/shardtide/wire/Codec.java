package io.shardtide.wire;

import io.shardtide.avro.CostModelBundle;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.DatedPrediction;
import io.shardtide.cost.ModelBundle;
import io.shardtide.domain.DatedTable;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.FeedbackHeader;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.PlanningHeader;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.ResidualWindow;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.TrainingState;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.domain.WorkloadHeader;
import java.util.function.Function;
import org.apache.avro.Schema;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificRecord;

/**
 * Between a value of the program and its Avro record.
 *
 * @param avroType the generated class
 * @param toAvro gives the record of a value
 * @param fromAvro gives the value of a record; throws {@link io.shardtide.domain.RejectedException}
 *     where a field is outside its legal range
 * @param <V> the program's value
 * @param <A> the generated Avro record
 */
public record Codec<V, A extends SpecificRecord>(
    Class<A> avroType, Function<V, A> toAvro, Function<A, V> fromAvro) {

  static {
    AvroLimits.set();
  }

  /** Changes to workloads. */
  public static final Codec<WorkloadChange, io.shardtide.avro.WorkloadChange> WORKLOAD_CHANGE =
      new Codec<>(
          io.shardtide.avro.WorkloadChange.class,
          WorkloadChangeMapping::toAvro,
          WorkloadChangeMapping::fromAvro);

  /** What the model says of tables. */
  public static final Codec<CostPredictions, io.shardtide.avro.CostPredictions> COST_PREDICTIONS =
      new Codec<>(
          io.shardtide.avro.CostPredictions.class,
          CostPredictionsMapping::toAvro,
          CostPredictionsMapping::fromAvro);

  /** Plans. */
  public static final Codec<ShardingPlan, io.shardtide.avro.ShardingPlan> SHARDING_PLAN =
      new Codec<>(
          io.shardtide.avro.ShardingPlan.class,
          ShardingPlanMapping::toAvro,
          ShardingPlanMapping::fromAvro);

  /** Workloads that do not fit. */
  public static final Codec<InfeasibleWorkload, io.shardtide.avro.InfeasibleWorkload>
      INFEASIBLE_WORKLOAD =
          new Codec<>(
              io.shardtide.avro.InfeasibleWorkload.class,
              InfeasibleWorkloadMapping::toAvro,
              InfeasibleWorkloadMapping::fromAvro);

  /** Events that were not applied. */
  public static final Codec<RejectedEvent, io.shardtide.avro.RejectedEvent> REJECTED_EVENT =
      new Codec<>(
          io.shardtide.avro.RejectedEvent.class,
          RejectedEventMapping::toAvro,
          RejectedEventMapping::fromAvro);

  /** Trained models. */
  public static final Codec<ModelBundle, CostModelBundle> MODEL_BUNDLE =
      new Codec<>(CostModelBundle.class, ModelBundleMapping::toAvro, ModelBundleMapping::fromAvro);

  /** What trainers do with plans. */
  public static final Codec<PlanStatus, io.shardtide.avro.PlanStatus> PLAN_STATUS =
      new Codec<>(
          io.shardtide.avro.PlanStatus.class,
          PlanStatusMapping::toAvro,
          PlanStatusMapping::fromAvro);

  /** What trainers measure. */
  public static final Codec<MeasuredCosts, io.shardtide.avro.MeasuredCosts> MEASURED_COSTS =
      new Codec<>(
          io.shardtide.avro.MeasuredCosts.class,
          MeasuredCostsMapping::toAvro,
          MeasuredCostsMapping::fromAvro);

  /** What models are trained on. */
  public static final Codec<CostSample, io.shardtide.avro.CostSample> COST_SAMPLE =
      new Codec<>(
          io.shardtide.avro.CostSample.class,
          CostSampleMapping::toAvro,
          CostSampleMapping::fromAvro);

  /** Where measured costs went away from what was predicted. */
  public static final Codec<DriftAlarm, io.shardtide.avro.DriftAlarm> DRIFT_ALARM =
      new Codec<>(
          io.shardtide.avro.DriftAlarm.class, LearningMapping::toAvro, LearningMapping::fromAvro);

  /** Whether retrained models took over. */
  public static final Codec<ModelDecision, io.shardtide.avro.ModelDecision> MODEL_DECISION =
      new Codec<>(
          io.shardtide.avro.ModelDecision.class,
          LearningMapping::toAvro,
          LearningMapping::fromAvro);

  /** What is remembered between trainings, in stores. */
  public static final Codec<TrainingState, io.shardtide.avro.TrainingState> TRAINING_STATE =
      new Codec<>(
          io.shardtide.avro.TrainingState.class,
          TrainingStateMapping::toAvro,
          TrainingStateMapping::fromAvro);

  /** What planning keeps of a workload, in stores. */
  public static final Codec<PlanningHeader, io.shardtide.avro.PlanningHeader> PLANNING_HEADER =
      new Codec<>(
          io.shardtide.avro.PlanningHeader.class,
          PlanningHeaderMapping::toAvro,
          PlanningHeaderMapping::fromAvro);

  /** What feedback keeps of a workload, in stores. */
  public static final Codec<FeedbackHeader, io.shardtide.avro.FeedbackHeader> FEEDBACK_HEADER =
      new Codec<>(
          io.shardtide.avro.FeedbackHeader.class,
          FeedbackMapping::toAvro,
          FeedbackMapping::fromAvro);

  /** Residuals, in stores. */
  public static final Codec<ResidualWindow, io.shardtide.avro.ResidualWindow> RESIDUAL_WINDOW =
      new Codec<>(
          io.shardtide.avro.ResidualWindow.class,
          FeedbackMapping::toAvro,
          FeedbackMapping::fromAvro);

  /** Tables with their age, in stores. */
  public static final Codec<DatedTable, io.shardtide.avro.DatedTable> DATED_TABLE =
      new Codec<>(
          io.shardtide.avro.DatedTable.class, FeedbackMapping::toAvro, FeedbackMapping::fromAvro);

  /** Tables, in stores. */
  public static final Codec<TableSpec, io.shardtide.avro.TableSpec> TABLE_SPEC =
      new Codec<>(io.shardtide.avro.TableSpec.class, SpecMapping::toAvro, SpecMapping::fromAvro);

  /** Tables with their predictions, in stores. */
  public static final Codec<DatedPrediction, io.shardtide.avro.DatedPrediction> DATED_PREDICTION =
      new Codec<>(
          io.shardtide.avro.DatedPrediction.class,
          TablePredictionMapping::toAvro,
          TablePredictionMapping::fromAvro);

  /** What is kept of a workload, in stores. */
  public static final Codec<WorkloadHeader, io.shardtide.avro.WorkloadHeader> WORKLOAD_HEADER =
      new Codec<>(
          io.shardtide.avro.WorkloadHeader.class,
          WorkloadHeaderMapping::toAvro,
          WorkloadHeaderMapping::fromAvro);

  /** Returns the schema that is written. */
  public Schema schema() {
    return SpecificData.get().getSchema(avroType);
  }
}
