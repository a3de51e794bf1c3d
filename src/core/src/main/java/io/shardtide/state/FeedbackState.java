package io.shardtide.state;

import io.shardtide.plan.MeasuredCosts;
import io.shardtide.workload.ClusterSpec;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What feedback stores of a workload beside its tables, plans and residuals.
 *
 * @param cluster the workload's cluster; empty before its first prediction, and once it is deleted
 * @param batchSince generation of the workload that set the batch size, the hardware, the devices
 *     per node and the bytes of an element on the wire, or that deleted the workload
 * @param plans which plans are stored, and what the trainer reported about them
 * @param measurements ids of the latest measurements, the oldest first
 * @param runs the latest runs that measured, the oldest first
 * @param measuredPlan the plan that was measured last; empty for none
 * @param planMeasurements number of consecutive measurements of that plan
 * @param speeds the positions of the measured plan that are slow, or were slow lately
 */
@RecordBuilder
public record FeedbackState(
    Optional<ClusterSpec> cluster,
    long batchSince,
    PlanHistory plans,
    List<String> measurements,
    List<MeasuredRun> runs,
    String measuredPlan,
    long planMeasurements,
    List<SpeedHistory> speeds) {

  /** A client's retries end within seconds, so that duplicates follow closely. */
  public static final int REMEMBERED_MEASUREMENTS = 32;

  /** Two suffice for a trainer and its successor. */
  public static final int REMEMBERED_RUNS = 8;

  /** Before the first prediction. */
  public static final FeedbackState NONE =
      new FeedbackState(
          Optional.empty(), 0, PlanHistory.NONE, List.of(), List.of(), "", 0, List.of());

  /**
   * Progress of a trainer's run.
   *
   * @param run the run
   * @param step the last step that it measured
   */
  public record MeasuredRun(String run, long step) {}

  /** Checks that nothing is missing. */
  public FeedbackState {
    measurements = List.copyOf(measurements);
    runs = List.copyOf(runs);
    speeds = List.copyOf(speeds);
  }

  /**
   * Returns the header of a deleted workload: the generation is kept, and what other topics say of
   * later ones.
   */
  public static FeedbackState deleted(long generation, PlanHistory later) {
    return NONE.with().batchSince(generation).plans(later).build();
  }

  /**
   * Returns whether the workload was deleted after a generation, and not created again. Plans are
   * on another topic than deletions, so that a plan may be read after the deletion that follows it.
   */
  public boolean isDeletedAfter(long generation) {
    return cluster.isEmpty() && generation <= batchSince;
  }

  /** Returns the last step that a run measured; empty if the run is not stored. */
  public OptionalLong lastStep(String run) {
    return runs.stream().filter(r -> r.run().equals(run)).mapToLong(MeasuredRun::step).findFirst();
  }

  /** Returns this with the cluster of a generation. */
  public FeedbackState with(ClusterSpec next, long generation) {
    boolean same = cluster.filter(c -> hasSameCosts(c, next)).isPresent();
    return with()
        .cluster(Optional.of(next))
        .batchSince(same ? batchSince : generation)
        .speeds(
            cluster.filter(c -> c.hardware().equals(next.hardware())).isPresent()
                ? speeds.stream().filter(of -> of.position() < next.devices()).toList()
                : List.of())
        .build();
  }

  /** Returns whether a plan for one cluster costs the same on the other. */
  private static boolean hasSameCosts(ClusterSpec one, ClusterSpec other) {
    return one.batchSize() == other.batchSize()
        && one.hardware().equals(other.hardware())
        && one.devicesPerNode() == other.devicesPerNode()
        && one.forwardBytesPerElement() == other.forwardBytesPerElement()
        && one.backwardBytesPerElement() == other.backwardBytesPerElement();
  }

  /** Returns this after a measurement. */
  public FeedbackState measured(MeasuredCosts measured) {
    List<MeasuredRun> others = new ArrayList<>(runs);
    others.removeIf(r -> r.run().equals(measured.run()));
    return with()
        .measurements(Newest.with(measurements, measured.measurementId(), REMEMBERED_MEASUREMENTS))
        .runs(
            Newest.with(others, new MeasuredRun(measured.run(), measured.step()), REMEMBERED_RUNS))
        .measuredPlan(measured.planId())
        .planMeasurements(measured.planId().equals(measuredPlan) ? planMeasurements + 1 : 1)
        .build();
  }

  /** Returns a builder of a copy. */
  public FeedbackStateBuilder with() {
    return FeedbackStateBuilder.builder(this);
  }
}
