package io.shardtide.learn;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostSample;
import io.shardtide.learn.DriftMonitor.MeasuredQuantity;
import io.shardtide.plan.CostQuantity;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.FeedbackState;
import io.shardtide.state.PlanHistory;
import io.shardtide.state.SpeedHistory;
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Compares measured with predicted costs. Tracks each workload's tables, plans and running plan;
 * turns measurements into training samples and raises drift alarms.
 *
 * @param isOtherHardware whether a model, by id, still has the costs of other hardware
 */
public record FeedbackStep(Predicate<String> isOtherHardware) {

  /** Applies one part of a generation's predictions. */
  public void onPredictions(FeedbackTables store, CostPredictions part) {
    String id = part.workloadId();
    store.apply(part);
    FeedbackState before = store.header(id);
    FeedbackState after = before.with(part.cluster(), part.generation());
    if (part.isDeletion()) {
      List<String> deleted =
          Stream.concat(before.plans().ids().stream(), Stream.of(before.measuredPlan()))
              .filter(
                  plan ->
                      store.plans().get(id, plan).stream()
                          .allMatch(p -> p.generation() <= part.generation()))
              .toList();
      deleted.forEach(plan -> store.plans().delete(id, plan));
      store.windows().range(id).keySet().forEach(series -> store.windows().delete(id, series));
      after = FeedbackState.deleted(part.generation(), before.plans().without(deleted));
    }
    store.putHeader(id, after);
  }

  /**
   * Stores a plan, and removes the oldest one that nothing runs or returns to. Ignores a plan of a
   * workload that was deleted since.
   */
  public void onPlan(FeedbackTables store, ShardingPlan plan) {
    String id = plan.workloadId();
    FeedbackState header = store.header(id);
    if (header.isDeletedAfter(plan.generation())) {
      return;
    }
    store.plans().put(id, plan.planId(), plan);
    store.putHeader(
        id,
        header
            .with()
            .plans(
                header
                    .plans()
                    .follow(
                        plan,
                        of -> store.plans().get(id, of).flatMap(p -> p.origin().previousPlanId()),
                        expired -> removeUnmeasured(store, header, id, expired)))
            .build());
  }

  /** The plan that was measured last is kept: speeds are of positions in it. */
  private static void removeUnmeasured(
      FeedbackTables store, FeedbackState header, String id, String plan) {
    if (!plan.equals(header.measuredPlan())) {
      store.plans().delete(id, plan);
    }
  }

  /**
   * Processes a measurement.
   *
   * @param store unchanged if the measurement is rejected
   * @throws RejectedException if the measurement is stale, a duplicate, or not comparable with its
   *     plan
   */
  public Feedback measure(FeedbackTables store, MeasuredCosts measured) {
    String id = measured.workloadId();
    FeedbackState before = store.header(id);
    checkOrder(before, measured);
    ShardingPlan plan =
        store.plans().get(id, measured.planId()).orElseThrow(() -> unknown(before, measured));
    MeasuredPlan comparable = MeasuredPlan.of(store, before, plan, measured);
    comparable.comparison().check(isOtherHardware.test(plan.origin().modelId()));

    FeedbackState header = before.measured(measured);
    Optional<PlanShards> last =
        store.plans().get(id, before.measuredPlan()).map(ShardingPlan::placed);
    Optional<Regrouping> regrouping =
        last.filter(placed -> !plan.placed().keepsPositionsOf(placed))
            .map(placed -> new Regrouping(placed, plan.placed()));
    if (regrouping.isPresent()) {
      header = header.with().speeds(regrouping.get().histories(header.speeds())).build();
    }
    String hardware = comparable.cluster().hardware();
    ResidualWindows windows = new ResidualWindows(store.windows(), id);
    SortedMap<ExclusionReason, Integer> excluded = new TreeMap<>();
    Map<CostQuantity, MeasuredQuantity> quantities = new EnumMap<>(CostQuantity.class);
    for (CostQuantity quantity : CostQuantity.values()) {
      SortedMap<Integer, Double> residuals = comparable.comparison().residuals(quantity, excluded);
      quantities.put(
          quantity,
          new MeasuredQuantity(
              windows, header, plan, hardware, quantity, measured.measuredAt(), residuals));
    }
    regrouping.ifPresent(to -> quantities.values().forEach(to::moveWindows));
    List<DriftAlarm> alarms = new ArrayList<>();
    SortedMap<CostQuantity, Double> ratios = new TreeMap<>();
    quantities.forEach(
        (quantity, of) -> {
          if (!of.residuals().isEmpty()) {
            Attribution attribution = Attribution.of(of.residuals());
            alarms.addAll(DriftMonitor.add(of, attribution));
            ratios.put(quantity, StrictMath.exp(attribution.common()));
          }
        });
    List<CostSample> possible = comparable.samples(measured);
    List<CostSample> samples = withoutStragglers(possible, quantities, measured.devices().size());
    if (samples.size() < possible.size()) {
      excluded.put(ExclusionReason.SLOW_DEVICE, possible.size() - samples.size());
    }
    FeedbackState after =
        header.with().speeds(SpeedMonitor.add(header.speeds(), quantities)).build();
    List<DeviceSpeed> slow = slow(after, plan.placed());
    Optional<DeviceSpeeds> speeds =
        slow.equals(slow(before, last.orElse(plan.placed())))
            ? Optional.empty()
            : Optional.of(new DeviceSpeeds(id, plan.planId(), measured.measuredAt(), slow));
    windows.store();
    store.putHeader(id, after);
    if (!after.plans().ids().contains(before.measuredPlan())) {
      removeUnmeasured(store, after, id, before.measuredPlan());
    }
    return new Feedback(hardware, samples, alarms, speeds, ratios, excluded);
  }

