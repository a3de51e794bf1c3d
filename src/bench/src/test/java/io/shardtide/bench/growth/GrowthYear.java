package io.shardtide.bench.growth;

import io.shardtide.bench.growth.GrowthResult.AnnouncedEnd;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.growth.Forecaster;
import io.shardtide.growth.TableForecast;
import io.shardtide.growth.TableForecasts;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.workload.TableSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A simulated year of a workload whose hashed tables grow. Its trainer reports them every 6 hours,
 * and adopts a plan 6 hours after it was made; until then, a table has the capacity of the plan
 * before. Beside it, a planner that knows the future, with the same policy and delay.
 */
final class GrowthYear {
  /** Hours between reports, and from a plan to its adoption. */
  private static final int REPORT_HOURS = 6;

  private static final int REPORTS_PER_DAY = GrowingTable.HOURS / REPORT_HOURS;

  private final GrowthScenario scenario;
  private final GrowingWorkload workload;
  private final SortedMap<String, TableSpec> hashed;
  private final GrowthLoop loop;
  private final KnowingPlanner knowing;
  private final ForecastChecks checks = new ForecastChecks();
  private final List<AnnouncedEnd> announced = new ArrayList<>();
  private double bytes;
  private double knownBytes;
  private double usedBytes;
  private Optional<Double> full = Optional.empty();
  private Optional<Double> knownFull = Optional.empty();
  private Optional<Double> memoryFull = Optional.empty();

  private GrowthYear(GrowthScenario scenario, ModelBundle bundle, TowerPredictor predictor) {
    this.scenario = scenario;
    workload = GrowingWorkload.draw(scenario, bundle.hardware());
    hashed = workload.hashed();
    loop = new GrowthLoop(bundle, predictor, CapacityPolicy.DEFAULTS, workload);
    knowing = new KnowingPlanner(CapacityPolicy.DEFAULTS, workload.growing(), loop.capacities());
  }

  /**
   * Simulates a scenario. With too little memory, it ends when a table is full.
   *
   * @param scenario what is simulated
   * @param bundle a model
   * @param predictor its towers
   */
  static GrowthResult run(GrowthScenario scenario, ModelBundle bundle, TowerPredictor predictor) {
    return new GrowthYear(scenario, bundle, predictor).run();
  }

  private GrowthResult run() {
    int hours = scenario.days() * GrowingTable.HOURS;
    int hour = 0;
    while (hour < hours && !isOver()) {
      if (hour % REPORT_HOURS == 0) {
        report(hour);
      }
      hour++;
      count(hour);
    }
    List<ShardingPlan> resized = loop.plans().subList(1, loop.plans().size());
    return new GrowthResult(
        days(hour),
        loop.resizes(),
        knowing.resizes(),
        resized.size(),
        loop.notFound(),
        resized.stream().mapToInt(ShardingPlan::movedShards).sum(),
        resized.stream().mapToLong(ShardingPlan::movedBytes).sum(),
        loop.fullestDevice(),
        full,
        knownFull,
        bytes / knownBytes,
        usedBytes / bytes,
        checks.result(),
        memoryFull,
        announced);
  }

  private boolean isOver() {
    return scenario.memory() == GrowthScenario.MemoryLimit.SHORT
        && full.isPresent()
        && memoryFull.isPresent();
  }

  private static double days(int hour) {
    return (double) hour / GrowingTable.HOURS;
  }

  private void report(int hour) {
    Instant at = Instant.EPOCH.plus(Duration.ofHours(hour));
    loop.adopt(at);
    knowing.report(hour);
    SortedMap<String, Long> slots = loop.capacities();
    SortedMap<String, Long> ids = new TreeMap<>();
    workload.growing().forEach((name, table) -> ids.put(name, table.ids(hour)));
    TableForecasts forecasts = loop.report(at, ids);
    int day = hour / GrowingTable.HOURS;
    // Once a day, at another hour each day.
    if (hour % GrowingTable.HOURS == REPORT_HOURS * (day % REPORTS_PER_DAY)) {
      check(forecasts, slots, hour);
    }
  }

  private void check(TableForecasts forecasts, SortedMap<String, Long> slots, int hour) {
    for (TableForecast forecast : forecasts.tables()) {
      String name = forecast.table();
      GrowingTable table = workload.growing().get(name);
      double described = hashed.get(name).storage().orElseThrow().idsPerDay();
      checks.ids(Forecaster.forecast(loop.history(name), described), table, hour);
      checks.untilFull(forecast.daysUntilFull(), table, slots.get(name), hour);
    }
    forecasts.memoryEnd().ifPresent(end -> announced.add(new AnnouncedEnd(days(hour), end.days())));
  }

  /** Counts an hour: the memory that tables took, and which are full at its end. */
  private void count(int hour) {
    SortedMap<String, Long> slots = loop.capacities();
    Map<String, Long> known = knowing.capacities();
    double needed = 0;
    for (Map.Entry<String, GrowingTable> entry : workload.growing().entrySet()) {
      String name = entry.getKey();
      double ofSlot = GrowingWorkload.bytesPerSlot(hashed.get(name));
      long needs = GrowingWorkload.slots((double) entry.getValue().ids(hour));
      bytes += ofSlot * slots.get(name);
      knownBytes += ofSlot * known.get(name);
      usedBytes += ofSlot * Math.min(needs, slots.get(name));
      needed += ofSlot * Math.max(needs, slots.get(name));
      if (needs > slots.get(name) && full.isEmpty()) {
        full = Optional.of(days(hour));
      }
      if (needs > known.get(name) && knownFull.isEmpty()) {
        knownFull = Optional.of(days(hour));
      }
    }
    if (needed > workload.bytesOfHashed() && memoryFull.isEmpty()) {
      memoryFull = Optional.of(days(hour));
    }
  }
}
