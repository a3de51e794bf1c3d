package io.shardtide.growth;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.StepMemory;
import io.shardtide.step.WorkloadTables.Changed;
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Eviction;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.Names;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * Follows how full hashed tables are, forecasts it, and asks for other capacities before a table is
 * full. What it asks for is a change of the workload as any other: predicted, planned and replayed
 * like those of publishers.
 *
 * @param policy when tables are resized, and for how long
 */
public record GrowthStep(CapacityPolicy policy) {
  /** The source of the changes. */
  public static final String SOURCE = "growth";

  /**
   * Share of the memory that a plan fills. Rows are split evenly, but whole tables and column parts
   * leave gaps.
   */
  public static final double FILLED = 0.95;

  /** A clock that is further ahead of the log than this is wrong. */
  private static final Duration MOST_AHEAD = Duration.ofHours(1);

  /**
   * What follows from a report.
   *
   * @param forecasts what is forecast now
   * @param change gives tables other capacities; empty if all stay
   * @param warning that memory will not hold the workload, if that is news
   */
  public record Growth(
      TableForecasts forecasts, Optional<WorkloadChange> change, Optional<MemoryWarning> warning) {}

  /**
   * Applies one part of a generation's predictions. A deletion leaves nothing of the workload: one
   * with its id begins afresh.
   *
   * @return whether the workload's latest forecasts are obsolete: none of their tables is hashed or
   *     exists any more
   */
  public boolean onPredictions(GrowthTables store, CostPredictions part) {
    String id = part.workloadId();
    GrowthState header = store.header(id);
    double fixed = header.fixedBytes();
    boolean wasReported = false;
    Optional<Changed<TableSpec>> changed = store.apply(part);
    if (changed.isPresent()) {
      String name = changed.get().name();
      Optional<TableSpec> table = changed.get().after();
      fixed += fixedBytes(table) - fixedBytes(changed.get().before());
      if (table.flatMap(TableSpec::storage).isEmpty()) {
        wasReported = store.growths().delete(id, name).isPresent();
      } else {
        store
            .growths()
            .get(id, name)
            .filter(growth -> growth.isResizedBy(table.get().rows()))
            .ifPresent(growth -> store.growths().put(id, name, growth.answered()));
      }
    }
    store.putHeader(id, header.with(part, fixed));
    return wasReported && store.growths().range(id).isEmpty();
  }

  private static double fixedBytes(Optional<TableSpec> table) {
    return table.filter(t -> t.storage().isEmpty()).map(t -> (double) t.bytes()).orElse(0.0);
  }

  /**
   * Processes a report.
   *
   * @param store unchanged if the report is rejected
   * @param report the report
   * @param loggedAtMs when it was written to the log, in milliseconds since 1970
   * @throws RejectedException if it is a duplicate, of an earlier time or run, of tables that the
   *     workload does not have or that are not hashed, or from a clock that is wrong
   */
  public Growth report(GrowthTables store, FillReport report, long loggedAtMs) {
    String id = report.workloadId();
    GrowthState header = store.header(id);
    check(header, report, loggedAtMs);
    long now = report.measuredAt().toEpochMilli();
    SortedMap<String, TableGrowth> growths = store.growths().range(id);
    Map<String, TableFill> fills = new HashMap<>();
    for (TableFill fill : report.tables()) {
      hashed(store, id, fill.table());
      growths.put(fill.table(), growth(store, report, fill));
      fills.put(fill.table(), fill);
    }
    Reported reported =
        new Reported(store, id, report.reportId(), report.measuredAt(), growths, fills);
    List<HashedTable> tables = reported.tables();
    List<Resize> resizes =
        new Capacities(policy)
            .resizes(tables, reported.memory()).stream()
                .map(resize -> growths.get(resize.table()).afterAsked(resize))
                .toList();
    SortedSet<String> changed = new TreeSet<>(fills.keySet());
    for (Resize resize : resizes) {
      growths.compute(resize.table(), (name, growth) -> growth.asked(resize.capacity(), now));
      changed.add(resize.table());
    }
    TableForecasts all = reported.forecasts(tables, resizes, policy);
    Optional<MemoryWarning> warning =
        all.memoryEnd()
            .map(end -> MemoryWarning.of(end, tables, policy, report.measuredAt()))
            .filter(of -> of.isNews(header.announced(), report.measuredAt(), policy));
    changed.forEach(name -> store.growths().put(id, name, growths.get(name)));
    store.putHeader(id, header.reported(report, warning));
    return new Growth(
        all, resizes.isEmpty() ? Optional.empty() : Optional.of(change(report, resizes)), warning);
  }