  /** Returns the samples without those of devices, or of links, that are slow. */
  private static List<CostSample> withoutStragglers(
      List<CostSample> samples, Map<CostQuantity, MeasuredQuantity> quantities, int devices) {
    Set<Integer> slowComputing = quantities.get(CostQuantity.COMPUTE).stragglers(devices);
    boolean isSlowCommunicating =
        Stream.of(CostQuantity.FORWARD, CostQuantity.BACKWARD)
            .anyMatch(quantity -> !quantities.get(quantity).stragglers(devices).isEmpty());
    return samples.stream()
        .filter(
            sample ->
                sample.cost() instanceof CostSample.Computation computation
                    ? !slowComputing.contains(computation.device())
                    : !isSlowCommunicating)
        .toList();
  }

  /**
   * Returns the slow ranks of the workload's cluster: a measurement says of a position in replica
   * groups what the slowest rank with it does.
   *
   * @param placed the plan whose positions the header's histories are of
   */
  private static List<DeviceSpeed> slow(FeedbackState header, PlanShards placed) {
    int ranks = Math.min(placed.ranks(), header.cluster().map(ClusterSpec::devices).orElse(0));
    List<DeviceSpeed> slow = new ArrayList<>();
    for (SpeedHistory history : header.speeds()) {
      for (int rank : placed.ranks(history.position())) {
        // Positions beyond the group are of a plan that is no longer stored.
        if (history.slow().isPresent() && history.position() < placed.devices() && rank < ranks) {
          slow.add(history.slow().get().of(rank));
        }
      }
    }
    slow.sort(DeviceSpeed.ORDER);
    return slow;
  }

  private static void checkOrder(FeedbackState header, MeasuredCosts measured) {
    if (header.measurements().contains(measured.measurementId())) {
      throw RejectionReason.DUPLICATE_MEASUREMENT.failure(
          "Measurement \"%s\" of workload \"%s\" was already processed; each measurement must have a new id"
              .formatted(measured.measurementId(), measured.workloadId()));
    }
    int index = header.plans().ids().indexOf(measured.planId());
    if (index < 0) {
      throw unknown(header, measured);
    }
    Optional<String> running = header.plans().running();
    if (running.isPresent() && index < header.plans().ids().indexOf(running.get())) {
      throw RejectionReason.OUTDATED_MEASUREMENT.failure(
          "The measurement of workload \"%s\" must be of the running plan %s or a later one, got plan %s"
              .formatted(
                  measured.workloadId(),
                  CanonicalHash.shown(running.get()),
                  CanonicalHash.shown(measured.planId())));
    }
    OptionalLong last = header.lastStep(measured.run());
    if (last.isPresent() && measured.step() <= last.getAsLong()) {
      throw RejectionReason.STALE_MEASUREMENT.failure(
          "The step of a measurement of workload \"%s\" must be above %s, the last one of its run, got %s. A trainer that restarts from a checkpoint needs a new run id"
              .formatted(measured.workloadId(), last.getAsLong(), measured.step()));
    }
  }

  private static RejectedException unknown(FeedbackState header, MeasuredCosts measured) {
    return RejectionReason.UNKNOWN_PLAN.failure(
        "The measurement is of unknown plan %s; workload \"%s\" has %s stored plans (the latest %s, the running one and the one before it)"
            .formatted(
                CanonicalHash.shown(measured.planId()),
                measured.workloadId(),
                header.plans().ids().size(),
                PlanHistory.MOST_FOLLOWED));
  }
}
