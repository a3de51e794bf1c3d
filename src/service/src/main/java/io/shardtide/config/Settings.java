package io.shardtide.config;

import io.shardtide.client.Endpoint;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.plan.SearchSettings;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.wire.Extension;
import io.shardtide.workload.Named;
import io.shardtide.workload.NumberRange;
import io.shardtide.workload.Reflected;
import io.shardtide.workload.UnknownHardware;
import java.lang.reflect.RecordComponent;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * All settings of the service: every key that a settings file may have, except those that are
 * passed to Kafka's clients and the registry's client. The documentation's table and the example
 * file are generated from them. A setting fills a component of {@link ServiceSettings} or of one of
 * its parts, which has its default and its range; its key is the part's prefix and the component's
 * name.
 */
public final class Settings {
  /** Prefix of settings that are passed to Kafka's clients. */
  public static final String KAFKA = "kafka.";

  /** Prefix of settings that are passed to the registry's client. */
  public static final String REGISTRY = "registry.";

  static final String DEBOUNCE_MS = "planning.debounce.ms";
  static final String LONGEST_WAIT_MS = "planning.longest.wait.ms";
  static final String DEEP = "planning.deep";
  static final String HTTP_TOKEN = "http.token.file";
  static final String REGISTRY_URL = "schema.registry.url";

  /** All defaults; of what a file must have, an example. */
  static final ServiceSettings DEFAULTS =
      new ServiceSettings(
          Endpoint.of("kafka-1:9092,kafka-2:9092", "http://schema-registry:8081"),
          new TopicSettings(6, 3),
          new StreamsSettings(Path.of("/var/lib/shardtide"), 1, 1),
          List.of(),
          UnknownHardware.NEAREST,
          PlanningSettings.DEFAULTS,
          TrainingPolicy.DEFAULTS,
          Set.of(),
          AllocationPolicy.DEFAULTS,
          CapacityPolicy.DEFAULTS,
          HttpSettings.DEFAULTS);

  private static final Set<String> REQUIRED =
      Set.of("bootstrap.servers", REGISTRY_URL, "state.directory");

  /** Prefixes of parts whose prefix is not their name. */
  private static final Map<String, String> PREFIXES =
      Map.of(
          "endpoint", "",
          "streams", "",
          "quick", "planning.quick.",
          "deep", "planning.deep.",
          "allocation", "pools.",
          "capacities", "growth.");

  /** Keys of components that are not the prefix and the name. */
  private static final Map<String, String> KEYS =
      Map.of(
          "registryUrl", REGISTRY_URL,
          "prefix", "topics.prefix",
          "unknownHardware", "models.unknown.hardware",
          "schedule", "training.schedule.hours",
          "token", HTTP_TOKEN);

  private static final Pattern RANGE = Pattern.compile("\\{(\\w+)}");
  private static final NumberRange ANY =
      NumberRange.of(Double.NEGATIVE_INFINITY, Double.POSITIVE_INFINITY);

