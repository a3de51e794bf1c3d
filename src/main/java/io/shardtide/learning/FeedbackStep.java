package io.shardtide.learning;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.CostSample;
import io.shardtide.domain.CanonicalHash;
import io.shardtide.domain.CostQuantity;
import io.shardtide.domain.DatedTable;
import io.shardtide.domain.DetectorKind;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.FeedbackHeader;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.RememberedPlans;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Puts measured beside predicted costs: knows which plan of a workload runs and what its tables
 * are, gives samples to learn from, and raises alarms.
 */
public final class FeedbackStep {
  private final DriftMonitor watch;

  /**
   * @param kind how it is noticed that a level has changed
   */
  public FeedbackStep(DetectorKind kind) {
    watch = new DriftMonitor(kind);
  }

  /** Takes one part of a generation's predictions. */
  public void take(FeedbackStore store, CostPredictions part) {
    String id = part.workloadId();
    if (part.update().orElse(null) instanceof Update.Predicted predicted) {
      TableSpec table = predicted.prediction().table();
      Optional<DatedTable> known = store.table(id, table.name());
      // A table that is predicted anew, by another model, say, is as old as it was.
      if (known.isEmpty() || !known.get().table().equals(table)) {
        store.putTable(id, new DatedTable(table, part.generation()));
      }
    } else if (part.update().orElse(null) instanceof Update.Forgotten forgotten) {
      store.removeTable(id, forgotten.table());
    }
    FeedbackHeader before = store.header(id);
    FeedbackHeader after = before.with(part.cluster(), part.generation());
    if (!after.equals(before)) {
      store.putHeader(id, after);
    }
  }

  /** Takes a plan; forgets what is too old and does not run. */
  public void take(FeedbackStore store, ShardingPlan plan) {
    String id = plan.workloadId();
    FeedbackHeader header = store.header(id);
    store.putPlan(plan);
    store.putHeader(
        id,
        header.with(
            header.plans().with(plan.planId(), forgotten -> store.removePlan(id, forgotten))));
  }

  /**
   * Hears from a trainer which plan runs. What planning refuses, and says so, is passed over here.
   */
  public void report(FeedbackStore store, PlanStatus status) {
    String id = status.workloadId();
    FeedbackHeader header = store.header(id);
    if (!header.plans().accepts(status)) {
      return;
    }
    store.putHeader(
        id,
        header.with(
            header
                .plans()
                .reported(
                    status, plan -> store.plan(id, plan).flatMap(ShardingPlan::previousPlanId))));
  }

  /**
   * Takes a measurement.
   *
   * @param store what is remembered; unchanged if the measurement is rejected
   * @throws RejectedException if it is late, was taken before, or cannot be compared
   */
  public Feedback measure(FeedbackStore store, MeasuredCosts measured) {
    String id = measured.workloadId();
    FeedbackHeader before = store.header(id);
    checkOrder(before, measured);
    ShardingPlan plan =
        store.plan(id, measured.planId()).orElseThrow(() -> unknown(before, measured));
    MeasuredPlan comparable = MeasuredPlan.of(store, before, plan, measured);

    FeedbackHeader header = before.measured(measured);
    store.putHeader(id, header);
    String hardware = comparable.cluster().hardware();
    List<DriftAlarm> alarms = new ArrayList<>();
    SortedMap<CostQuantity, Double> ratios = new TreeMap<>();
    SortedMap<ExclusionReason, Integer> setAside = new TreeMap<>();
    SortedMap<CostQuantity, SortedSet<Integer>> slow = new TreeMap<>();
    for (CostQuantity quantity : CostQuantity.values()) {
      DriftMonitor.MeasuredQuantity of =
          new DriftMonitor.MeasuredQuantity(
              store, header, plan, hardware, quantity, measured.measuredAt());
      SortedMap<Integer, Double> residuals = comparable.comparison().residuals(quantity, setAside);
      if (!residuals.isEmpty()) {
        Attribution attribution = Attribution.of(residuals);
        alarms.addAll(watch.take(of, attribution));
        ratios.put(quantity, StrictMath.exp(attribution.common()));
      }
      SortedSet<Integer> devices = new TreeSet<>();
      for (int d = 0; d < measured.devices().size(); d++) {
        if (watch.isSlow(of, d)) {
          devices.add(d);
        }
      }
      slow.put(quantity, devices);
    }
    boolean exchanges =
        slow.get(CostQuantity.FORWARD).isEmpty() && slow.get(CostQuantity.BACKWARD).isEmpty();
    SortedSet<Integer> slowToCompute = slow.get(CostQuantity.COMPUTE);
    List<CostSample> samples =
        comparable.samples(measured, d -> !slowToCompute.contains(d), exchanges);
    int possible = comparable.shards().size() + (comparable.hasExchange() ? 1 : 0);
    if (samples.size() < possible) {
      setAside.put(ExclusionReason.SLOW_DEVICE, possible - samples.size());
    }
    return new Feedback(hardware, samples, alarms, ratios, setAside);
  }

  private static void checkOrder(FeedbackHeader header, MeasuredCosts measured) {
    if (header.measurements().contains(measured.measurementId())) {
      throw new RejectedException(
          RejectionReason.DUPLICATE_MEASUREMENT,
          "Measurement \"%s\" of workload \"%s\" was taken before; legal is an id that is new"
              .formatted(measured.measurementId(), measured.workloadId()));
    }
    int index = header.plans().ids().indexOf(measured.planId());
    if (index < 0) {
      throw unknown(header, measured);
    }
    Optional<String> running = header.plans().running();
    if (running.isPresent() && index < header.plans().ids().indexOf(running.get())) {
      throw new RejectedException(
          RejectionReason.STALE_MEASUREMENT,
          "The measurement is of plan %s of workload \"%s\"; legal are plan %s, which runs, and later ones"
              .formatted(
                  CanonicalHash.shown(measured.planId()),
                  measured.workloadId(),
                  CanonicalHash.shown(running.get())));
    }
    OptionalLong last = header.lastStep(measured.run());
    if (last.isPresent() && measured.step() <= last.getAsLong()) {
      throw new RejectedException(
          RejectionReason.STALE_MEASUREMENT,
          "The measurement is of step %d of workload \"%s\"; legal are steps after %d, which was measured before. Maybe the trainer went back to a checkpoint and its run needs another name"
              .formatted(measured.step(), measured.workloadId(), last.getAsLong()));
    }
  }

  private static RejectedException unknown(FeedbackHeader header, MeasuredCosts measured) {
    return new RejectedException(
        RejectionReason.UNKNOWN_PLAN,
        "The measurement is of plan %s; legal are the plans of workload \"%s\" that are remembered: the %d latest and the one that runs, now %s"
            .formatted(
                CanonicalHash.shown(measured.planId()),
                measured.workloadId(),
                RememberedPlans.MOST,
                header.plans().ids().size()));
  }
}
