package io.shardtide.config;

import io.shardtide.client.Endpoint;
import io.shardtide.files.TextFiles;
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

  /** Two lines a setting: its key with its values, where a range has its name, and its meaning. */
  private static final String TABLE = "settings.txt";

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
    Iterator<String> lines = TextFiles.resource(Settings.class, TABLE).iterator();
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