  /**
   * Two lines a setting: its key with its values, where the range has its name, and its meaning.
   */
  private static final String TABLE =
      """
      bootstrap.servers: host:port, several separated by commas
      Brokers to connect to first.
      schema.registry.url: one http or https address without a user; see \
      registry.basic.auth.user.info
      The schema registry.
      state.directory: a folder that no other instance uses
      Folder of the state stores. A lost store is restored from its changelog.
      topics.prefix: up to 200 letters, digits, dots, underscores and hyphens
      Prefix of the name of each topic and consumer group. Instances with the same prefix share \
      the work.
      topics.partitions: {PARTITIONS} partitions
      Partitions of a topic that the service creates: the most threads that can share the work. \
      Cannot be raised later, because a workload stays on its partition.
      topics.replication: {REPLICATION} replicas, at most one for each broker
      Replicas of each partition of a topic that the service creates.
      models: files of cost model bundles separated by commas, one for each kind of hardware
      Cost models to use. The service publishes each at its start unless it is published already, \
      or the hardware's current model was fine-tuned. Default: the shipped models: h200, measured, \
      and two of simulated hardware.
      models.unknown.hardware: one of nearest, reject
      What happens to events for hardware without a cost model: nearest begins with the model of \
      the nearest hardware and retrains it on measured costs, reject rejects them.
      threads: {THREADS} threads
      Stream threads of each topology.
      standby.replicas: {STANDBY_REPLICAS} other instances
      Other instances that keep a copy of each state store, so that they take over without \
      restoring it. A single instance keeps none.
      planning.debounce.ms: {WAIT_MS} ms, at most planning.longest.wait.ms
      Debounce interval: the planner plans a workload after this long without a change. 0 plans \
      each change by itself.
      planning.longest.wait.ms: {WAIT_MS} ms
      Longest time that a change waits for a plan while further changes follow.
      planning.quick.evaluations.per.table: {EVALUATIONS_PER_TABLE} evaluations a table
      Budget of the quick search of a workload without a plan.
      planning.quick.repair.evaluations: {REPAIR_EVALUATIONS} evaluations
      Budget of the quick search from the running plan. 0 places new tables and moves nothing \
      else.
      planning.deep: true or false
      Whether a background search follows the quick one.
      planning.deep.evaluations.per.table: {EVALUATIONS_PER_TABLE} evaluations a table
      Budget of the background search of a workload without a plan.
      planning.deep.repair.evaluations: {REPAIR_EVALUATIONS} evaluations
      Budget of the background search from the running plan.
      planning.deep.after.ms: {DEEP_AFTER_MS} ms
      The background search of a workload begins after this long without a change.
      planning.deep.payback.steps: {PAYBACK_STEPS} training steps
      Training steps within which a move of the background search must pay for itself.
      planning.deep.gain: {DEEP_GAIN} of the running plan's predicted cost
      Least gain, after the cost of its moves, for which a background search's plan is published.
      planning.move.gigabytes.per.second: {MOVE_GIGABYTES_PER_SECOND}, in 10^9 bytes a second
      Bandwidth at which shards move between devices.
      planning.move.overhead.ms: {MOVE_OVERHEAD_MS} ms
      Fixed time of each move, besides its bytes.
      planning.reshard.ms: {RESHARD_MS} ms
      Time that training stops for a change of plan that moves any shard, besides the moves.
      planning.payback.steps: {PAYBACK_STEPS} training steps
      Training steps within which a move must pay for itself.
      planning.risk: {RISK} standard deviations of a predicted cost
      What the search adds to each prediction of a fine-tuned model for what is not known of it.
      planning.exploration: {EXPLORATION} of a plan's predicted cost
      How much more than the best plan of a background search a plan may cost that teaches a \
      fine-tuned model more. 0: no such plans.
      training.enabled: true or false
      Whether cost models are retrained on measured costs.
      training.samples: {SAMPLES} computations of a device
      New samples after which a model is retrained.
      training.samples.after.drift: {SAMPLES} computations of a device
      Samples after a drift alarm after which a model is retrained.
      training.schedule.hours: {SCHEDULE_HOURS} hours
      Time after which a model is retrained if training.samples.after.drift new samples have come.
      training.gain: {GAIN} of what plans lose
      Least reduction of what plans lose, on recent held-out samples, for which a retrained model \
      is published.
      training.old.margin: {OLD_MARGIN} of the error
      Greatest increase of the error on old samples, beside what a change of the machine explains.
      training.seed: a whole number
      Seed of retraining: the same samples and seed give the same model.
      pools.enabled: true or false
      Whether the planner allocates pools of devices to workloads, see POOLS.md.
      pools.adjusted.at.once: {ADJUSTED_AT_ONCE} workloads
      Running workloads whose nodes may change in one allocation; more only if least devices \
      require it.
      pools.fairness.loss: {FAIRNESS_LOSS} of the pool
      Largest part of a pool in other hands than in the fair allocation. 0: fair; 1: only \
      throughput counts.
      pools.adjustment.seconds: {SECONDS} s
      Training time that a workload loses when its nodes change.
      pools.payback.seconds: {SECONDS} s
      Time within which the gain of such a change must exceed that loss.
      growth.enabled: true or false
      Whether the planner forecasts how many ids hashed tables have, and gives tables other \
      capacities before they are full.
      growth.lead.days: {DAYS} days
      A hashed table is resized if it may be full within this time: what a plan, its moves and the \
      people who watch them need.
      growth.cover.days: {DAYS} days, at least twice growth.lead.days
      How long new capacities last, if memory allows it.
      growth.warning.days: {DAYS} days, at least growth.lead.days
      How long before memory no longer holds a workload the planner announces it.
      growth.least.hit.gain: {LEAST_HIT_GAIN} of lookups
      Least increase of the share of lookups that find their id for which tables that evict are \
      resized.
      http.host: an address or host name of this machine
      Address of the dashboard, /health and /metrics. Any but a loopback address requires \
      http.token.file.
      http.port: {PORT}; 0 for any free port
      Port of the dashboard, /health and /metrics.
      http.token.file: a file that holds a token of 16 to 4096 letters, digits and -._~+/
      Token that callers must send (Authorization: Bearer ...); the dashboard prompts for it. \
      Without it, /health shows only UP or DOWN. Without a token file, nobody can change anything \
      in the dashboard.
      """;

  private static final Map<String, Setting> ALL = settings();

  /** Prefixes of settings for some of Kafka Streams' clients only. */
  private static final Pattern CLIENT =
      Pattern.compile("^(((main|restore|global)\\.)?consumer|producer|admin)\\.");

  private Settings() {}

  /**
   * What a setting fills.
   *
   * @param of the record that has it, and the constants of ranges
   * @param value its default
   */
  private record Target(Class<?> of, Class<?> type, Object value) {}

  /** Returns the name of a setting of Kafka without the prefix of the clients that it is for. */
  public static String withoutClient(String name) {
    return CLIENT.matcher(name).replaceFirst("");
  }

  /** Returns all settings in the order of the documentation. */
  public static List<Setting> all() {
    return List.copyOf(ALL.values());
  }

