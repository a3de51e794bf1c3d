package io.shardtide.config;

import io.shardtide.domain.DetectorKind;
import io.shardtide.domain.PlanningSettings;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.TrainingPolicy;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The catalogue of settings: every key that a settings file may have, but for those that are passed
 * to Kafka's clients and the registry's. The docs' table and the example file are made from it.
 */
public final class Settings {
  /** Before the name of any setting of Kafka's clients. */
  public static final String KAFKA = "kafka.";

  /** Before the name of any setting of the registry's client. */
  public static final String REGISTRY = "registry.";

  private static final PlanningSettings PLANNING = PlanningSettings.DEFAULTS;
  private static final TrainingPolicy TRAINING = TrainingPolicy.DEFAULTS;
  private static final SearchSettings QUICK = PLANNING.quick();
  private static final SearchSettings DEEP = PLANNING.deep().orElse(SearchSettings.DEEP);

  static final Setting<String> BOOTSTRAP_SERVERS =
      Setting.required(
          "bootstrap.servers",
          "host:port, several with commas between",
          "kafka-1:9092,kafka-2:9092",
          "Brokers of the Kafka cluster that are asked first.",
          Values::brokers);
  static final Setting<String> REGISTRY_URL =
      Setting.required(
          "schema.registry.url",
          "one http or https address without a user; see registry.basic.auth.user.info",
          "http://schema-registry:8081",
          "The schema registry.",
          Values::url);
  static final Setting<Path> STATE_DIRECTORY =
      Setting.required(
          "state.directory",
          "a folder of this instance's own",
          "/var/lib/shardtide",
          "Where state stores lie. What is lost is read from the log again.",
          Values::path);
  static final Setting<String> TOPICS_PREFIX =
      Setting.optional(
          "topics.prefix",
          "up to 200 letters, digits, dots, underscores and hyphens",
          "shardtide.",
          "Before the name of each topic and consumer group. Instances with one prefix share the work.",
          Values::prefix);
  static final Setting<Integer> TOPICS_PARTITIONS =
      Setting.optional(
          "topics.partitions",
          "1 to 10000 partitions",
          "6",
          "Partitions of a topic that is created: the most threads that can share the work. Cannot be raised"
              + " later, because a workload stays on its partition.",
          text -> Values.whole(text, 1, 10_000));
  static final Setting<Integer> TOPICS_REPLICATION =
      Setting.optional(
          "topics.replication",
          "1 to 100 copies, at most one for each broker",
          "3",
          "Copies of each partition of a topic that is created.",
          text -> Values.whole(text, 1, 100));
  static final Setting<List<Path>> MODELS =
      Setting.optional(
          "models",
          "files of cost model bundles with commas between, each for other hardware",
          "",
          "Models that predict from now on; published at the start if they are not on the log. Without any:"
              + " the shipped one, trained on simulated costs.",
          Values::files);
  static final Setting<Integer> THREADS =
      Setting.optional(
          "threads",
          "1 to 256 threads",
          "1",
          "Stream threads of each topology.",
          text -> Values.whole(text, 1, 256));
  static final Setting<Integer> QUIET_MS =
      Setting.optional(
          "planning.quiet.ms",
          "0 to 60000 ms, at most planning.longest.wait.ms",
          Long.toString(PLANNING.quietPeriod().toMillis()),
          "A workload is planned when no change to it has come for this long. 0 plans each change by itself.",
          text -> Values.whole(text, 0, 60_000));
  static final Setting<Integer> LONGEST_WAIT_MS =
      Setting.optional(
          "planning.longest.wait.ms",
          "0 to 60000 ms",
          Long.toString(PLANNING.longestWait().toMillis()),
          "A change is planned after this long at the latest, however many follow it.",
          text -> Values.whole(text, 0, 60_000));
  static final Setting<Long> QUICK_EVALUATIONS =
      Setting.optional(
          "planning.quick.evaluations.per.table",
          "1 to 10000000 evaluations a table",
          Long.toString(QUICK.evaluationsPerTable()),
          "How long the search that answers a change goes on if there is no plan to begin at.",
          text -> Values.wide(text, 1, 10_000_000));
  static final Setting<Long> QUICK_REPAIR =
      Setting.optional(
          "planning.quick.repair.evaluations",
          "0 to 10000000000 evaluations",
          Long.toString(QUICK.repairEvaluations()),
          "How long it goes on from a running plan. 0 places what has no place and moves nothing else.",
          text -> Values.wide(text, 0, 10_000_000_000L));
  static final Setting<Boolean> DEEP_ON =
      Setting.optional(
          "planning.deep",
          "true or false",
          Boolean.toString(PLANNING.deep().isPresent()),
          "Whether a deeper search goes on after the quick one, beside the live changes.",
          Values::yes);
  static final Setting<Long> DEEP_EVALUATIONS =
      Setting.optional(
          "planning.deep.evaluations.per.table",
          "1 to 10000000 evaluations a table",
          Long.toString(DEEP.evaluationsPerTable()),
          "How long the deeper search goes on if there is no plan to begin at.",
          text -> Values.wide(text, 1, 10_000_000));
  static final Setting<Long> DEEP_REPAIR =
      Setting.optional(
          "planning.deep.repair.evaluations",
          "0 to 10000000000 evaluations",
          Long.toString(DEEP.repairEvaluations()),
          "How long the deeper search goes on from a running plan.",
          text -> Values.wide(text, 0, 10_000_000_000L));
  static final Setting<Integer> DEEP_AFTER_MS =
      Setting.optional(
          "planning.deep.after.ms",
          "0 to 86400000 ms",
          Long.toString(PLANNING.deepAfter().toMillis()),
          "The deeper search begins when a workload has had no change for this long: what changes all the time is"
              + " not worth it.",
          text -> Values.whole(text, 0, 86_400_000));
  static final Setting<Long> DEEP_PAYBACK_STEPS =
      Setting.optional(
          "planning.deep.payback.steps",
          "1 to 1000000000000 training steps",
          Long.toString(DEEP.paybackSteps()),
          "Steps within which a move of the deeper search's plan has to be worth its time.",
          text -> Values.wide(text, 1, 1_000_000_000_000L));
  static final Setting<Double> DEEP_GAIN =
      Setting.optional(
          "planning.deep.gain",
          "0 to 1, a share of the running plan's predicted cost",
          Double.toString(PLANNING.deepGain()),
          "The least gain of a deeper search's plan that is published, after its moves are paid.",
          text -> Values.real(text, 0, 1));
  static final Setting<Double> MOVE_BANDWIDTH =
      Setting.optional(
          "planning.move.gigabytes.per.second",
          "above 0 to 1000000, in 10^9 bytes a second",
          Double.toString(QUICK.moveGigabytesPerSecond()),
          "How fast shards move between devices.",
          text -> Values.real(text, Double.MIN_VALUE, 1_000_000));
  static final Setting<Double> MOVE_OVERHEAD_MS =
      Setting.optional(
          "planning.move.overhead.ms",
          "0 to 1000000 ms",
          Double.toString(QUICK.moveOverheadMs()),
          "What each shard that moves takes besides its bytes.",
          text -> Values.real(text, 0, 1_000_000));
  static final Setting<Long> PAYBACK_STEPS =
      Setting.optional(
          "planning.payback.steps",
          "1 to 1000000000000 training steps",
          Long.toString(QUICK.paybackSteps()),
          "Steps within which a move has to be worth its time.",
          text -> Values.wide(text, 1, 1_000_000_000_000L));
  static final Setting<DetectorKind> DETECTOR =
      Setting.optional(
          "feedback.detector",
          "one of " + String.join(", ", DetectorKind.keys()),
          DetectorKind.DEFAULT.key(),
          "How it is noticed that measured costs went away from what is predicted; ./shardtide bench detectors"
              + " compares them.",
          Values::detector);
  static final Setting<Boolean> TRAINING_ON =
      Setting.optional(
          "training.enabled",
          "true or false",
          Boolean.toString(TRAINING.enabled()),
          "Whether models are trained on what trainers measure.",
          Values::yes);
  static final Setting<Integer> TRAINING_SAMPLES =
      Setting.optional(
          "training.samples",
          "1 to 1000000 computations of a device",
          Integer.toString(TRAINING.samples()),
          "New samples after which a training begins.",
          text -> Values.whole(text, 1, 1_000_000));
  static final Setting<Integer> TRAINING_AFTER_DRIFT =
      Setting.optional(
          "training.samples.after.drift",
          "1 to 1000000 computations of a device",
          Integer.toString(TRAINING.samplesAfterDrift()),
          "Samples after an alarm that the model is wrong, after which a training begins.",
          text -> Values.whole(text, 1, 1_000_000));
  static final Setting<Integer> TRAINING_HOURS =
      Setting.optional(
          "training.schedule.hours",
          "1 to 87600 hours",
          Long.toString(TRAINING.schedule().toHours()),
          "Time after which a training begins if there are as many new samples as after a drift.",
          text -> Values.whole(text, 1, 87_600));
  static final Setting<Double> TRAINING_GAIN =
      Setting.optional(
          "training.gain",
          "0 to 0.99, a share of the error",
          Double.toString(TRAINING.gain()),
          "By how much a trained model's error on recent held-back samples must be lower for it to take over.",
          text -> Values.real(text, 0, 0.99));
  static final Setting<Double> TRAINING_OLD_MARGIN =
      Setting.optional(
          "training.old.margin",
          "0 to 10, a share of the error",
          Double.toString(TRAINING.oldMargin()),
          "By how much its error on old samples may be higher. After a drift it may be as high as the drift.",
          text -> Values.real(text, 0, 10));
  static final Setting<Long> TRAINING_SEED =
      Setting.optional(
          "training.seed",
          "a whole number",
          Long.toString(TRAINING.seed()),
          "Seed of trainings: the same samples and seed give the same model.",
          text -> Values.wide(text, Long.MIN_VALUE, Long.MAX_VALUE));
  static final Setting<String> HTTP_HOST =
      Setting.optional(
          "http.host",
          "an address or a name of this machine",
          HttpSettings.DEFAULTS.host(),
          "Where the dashboard, /health and /metrics are served. One that other machines reach needs"
              + " http.token.file.",
          Values::host);
  static final Setting<Integer> HTTP_PORT =
      Setting.optional(
          "http.port",
          "0 to 65535; 0 for any free port",
          Integer.toString(HttpSettings.DEFAULTS.port()),
          "The port of it.",
          text -> Values.whole(text, 0, 65_535));