  private static void check(GrowthState header, FillReport report, long loggedAtMs) {
    String id = report.workloadId();
    if (header.cluster().isEmpty()) {
      throw RejectionReason.UNKNOWN_WORKLOAD.failure(
          "workload of a report of fill must have predictions, got unknown or deleted workload %s"
              .formatted(Names.quote(id)));
    }
    if (header.reports().contains(report.reportId())) {
      throw RejectionReason.DUPLICATE_MEASUREMENT.failure(
          "Report %s of workload %s was already processed; each report must have a new id"
              .formatted(Names.quote(report.reportId()), Names.quote(id)));
    }
    int run = header.runs().indexOf(report.run());
    if (run >= 0 && run < header.runs().size() - 1) {
      throw RejectionReason.OUTDATED_MEASUREMENT.failure(
          "run of a report of workload %s must be %s, which began to report later, or a new one, got %s. Maybe two jobs train the workload"
              .formatted(
                  Names.quote(id),
                  Names.quote(header.runs().get(header.runs().size() - 1)),
                  Names.quote(report.run())));
    }
    if (report.measuredAt().toEpochMilli() > loggedAtMs + MOST_AHEAD.toMillis()) {
      throw RejectionReason.INVALID_MEASUREMENT.failure(
          "time of a report of workload %s must be at most an hour after its record's, %s, got %s. Maybe the clock of %s is wrong"
              .formatted(
                  Names.quote(id),
                  Instant.ofEpochMilli(loggedAtMs),
                  report.measuredAt(),
                  Names.quote(report.source())));
    }
  }

  private static TableSpec hashed(GrowthTables store, String id, String name) {
    return store
        .tables()
        .get(id, name)
        .filter(table -> table.storage().isPresent())
        .orElseThrow(
            () ->
                RejectionReason.UNKNOWN_TABLE.failure(
                    "tables of a report of fill must be hashed tables of workload %s, got %s"
                        .formatted(Names.quote(id), Names.quote(name))));
  }

  private static TableGrowth growth(GrowthTables store, FillReport report, TableFill fill) {
    Fill now = new Fill(report.measuredAt().toEpochMilli(), (double) fill.sum(ShardFill::ids));
    long slots = fill.sum(ShardFill::slots);
    Optional<TableGrowth> before = store.growths().get(report.workloadId(), fill.table());
    if (before.isEmpty()) {
      return new TableGrowth(FillHistory.of(now), slots, 0, 0);
    }
    long last = before.get().history().last().atMs();
    if (now.atMs() <= last) {
      throw RejectionReason.STALE_MEASUREMENT.failure(
          "time of a report of table %s must be after %s, that of the latest one, got %s"
              .formatted(
                  Names.quote(fill.table()), Instant.ofEpochMilli(last), report.measuredAt()));
    }
    return before.get().with(now, slots);
  }

  private static HashedTable table(TableSpec spec, TableGrowth growth, long nowMs) {
    HashedStorage storage = spec.storage().orElseThrow();
    return new HashedTable(
        spec.name(),
        growth.capacity(spec.rows(), nowMs),
        (double) spec.bytes() / spec.rows(),
        Forecaster.forecast(growth.history(), storage.idsPerDay()),
        storage.eviction() == Eviction.LRU || storage.eviction() == Eviction.LFU,
        new HitCurve(storage.hitShares(), storage.ids()),
        spec.poolingFactor());
  }

