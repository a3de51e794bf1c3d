package io.shardtide.topology;

import static io.shardtide.topology.Metric.Kind.COUNTER;
import static io.shardtide.topology.Metric.Kind.INTERNAL;
import static io.shardtide.topology.Metric.Kind.LEAST;
import static io.shardtide.topology.Metric.Kind.MOST;
import static io.shardtide.topology.Metric.Kind.SUM;
import static io.shardtide.topology.Metric.Kind.TIMER;

import io.micrometer.core.instrument.Tags;
import io.shardtide.growth.Forecast;
import io.shardtide.learn.ExclusionReason;
import io.shardtide.plan.Effort;
import io.shardtide.state.DriftAlarm;
import io.shardtide.workload.RejectionReason;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/**
 * All metrics of the planner: dashboards and alerts rely on their names. Gauges have no tags for
 * workloads, pools and devices, of which there may be thousands: the log has the details of each.
 */
@SuppressWarnings("ImmutableEnumChecker") // The lists cannot be changed.
enum Metric {
  EVENTS_APPLIED(COUNTER, "Events that changed a workload"),
  EVENTS_REJECTED(COUNTER, "Events that were not applied", "reason", RejectionReason.class),
  TABLES_PREDICTED(COUNTER, "Tables that a cost model predicted"),
  PREDICTION(TIMER, "Time of predicting the tables of an event"),
  PLANS_PUBLISHED(COUNTER, "Published plans", "effort", Effort.class),
  SEARCH(TIMER, "Time of a search", "effort", Effort.class),
  WORKLOADS_INFEASIBLE(COUNTER, "Infeasible generations of workloads"),
  SEARCHES_FAILED(COUNTER, "Searches that failed with an internal error", "effort", Effort.class),
  SEARCHES_DISCARDED(COUNTER, "Background searches whose plan came too late or gained too little"),
  ANSWER(TIMER, "Time from a change's timestamp to the plan that answers it"),
  TRANSACTIONS_FENCED(COUNTER, "Transactions of stopped instances that this one ended"),
  RECORDS_RESTORED(
      COUNTER,
      "Records of changelogs that were read into stores before processing",
      "topology",
      TopologyName.class),
  TRAININGS(COUNTER, "Retraining jobs of cost models", "result", Trained.class),
  TRAINING(TIMER, "Time of a retraining job"),
  WORKLOADS_PENDING(SUM, "Workloads with pending changes"),
  BACKGROUND_SEARCHES(INTERNAL, "Background searches that run or are due"),
  REBALANCING(SUM, "1 while a topology waits for its partitions or restores them", "topology"),
  SLOW_DEVICES(
      SUM,
      "Devices whose computation or communication is slow, of workloads measured since their partition came here"),
  MEASUREMENTS(COUNTER, "Accepted measurements"),
  TRAINING_SAMPLES(COUNTER, "Written training samples"),
  MEASUREMENTS_SET_ASIDE(
      COUNTER, "Parts of measurements that were not used", "reason", ExclusionReason.class),
  DRIFT_ALARMS(
      COUNTER,
      "Alarms of drift between measured and predicted costs",
      "kind",
      DriftAlarm.AlarmKind.class),
  MEASURED_RATIO(
      SUM, "Measured over predicted cost in the last measurement", "hardware", "quantity"),
  ALLOCATIONS(COUNTER, "Published allocations of pools"),
  WORKLOADS_ADJUSTED(COUNTER, "Running workloads that an allocation gave other nodes"),
  ALLOCATION(TIMER, "Time of allocating a pool"),
  CURVE(TIMER, "Time from the timestamp of a change to the curve that it needs"),
  CURVES_PENDING(SUM, "Workloads with a claim whose curve is not predicted yet"),
  CLAIMS_WITHOUT_DEVICES(SUM, "Claims that have no devices"),
  POOL_FREE_NODES(SUM, "Nodes of pools that no workload has"),
  ALLOCATION_GAP(
      MOST, "By how much the optimum may be better at most, as a share of it, in the worst pool"),
  ALLOCATION_FAIRNESS_LOSS(
      MOST, "Part of the pool in other hands than in the fair allocation, in the worst pool"),
  FILL_REPORTS(COUNTER, "Reports of how full hashed tables are"),
  TABLES_RESIZED(COUNTER, "Hashed tables that were given other capacities"),
  TABLE_DAYS_UNTIL_FULL(
      LEAST, "Days until the first hashed table is full, at the earliest; at most 180"),
  MEMORY_DAYS_UNTIL_FULL(
      LEAST, "Days until memory no longer holds a workload's tables; at most 180"),
  QUARANTINE_ENTERED(
      COUNTER,
      "Keys that entered a topology's quarantine, or failed there again",
      "topology",
      TopologyName.class),
  QUARANTINE_KEYS(
      SUM, "Keys in a topology's quarantine, whose records wait", "topology", TopologyName.class),
  WAITING_RECORDS(
      SUM,
      "Records that wait for a schema, a model or the end of a quarantine",
      "topology",
      TopologyName.class);

  /** What a metric is; of a gauge, how the values of all tasks become one. */
  enum Kind {
    COUNTER,
    TIMER,
    SUM,
    /** A sum that is not exported. */
    INTERNAL,
    /** The greatest value; 0 if there is none. */
    MOST,
    /** The least number of days, at most those of a forecast. */
    LEAST
  }

  /** What became of a retrained model. */
  enum Trained {
    PUBLISHED,
    KEPT
  }

  final Kind kind;
  final String description;
  private final List<String> keys;
  private final List<Enum<?>> values;

  /** A metric without tags, or with tags whose values come with the first value. */
  Metric(Kind kind, String description, String... keys) {
    this(kind, description, List.of(keys), List.of());
  }

  /** A metric with a tag. */
  Metric(Kind kind, String description, String key, Class<? extends Enum<?>> type) {
    this(kind, description, List.of(key), List.of(type.getEnumConstants()));
  }

  Metric(Kind kind, String description, List<String> keys, List<Enum<?>> values) {
    this.kind = kind;
    this.description = description;
    this.keys = keys;
    this.values = values;
  }

  /** Returns the name: EVENTS_APPLIED is shardtide.events.applied. */
  String meter() {
    return "shardtide." + text(this).replace('_', '.');
  }

  /** Returns the tags of all meters that exist from the start. */
  Stream<Tags> known() {
    return keys.isEmpty() ? Stream.of(Tags.empty()) : values.stream().map(this::tags);
  }

  /** Returns tags with values, in the order of their keys. */
  Tags tags(Object... of) {
    Tags tags = Tags.empty();
    for (int i = 0; i < keys.size(); i++) {
      tags = tags.and(keys.get(i), text(of[i]));
    }
    return tags;
  }

  private static String text(Object value) {
    return value instanceof RejectionReason || !(value instanceof Enum<?> constant)
        ? value.toString()
        : constant.name().toLowerCase(Locale.ROOT);
  }

  /** Returns what a gauge shows of the values of all tasks. */
  double of(Collection<Supplier<DoubleStream>> values) {
    DoubleStream all = values.stream().flatMapToDouble(Supplier::get);
    return switch (kind) {
      case MOST -> all.reduce(0, Math::max);
      case LEAST -> all.reduce(Forecast.MOST_DAYS, Math::min);
      default -> all.sum();
    };
  }
}