  static final Setting<Optional<Token>> HTTP_TOKEN =
      Setting.optional(
          "http.token.file",
          "a file with a token of 16 to 4096 letters, digits and -._~+/ in it",
          "",
          "Who calls must send the token (Authorization: Bearer ...); the dashboard asks for it. Without it /health"
              + " says no more than UP or DOWN. Where there is none, nobody changes anything in the dashboard.",
          Values::token);

  private Settings() {}

  /** Returns all settings, in the order in which people read about them. */
  public static List<Setting<?>> all() {
    return List.of(
        BOOTSTRAP_SERVERS,
        REGISTRY_URL,
        STATE_DIRECTORY,
        TOPICS_PREFIX,
        TOPICS_PARTITIONS,
        TOPICS_REPLICATION,
        MODELS,
        THREADS,
        QUIET_MS,
        LONGEST_WAIT_MS,
        QUICK_EVALUATIONS,
        QUICK_REPAIR,
        DEEP_ON,
        DEEP_EVALUATIONS,
        DEEP_REPAIR,
        DEEP_AFTER_MS,
        DEEP_PAYBACK_STEPS,
        DEEP_GAIN,
        MOVE_BANDWIDTH,
        MOVE_OVERHEAD_MS,
        PAYBACK_STEPS,
        DETECTOR,
        TRAINING_ON,
        TRAINING_SAMPLES,
        TRAINING_AFTER_DRIFT,
        TRAINING_HOURS,
        TRAINING_GAIN,
        TRAINING_OLD_MARGIN,
        TRAINING_SEED,
        HTTP_HOST,
        HTTP_PORT,
        HTTP_TOKEN);
  }

  /** Returns all settings as a table in Markdown. */
  public static String table() {
    StringBuilder table = new StringBuilder("| key | legal | default | |\n|---|---|---|---|\n");
    for (Setting<?> setting : all()) {
      String fallback =
          setting.fallback().map(f -> f.isEmpty() ? "none" : "`" + f + "`").orElse("required");
      table.append(
          "| `%s` | %s | %s | %s |\n"
              .formatted(setting.key(), setting.legal(), fallback, setting.meaning()));
    }
    return table.toString();
  }

  /** Returns a settings file with everything in it; what has a default is commented out. */
  public static String example() {
    StringBuilder file = new StringBuilder();
    for (Setting<?> setting : all()) {
      file.append("# %s%n# Legal: %s.%n".formatted(setting.meaning(), setting.legal()));
      file.append(setting.fallback().isPresent() ? "#" : "");
      file.append("%s=%s%n%n".formatted(setting.key(), setting.example()));
    }
    return file.append(
            """
            # Any setting of Kafka's clients and of Kafka Streams, with "kafka." before its name.
            #kafka.security.protocol=SASL_SSL

            # Any setting of the registry's client, with "registry." before its name.
            #registry.basic.auth.credentials.source=USER_INFO
            """)
        .toString();
  }
}
