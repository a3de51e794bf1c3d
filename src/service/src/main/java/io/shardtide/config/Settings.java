package io.shardtide.config;

import io.shardtide.growth.CapacityPolicy;
import io.shardtide.plan.SearchSettings;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.wire.Extension;
import io.shardtide.workload.NumberRange;
import io.shardtide.workload.UnknownHardware;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * All settings of the service: every key that a settings file may have, except those that are
 * passed to Kafka's clients and the registry's client. The documentation's table and the example
 * file are generated from them.
 */
public final class Settings {
  /** Prefix of settings that are passed to Kafka's clients. */
  public static final String KAFKA = "kafka.";

  /** Prefix of settings that are passed to the registry's client. */
  public static final String REGISTRY = "registry.";

  private static final List<Setting<?>> ALL = new ArrayList<>();
  private static final PlanningSettings PLANNING = PlanningSettings.DEFAULTS;
  private static final TrainingPolicy TRAINING = TrainingPolicy.DEFAULTS;
  private static final AllocationPolicy ALLOCATION = AllocationPolicy.DEFAULTS;
  private static final CapacityPolicy CAPACITIES = CapacityPolicy.DEFAULTS;
  private static final SearchSettings QUICK = PLANNING.quick();
  private static final SearchSettings DEEP = PLANNING.deep().orElse(SearchSettings.DEEP);