  /**
   * What was reported of the hashed tables of a workload.
   *
   * @param reportId the latest report
   * @param at its time
   * @param growths what was reported so far, by table
   * @param fills what the latest report says, by table
   */
  private record Reported(
      GrowthTables store,
      String id,
      String reportId,
      Instant at,
      SortedMap<String, TableGrowth> growths,
      Map<String, TableFill> fills) {
    List<HashedTable> tables() {
      return growths.entrySet().stream()
          .map(of -> table(hashed(store, id, of.getKey()), of.getValue(), at.toEpochMilli()))
          .toList();
    }

    /**
     * Returns the bytes that a plan may fill: of device memory, without what a step needs there
     * whatever the plan, and of host memory, to which tables may be moved. Hashed tables have no
     * replica groups.
     */
    double memory() {
      ClusterSpec cluster = store.header(id).cluster().orElseThrow();
      double stepBytes =
          cluster.pipeline().isEmpty()
              ? 0
              : (double) cluster.devices()
                  * StepMemory.ofDevice(store.tables().range(id).values(), cluster);
      return FILLED * (cluster.allBytes() - stepBytes) - store.header(id).fixedBytes();
    }

    TableForecasts forecasts(
        List<HashedTable> tables, List<Resize> resizes, CapacityPolicy policy) {
      GrowthState header = store.header(id);
      return new TableForecasts(
          id,
          reportId,
          at,
          header.generation(),
          tables.stream().map(this::forecast).toList(),
          resizes,
          new Capacities(policy).memoryEnd(tables, memory()),
          Optional.of(new GrowthInputs(header.parts(), memory(), policy)));
    }

    private TableForecast forecast(HashedTable table) {
      Optional<TableFill> fill = Optional.ofNullable(fills.get(table.name()));
      Forecast forecast = table.forecast();
      TableGrowth growth = growths.get(table.name());
      return new TableForecast(
          table.name(),
          (long) forecast.now().ids(),
          growth.slots(),
          table.capacity(),
          fill.map(of -> of.sum(ShardFill::insertions)).orElse(0L),
          fill.map(of -> of.sum(ShardFill::evictions)).orElse(0L),
          fill.map(of -> of.sum(ShardFill::collisions)).orElse(0L),
          forecast.in(1),
          forecast.in(7),
          forecast.in(28),
          table.daysUntilFull(growth.slots()),
          Optional.of(
              new TableInputs(
                  growth,
                  hashed(store, id, table.name()).storage().orElseThrow().idsPerDay(),
                  table.evicts(),
                  table.bytesPerSlot())));
    }
  }

  private static WorkloadChange change(FillReport report, List<Resize> resizes) {
    CanonicalHash hash =
        new CanonicalHash("capacities").put(report.workloadId()).put(report.reportId());
    hash.putAll(resizes, resize -> hash.put(resize.table()).put(resize.capacity()));
    return new WorkloadChange(
        hash.uuid(),
        report.workloadId(),
        report.measuredAt(),
        SOURCE,
        OptionalLong.empty(),
        resizes.stream()
            .<Change>map(
                resize ->
                    new Change.TableResized(resize.table(), resize.capacity(), resize.reason()))
            .toList());
  }

  /**
   * Returns what the reports so far say of a workload's tables, as after the latest of them; empty
   * if there was none of its tables. Gives no table another capacity, and writes nothing.
   */
  public Optional<TableForecasts> latest(GrowthTables store, String workloadId) {
    GrowthState header = store.header(workloadId);
    SortedMap<String, TableGrowth> growths = store.growths().range(workloadId);
    if (header.cluster().isEmpty() || growths.isEmpty()) {
      return Optional.empty();
    }
    long now = growths.values().stream().mapToLong(g -> g.history().last().atMs()).max().orElse(0);
    Reported reported =
        new Reported(
            store,
            workloadId,
            header.reports().get(header.reports().size() - 1),
            Instant.ofEpochMilli(now),
            growths,
            Map.of());
    return Optional.of(reported.forecasts(reported.tables(), List.of(), policy));
  }
}
