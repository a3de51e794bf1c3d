package io.shardtide.views;

import io.shardtide.pool.CurvePoint;
import io.shardtide.pool.ThroughputCurve;
import java.util.List;
import java.util.OptionalDouble;

/**
 * The predicted throughput of a workload by number of devices.
 *
 * @param generation the workload's generation
 * @param modelId the cost model that predicted it
 * @param simulated whether that model was trained on simulated costs; false if it is not known
 * @param batchSize samples in a batch over all devices
 * @param points the predicted steps, ascending by devices
 */
public record PoolCurve(
    long generation,
    String modelId,
    boolean simulated,
    int batchSize,
    List<PredictedPoint> points) {

  /**
   * A predicted step.
   *
   * @param devices number of devices
   * @param stepMs predicted cost of a step in milliseconds; empty if the tables do not fit
   * @param samplesPerSecond predicted samples a second; empty if the tables do not fit
   */
  public record PredictedPoint(
      int devices, OptionalDouble stepMs, OptionalDouble samplesPerSecond) {}

  static PoolCurve of(ThroughputCurve curve, boolean simulated) {
    return new PoolCurve(
        curve.generation(),
        curve.modelId(),
        simulated,
        curve.cluster().batchSize(),
        curve.points().stream().map(point -> point(curve, point)).toList());
  }

  private static PredictedPoint point(ThroughputCurve curve, CurvePoint point) {
    return new PredictedPoint(
        point.devices(), point.stepMs(), curve.samplesPerSecond(point.devices()));
  }
}