  static final Setting<String> BOOTSTRAP_SERVERS =
      required(
          "bootstrap.servers",
          "host:port, several separated by commas",
          "kafka-1:9092,kafka-2:9092",
          "Brokers to connect to first.",
          Values::brokers);
  static final Setting<String> REGISTRY_URL =
      required(
          "schema.registry.url",
          "one http or https address without a user; see registry.basic.auth.user.info",
          "http://schema-registry:8081",
          "The schema registry.",
          Values::url);
  static final Setting<Path> STATE_DIRECTORY =
      required(
          "state.directory",
          "a folder that no other instance uses",
          "/var/lib/shardtide",
          "Folder of the state stores. A lost store is restored from its changelog.",
          Values::path);
  static final Setting<String> TOPICS_PREFIX =
      optional(
          "topics.prefix",
          "up to 200 letters, digits, dots, underscores and hyphens",
          "shardtide.",
          "Prefix of the name of each topic and consumer group. Instances with the same prefix share the work.",
          Values::prefix);
  static final Setting<Long> TOPICS_PARTITIONS =
      whole(
          "topics.partitions",
          TopicSettings.PARTITIONS,
          " partitions",
          6,
          "Partitions of a topic that the service creates: the most threads that can share the work. Cannot be"
              + " raised later, because a workload stays on its partition.");
  static final Setting<Long> TOPICS_REPLICATION =
      whole(
          "topics.replication",
          TopicSettings.REPLICATION,
          " replicas, at most one for each broker",
          3,
          "Replicas of each partition of a topic that the service creates.");
  static final Setting<List<Path>> MODELS =
      optional(
          "models",
          "files of cost model bundles separated by commas, one for each kind of hardware",
          "",
          "Cost models to use. The service publishes each at its start unless it is published already, or the hardware's current model was fine-tuned. Default:"
              + " the shipped models: h200, measured, and two of simulated hardware.",
          Values::files);
  static final Setting<UnknownHardware> UNKNOWN_HARDWARE =
      optional(
          "models.unknown.hardware",
          "one of nearest, reject",
          UnknownHardware.NEAREST.label(),
          "What happens to events for hardware without a cost model: nearest begins with the model of the nearest"
              + " hardware and retrains it on measured costs, reject rejects them.",
          Values::unknownHardware);
  static final Setting<Long> THREADS =
      whole("threads", StreamsSettings.THREADS, " threads", 1, "Stream threads of each topology.");
  static final Setting<Long> STANDBY_REPLICAS =
      whole(
          "standby.replicas",
          StreamsSettings.STANDBY_REPLICAS,
          " other instances",
          1,
          "Other instances that keep a copy of each state store, so that they take over without restoring it. A single"
              + " instance keeps none.");
  static final Setting<Long> DEBOUNCE_MS =
      whole(
          "planning.debounce.ms",
          PlanningSettings.WAIT_MS,
          " ms, at most planning.longest.wait.ms",
          PLANNING.debounce().toMillis(),
          "Debounce interval: the planner plans a workload after this long without a change. 0 plans each change by"
              + " itself.");
  static final Setting<Long> LONGEST_WAIT_MS =
      whole(
          "planning.longest.wait.ms",
          PlanningSettings.WAIT_MS,
          " ms",
          PLANNING.longestWait().toMillis(),
          "Longest time that a change waits for a plan while further changes follow.");
  static final Setting<Long> QUICK_EVALUATIONS =
      whole(
          "planning.quick.evaluations.per.table",
          SearchSettings.EVALUATIONS_PER_TABLE,
          " evaluations a table",
          QUICK.evaluationsPerTable(),
          "Budget of the quick search of a workload without a plan.");
  static final Setting<Long> QUICK_REPAIR =
      whole(
          "planning.quick.repair.evaluations",
          SearchSettings.REPAIR_EVALUATIONS,
          " evaluations",
          QUICK.repairEvaluations(),
          "Budget of the quick search from the running plan. 0 places new tables and moves nothing else.");
  static final Setting<Boolean> DEEP_ON =
      flag(
          "planning.deep",
          PLANNING.deep().isPresent(),
          "Whether a background search follows the quick one.");
  static final Setting<Long> DEEP_EVALUATIONS =
      whole(
          "planning.deep.evaluations.per.table",
          SearchSettings.EVALUATIONS_PER_TABLE,
          " evaluations a table",
          DEEP.evaluationsPerTable(),
          "Budget of the background search of a workload without a plan.");
  static final Setting<Long> DEEP_REPAIR =
      whole(
          "planning.deep.repair.evaluations",
          SearchSettings.REPAIR_EVALUATIONS,
          " evaluations",
          DEEP.repairEvaluations(),
          "Budget of the background search from the running plan.");
  static final Setting<Long> DEEP_AFTER_MS =
      whole(
          "planning.deep.after.ms",
          PlanningSettings.DEEP_AFTER_MS,
          " ms",
          PLANNING.deepAfter().toMillis(),
          "The background search of a workload begins after this long without a change.");
  static final Setting<Long> DEEP_PAYBACK_STEPS =
      whole(
          "planning.deep.payback.steps",
          SearchSettings.PAYBACK_STEPS,
          " training steps",
          DEEP.paybackSteps(),
          "Training steps within which a move of the background search must pay for itself.");
  static final Setting<Double> DEEP_GAIN =
      real(
          "planning.deep.gain",
          PlanningSettings.DEEP_GAIN,
          " of the running plan's predicted cost",
          PLANNING.deepGain(),
          "Least gain, after the cost of its moves, for which a background search's plan is published.");
  static final Setting<Double> MOVE_BANDWIDTH =
      real(
          "planning.move.gigabytes.per.second",
          SearchSettings.MOVE_GIGABYTES_PER_SECOND,
          ", in 10^9 bytes a second",
          QUICK.moveGigabytesPerSecond(),
          "Bandwidth at which shards move between devices.");
  static final Setting<Double> MOVE_OVERHEAD_MS =
      real(
          "planning.move.overhead.ms",
          SearchSettings.MOVE_OVERHEAD_MS,
          " ms",
          QUICK.moveOverheadMs(),
          "Fixed time of each move, besides its bytes.");
  static final Setting<Double> RESHARD_MS =
      real(
          "planning.reshard.ms",
          SearchSettings.RESHARD_MS,
          " ms",
          QUICK.reshardMs(),
          "Time that training stops for a change of plan that moves any shard, besides the moves.");
  static final Setting<Long> PAYBACK_STEPS =
      whole(
          "planning.payback.steps",
          SearchSettings.PAYBACK_STEPS,
          " training steps",
          QUICK.paybackSteps(),
          "Training steps within which a move must pay for itself.");
  static final Setting<Double> RISK =
      real(
          "planning.risk",
          SearchSettings.RISK,
          " standard deviations of a predicted cost",
          QUICK.risk(),
          "What the search adds to each prediction of a fine-tuned model for what is not known of it.");
  static final Setting<Double> EXPLORATION =
      real(
          "planning.exploration",
          PlanningSettings.EXPLORATION,
          " of a plan's predicted cost",
          PLANNING.exploration(),
          "How much more than the best plan of a background search a plan may cost that teaches a fine-tuned model"
              + " more. 0: no such plans.");
  static final Setting<Boolean> TRAINING_ON =
      flag(
          "training.enabled",
          TRAINING.enabled(),
          "Whether cost models are retrained on measured costs.");
  static final Setting<Long> TRAINING_SAMPLES =
      whole(
          "training.samples",
          TrainingPolicy.SAMPLES,
          " computations of a device",
          TRAINING.samples(),
          "New samples after which a model is retrained.");
  static final Setting<Long> TRAINING_AFTER_DRIFT =
      whole(
          "training.samples.after.drift",
          TrainingPolicy.SAMPLES,
          " computations of a device",
          TRAINING.samplesAfterDrift(),
          "Samples after a drift alarm after which a model is retrained.");
  static final Setting<Long> TRAINING_HOURS =
      whole(
          "training.schedule.hours",
          TrainingPolicy.SCHEDULE_HOURS,
          " hours",
          TRAINING.schedule().toHours(),
          "Time after which a model is retrained if training.samples.after.drift new samples have come.");
  static final Setting<Double> TRAINING_GAIN =
      real(
          "training.gain",
          TrainingPolicy.GAIN,
          " of what plans lose",
          TRAINING.gain(),
          "Least reduction of what plans lose, on recent held-out samples, for which a retrained model is published.");
  static final Setting<Double> TRAINING_OLD_MARGIN =
      real(
          "training.old.margin",
          TrainingPolicy.OLD_MARGIN,
          " of the error",
          TRAINING.oldMargin(),
          "Greatest increase of the error on old samples, beside what a change of the machine explains.");
  static final Setting<Long> TRAINING_SEED =
      optional(
          "training.seed",
          "a whole number",
          Long.toString(TRAINING.seed()),
          "Seed of retraining: the same samples and seed give the same model.",
          Values::whole);
  static final Setting<Boolean> POOLS =
      flag(
          "pools.enabled",
          false,
          "Whether the planner allocates pools of devices to workloads, see POOLS.md.");
  static final Setting<Long> POOLS_ADJUSTED =
      whole(
          "pools.adjusted.at.once",
          AllocationPolicy.ADJUSTED_AT_ONCE,
          " workloads",
          ALLOCATION.adjustedAtOnce(),
          "Running workloads whose nodes may change in one allocation; more only if least devices require it.");
  static final Setting<Double> POOLS_FAIRNESS_LOSS =
      real(
          "pools.fairness.loss",
          AllocationPolicy.FAIRNESS_LOSS,
          " of the pool",
          ALLOCATION.fairnessLoss(),
          "Largest part of a pool in other hands than in the fair allocation. 0: fair; 1: only throughput counts.");
  static final Setting<Double> POOLS_ADJUSTMENT =
      real(
          "pools.adjustment.seconds",
          AllocationPolicy.SECONDS,
          " s",
          ALLOCATION.adjustmentSeconds(),
          "Training time that a workload loses when its nodes change.");
  static final Setting<Double> POOLS_PAYBACK =
      real(
          "pools.payback.seconds",
          AllocationPolicy.SECONDS,
          " s",
          ALLOCATION.paybackSeconds(),
          "Time within which the gain of such a change must exceed that loss.");
  static final Setting<Boolean> GROWTH =
      flag(
          "growth.enabled",
          false,
          "Whether the planner forecasts how many ids hashed tables have, and gives tables other capacities before they"
              + " are full.");
  static final Setting<Double> GROWTH_LEAD =
      real(
          "growth.lead.days",
          CapacityPolicy.DAYS,
          " days",
          CAPACITIES.leadDays(),
          "A hashed table is resized if it may be full within this time: what a plan, its moves and the people who watch"
              + " them need.");
  static final Setting<Double> GROWTH_COVER =
      real(
          "growth.cover.days",
          CapacityPolicy.DAYS,
          " days, at least twice growth.lead.days",
          CAPACITIES.coverDays(),
          "How long new capacities last, if memory allows it.");
  static final Setting<Double> GROWTH_WARNING =
      real(
          "growth.warning.days",
          CapacityPolicy.DAYS,
          " days, at least growth.lead.days",
          CAPACITIES.warningDays(),
          "How long before memory no longer holds a workload the planner announces it.");
  static final Setting<Double> GROWTH_LEAST_HIT_GAIN =
      real(
          "growth.least.hit.gain",
          CapacityPolicy.LEAST_HIT_GAIN,
          " of lookups",
          CAPACITIES.leastHitGain(),
          "Least increase of the share of lookups that find their id for which tables that evict are resized.");
  static final Setting<String> HTTP_HOST =
      optional(
          "http.host",
          "an address or host name of this machine",
          HttpSettings.DEFAULTS.host(),
          "Address of the dashboard, /health and /metrics. Any but a loopback address requires http.token.file.",
          Values::host);
  static final Setting<Long> HTTP_PORT =
      whole(
          "http.port",
          HttpSettings.PORT,
          "; 0 for any free port",
          HttpSettings.DEFAULTS.port(),
          "Port of the dashboard, /health and /metrics.");