  /** Returns a settings file with every key; those that have a default are commented out. */
  public static String example() {
    StringBuilder file = new StringBuilder();
    for (Setting setting : ALL.values()) {
      file.append("# %s%n# Values: %s.%n".formatted(setting.meaning(), setting.values()));
      file.append(setting.fallback().isPresent() ? "#" : "");
      file.append("%s=%s%n%n".formatted(setting.key(), setting.example()));
    }
    return file.append(
            """
            # Any setting of Kafka's clients and of Kafka Streams, prefixed with "kafka.".
            #kafka.security.protocol=SASL_SSL

            # Any setting of the registry's client, prefixed with "registry.".
            #registry.basic.auth.credentials.source=USER_INFO
            """)
        .toString();
  }

  /** Returns the setting of a key. */
  static Setting of(String key) {
    return ALL.get(key);
  }

  /** Returns the key of the setting that turns an extension on. */
  static String enabling(Extension extension) {
    return extension + ".enabled";
  }

  /** Returns the prefix of a part's keys. */
  static String prefix(String part) {
    return PREFIXES.getOrDefault(part, part + ".");
  }

  /**
   * Returns the key of a component.
   *
   * @param prefix its part's prefix
   */
  static String key(String prefix, RecordComponent component) {
    String dotted = component.getName().replaceAll("([A-Z])", ".$1").toLowerCase(Locale.ROOT);
    String unit = component.getType() == Duration.class ? ".ms" : "";
    return KEYS.getOrDefault(component.getName(), prefix + dotted + unit);
  }

  private static Map<String, Setting> settings() {
    Map<String, Target> targets = new HashMap<>();
    addTargets(targets, "planning.", DEFAULTS.planning().quick());
    addTargets(targets, prefix("deep"), SearchSettings.DEEP);
    addTargets(targets, "", DEFAULTS);
    for (Extension extension : Extension.values()) {
      targets.put(enabling(extension), new Target(Extension.class, boolean.class, false));
    }
    boolean deep = DEFAULTS.planning().deep().isPresent();
    targets.put(DEEP, new Target(PlanningSettings.class, boolean.class, deep));
    Map<String, Setting> settings = new LinkedHashMap<>();
    Iterator<String> lines = TABLE.lines().iterator();
    while (lines.hasNext()) {
      String[] row = lines.next().split(": ", 2);
      settings.put(row[0], setting(row[0], row[1], lines.next(), targets.get(row[0])));
    }
    return settings;
  }

  private static void addTargets(Map<String, Target> targets, String prefix, Record part) {
    for (RecordComponent component : part.getClass().getRecordComponents()) {
      Object value = Reflected.value(component, part);
      if (value instanceof Record inner) {
        addTargets(targets, prefix(component.getName()), inner);
      }
      targets.put(key(prefix, component), new Target(part.getClass(), component.getType(), value));
    }
  }

  private static Setting setting(String key, String values, String meaning, Target target) {
    Matcher name = RANGE.matcher(values);
    NumberRange range =
        name.lookingAt()
            ? (NumberRange) Reflected.call(() -> target.of().getField(name.group(1)).get(null))
            : ANY;
    String example = text(key, target.value());
    return new Setting(
        key,
        name.replaceFirst(range.toString()),
        Optional.of(example).filter(text -> !REQUIRED.contains(key)),
        example,
        meaning,
        parser(key, target.type(), range));
  }

  private static String text(String key, Object value) {
    if (value instanceof Duration time) {
      return Long.toString(time.dividedBy(unit(key).getDuration()));
    }
    if (value instanceof Named named) {
      return named.label();
    }
    return value instanceof List || value instanceof Optional ? "" : value.toString();
  }

  private static Function<String, Object> parser(String key, Class<?> type, NumberRange range) {
    return switch (type.getSimpleName()) {
      case "boolean" -> Values::bool;
      case "int" -> text -> Math.toIntExact(Values.whole(text, range));
      case "long" -> text -> Values.whole(text, range);
      case "double" -> text -> Values.real(text, range);
      case "Duration" -> text -> Duration.of(Values.whole(text, range), unit(key));
      default -> parser(key);
    };
  }

  private static Function<String, Object> parser(String key) {
    return switch (key) {
      case "bootstrap.servers" -> Values::brokers;
      case REGISTRY_URL -> Values::url;
      case "state.directory" -> Values::path;
      case "topics.prefix" -> Values.matching("[a-zA-Z0-9._-]{0,200}");
      case "models" -> Values::files;
      case "models.unknown.hardware" ->
          text ->
              Named.parse(
                  UnknownHardware.class, text, "unknown hardware", IllegalArgumentException::new);
      case "http.host" -> Values.matching("(?U)\\S+");
      case HTTP_TOKEN -> Values::token;
      default -> throw new IllegalStateException(key + " needs a parser");
    };
  }

  private static ChronoUnit unit(String key) {
    return key.endsWith(".hours") ? ChronoUnit.HOURS : ChronoUnit.MILLIS;
  }
}