  static final Setting<Optional<Token>> HTTP_TOKEN =
      optional(
          "http.token.file",
          "a file that holds a token of 16 to 4096 letters, digits and -._~+/",
          "",
          "Token that callers must send (Authorization: Bearer ...); the dashboard prompts for it. Without it,"
              + " /health shows only UP or DOWN. Without a token file, nobody can change anything in the dashboard.",
          Values::token);

  private Settings() {}

  /** Returns the setting that turns an extension on. */
  static Setting<Boolean> enabling(Extension extension) {
    return switch (extension) {
      case POOLS -> POOLS;
      case GROWTH -> GROWTH;
    };
  }

  /** Returns all settings in the order of the documentation. */
  public static List<Setting<?>> all() {
    return Collections.unmodifiableList(ALL);
  }

  private static <T> Setting<T> add(Setting<T> setting) {
    ALL.add(setting);
    return setting;
  }

  /** Returns a setting that every file must have. */
  private static <T> Setting<T> required(
      String key, String values, String example, String meaning, Function<String, T> parser) {
    return add(new Setting<>(key, values, Optional.empty(), example, meaning, parser));
  }

  /** Returns a setting that a file may have. */
  private static <T> Setting<T> optional(
      String key, String values, String fallback, String meaning, Function<String, T> parser) {
    return add(new Setting<>(key, values, Optional.of(fallback), fallback, meaning, parser));
  }

  /**
   * Returns a setting that is a number.
   *
   * @param range its range, from the record that it becomes part of
   * @param unit follows the range in the documentation
   */
  private static Setting<Double> real(
      String key, NumberRange range, String unit, double fallback, String meaning) {
    return optional(
        key, range + unit, Double.toString(fallback), meaning, text -> Values.real(text, range));
  }

  /** Returns a setting that is a whole number; see {@link #real}. */
  private static Setting<Long> whole(
      String key, NumberRange range, String unit, long fallback, String meaning) {
    return optional(
        key, range + unit, Long.toString(fallback), meaning, text -> Values.whole(text, range));
  }

  /** Returns a setting that is on or off. */
  private static Setting<Boolean> flag(String key, boolean fallback, String meaning) {
    return optional(key, "true or false", Boolean.toString(fallback), meaning, Values::bool);
  }
}
