package io.shardtide.config;

import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.learn.PageHinkley;
import io.shardtide.plan.ColumnCuts;
import io.shardtide.plan.SearchSettings;
import io.shardtide.wire.Extension;
import io.shardtide.wire.ForUpgradeFrom;
import io.shardtide.wire.Registry;
import io.shardtide.workload.Reflected;
import io.shardtide.workload.Spelling;
import java.io.IOException;
import java.io.Reader;
import java.io.StringReader;
import java.lang.reflect.RecordComponent;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Reads a settings file: Java's properties syntax in UTF-8, as Kafka's own files. All problems of a
 * file are reported together.
 */
public final class SettingsFile {
  /**
   * Settings of Kafka that the service sets itself, or with which records would be lost, doubled or
   * on another partition than their key's; and what to do instead.
   */
  private static final Map<String, String> OURS = ours();

  /** Key of {@link Settings#DEBOUNCE_MS} in 0.2.0. */
  private static final String EARLIER_DEBOUNCE = "planning.quiet.ms";

  /** Settings whose record checks how they fit together, by the prefix of its keys. */
  private static final Map<String, List<String>> TOGETHER =
      Map.of(
          "planning.", List.of(Settings.DEBOUNCE_MS, Settings.LONGEST_WAIT_MS),
          "pools.", List.of("pools.adjustment.seconds", "pools.payback.seconds"),
          "growth.", List.of("growth.lead.days", "growth.cover.days", "growth.warning.days"),
          "http.", List.of("http.host", Settings.HTTP_TOKEN));

  private final Map<String, String> values;
  private final List<String> problems = new ArrayList<>();
  private final Set<String> invalid = new HashSet<>();

  private SettingsFile(Map<String, String> values) {
    this.values = values;
  }

  private static Map<String, String> ours() {
    Map<String, String> ours = new HashMap<>();
    """
    bootstrap.servers: set bootstrap.servers
    application.id group.id: set topics.prefix, which determines it
    state.dir: set state.directory
    num.stream.threads: set threads
    num.standby.replicas: set standby.replicas
    replication.factor: set topics.replication
    processing.guarantee: leave it out; it is exactly_once_v2, which plans rely on
    isolation.level: leave it out; it is read_committed, which plans rely on
    enable.auto.commit: leave it out; transactions commit
    auto.offset.reset: leave it out; a planner reads all records of its topics
    group.protocol: leave it out; it is classic: with another one the brokers, not the planner, \
    set how long a session is and how many standby replicas there are
    transactional.id: leave it out; Kafka Streams names its transactions
    transaction.two.phase.commit.enable: leave it out; the transaction of a planner that ends \
    would stay open
    acks: leave it out; it is all, which exactly_once_v2 needs
    enable.idempotence: leave it out; it is true, which exactly_once_v2 needs
    partitioner.class partitioner.ignore.keys: leave it out; all records of a workload are on \
    the partition of its key's hash
    deserialization.exception.handler default.deserialization.exception.handler \
    processing.exception.handler production.exception.handler \
    default.production.exception.handler: leave it out; no record that fails may be skipped
    key.serializer value.serializer key.deserializer value.deserializer default.key.serde \
    default.value.serde default.timestamp.extractor: leave it out; each topic has its own
    topic.cleanup.policy: leave it out; changelogs that are not compacted lose state
    """
        .lines()
        .map(line -> line.split(": ", 2))
        .forEach(row -> List.of(row[0].split(" ")).forEach(key -> ours.put(key, row[1])));
    return Map.copyOf(ours);
  }

  /**
   * Reads a file.
   *
   * @param warnings receives a sentence for each key of an earlier version
   * @param told receives each key of the file, and its value unless it is secret
   * @throws InvalidSettingsException if it is invalid, with all problems
   * @throws IOException if it cannot be read
   */
  public static ServiceSettings read(
      Path file, Consumer<String> warnings, BiConsumer<String, String> told) throws IOException {
    try {
      return parse(file.toString(), TextFiles.read(file), warnings, told);
    } catch (MalformedFileException e) {
      throw new InvalidSettingsException(
          file.toString(), List.of("Line %d: %s.".formatted(e.line(), e.problem())));
    }
  }

  /**
   * Reads the text of a file.
   *
   * @param name what to call it in errors
   * @throws InvalidSettingsException if it is invalid, with all problems
   */
  static ServiceSettings parse(
      String name, String text, Consumer<String> warnings, BiConsumer<String, String> told) {
    List<String> twice = new ArrayList<>();
    Properties lines =
        new Properties() {
          @Override
          public synchronized Object put(Object key, Object value) {
            if (containsKey(key)) {
              twice.add("%s is repeated; remove all but one.".formatted(key));
            }
            return super.put(key, value);
          }
        };
    try (Reader reader = new StringReader(text)) {
      lines.load(reader);
    } catch (IOException | IllegalArgumentException e) {
      throw new InvalidSettingsException(
          name, List.of("It is not in the syntax of Java's properties: " + e.getMessage() + "."));
    }
    Map<String, String> values = new TreeMap<>();
    lines.stringPropertyNames().forEach(key -> values.put(key, lines.getProperty(key).strip()));
    SettingsFile file = new SettingsFile(values);
    file.earlierKeys(warnings);
    file.problems.addAll(twice);
    ServiceSettings settings = (ServiceSettings) file.fill(Settings.DEFAULTS, "", "");
    file.unknown();
    file.values.forEach((key, value) -> told.accept(key, Secrets.shown(key, value)));
    if (!file.problems.isEmpty()) {
      throw new InvalidSettingsException(name, file.problems);
    }
    return settings;
  }

  /** Reads the keys of 0.2.0 that were renamed or removed since. */
  @ForUpgradeFrom("0.2.0")
  private void earlierKeys(Consumer<String> warnings) {
    String debounce = values.remove(EARLIER_DEBOUNCE);
    String key = Settings.DEBOUNCE_MS;
    if (debounce != null && values.putIfAbsent(key, debounce) == null) {
      warnings.accept("%s is now %s; rename it.".formatted(EARLIER_DEBOUNCE, key));
    } else if (debounce != null) {
      problems.add("%s is now %s, which is set too; remove it.".formatted(EARLIER_DEBOUNCE, key));
    }
    removed(
        warnings,
        "planning.column.cuts",
        ColumnCuts.EQUAL.label(),
        "is what every search does now",
        "column parts of a table have equal widths now, which TorchRec requires");
    removed(
        warnings,
        "feedback.detector",
        PageHinkley.NAME,
        "is what detects drift now",
        "the other detectors found drift later or raised more false alarms");
  }

  /** Reads a key whose other values than {@code left} nothing offers any more. */
  private void removed(
      Consumer<String> warnings, String key, String left, String since, String reason) {
    String value = values.remove(key);
    if (left.equals(value)) {
      warnings.accept("%s=%s %s; remove it.".formatted(key, left, since));
    } else if (value != null) {
      problems.add("%s must be %s, got \"%s\": %s; remove it.".formatted(key, left, value, reason));
    }
  }

  /**
   * Fills a part's components from the settings of their names; reports what its record rejects,
   * unless one of the settings is invalid by itself, and returns the defaults instead.
   *
   * @param prefix the prefix of its keys
   * @param outer that of the part that it belongs to, whose settings some components share
   */
  private Record fill(Record defaults, String prefix, String outer) {
    RecordComponent[] components = defaults.getClass().getRecordComponents();
    Class<?>[] types =
        Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
    Object[] filled =
        Arrays.stream(components)
            .map(component -> value(component, Reflected.value(component, defaults), prefix, outer))
            .toArray();
    try {
      return Reflected.call(() -> defaults.getClass().getConstructor(types).newInstance(filled));
    } catch (IllegalArgumentException e) {
      List<String> keys = TOGETHER.get(prefix);
      if (keys.stream().noneMatch(invalid::contains)) {
        problems.add("%s: %s.".formatted(String.join(" and ", keys), e.getMessage()));
      }
      return defaults;
    }
  }

  private Object value(RecordComponent component, Object fallback, String prefix, String outer) {
    String name = component.getName();
    if (fallback instanceof Record part) {
      return fill(part, Settings.prefix(name), prefix);
    }
    return switch (name) {
      case "kafka", "registry" -> passed(name + ".");
      case "extensions" ->
          Arrays.stream(Extension.values())
              .filter(extension -> isOn(Settings.enabling(extension)))
              .collect(Collectors.toSet());
      case "deep" ->
          Optional.of(fill(SearchSettings.DEEP, Settings.prefix(name), prefix))
              .filter(search -> isOn(Settings.DEEP));
      default ->
          Stream.of(prefix, outer)
              .map(start -> Settings.of(Settings.key(start, component)))
              .filter(Objects::nonNull)
              .findFirst()
              .map(this::get)
              .orElse(fallback);
    };
  }

  private boolean isOn(String key) {
    return get(Settings.of(key)).equals(true);
  }

  /**
   * Returns a setting's value; if it is missing or invalid, reports that and returns the example's,
   * so that the other settings can be checked.
   */
  private Object get(Setting setting) {
    String text = values.get(setting.key());
    if (text == null && setting.fallback().isPresent()) {
      return setting.parser().apply(setting.example());
    }
    String problem;
    try {
      if (text != null) {
        return setting.parser().apply(text);
      }
      problem =
          "%s is missing; it must be %s. %s"
              .formatted(setting.key(), setting.values(), setting.meaning());
    } catch (IllegalArgumentException e) {
      String why = e.getMessage() == null ? "" : ": " + e.getMessage();
      String shown = Secrets.shown(setting.key(), text);
      problem =
          "%s must be %s, got \"%s\"%s.".formatted(setting.key(), setting.values(), shown, why);
    }
    if (invalid.add(setting.key())) {
      problems.add(problem);
    }
    return setting.parser().apply(setting.example());
  }

  /** Returns the settings that begin with a prefix, without it. */
  private Map<String, String> passed(String prefix) {
    Map<String, String> passed = new TreeMap<>();
    values.forEach(
        (key, value) -> {
          if (key.startsWith(prefix)) {
            String name = key.substring(prefix.length());
            String ours =
                prefix.equals(Settings.KAFKA) ? OURS.get(Settings.withoutClient(name)) : null;
            if (ours != null) {
              problems.add("%s is not passed to Kafka; %s.".formatted(key, ours));
            } else if (prefix.equals(Settings.REGISTRY)
                && (name.equals("url") || name.equals("schema.registry.url"))) {
              problems.add(
                  "%s is not passed to the registry's client; set %s."
                      .formatted(key, Settings.REGISTRY_URL));
            } else if (prefix.equals(Settings.REGISTRY)
                && Registry.problem(name, value).isPresent()) {
              problems.add(prefix + Registry.problem(name, value).get() + ".");
            } else if (name.isEmpty()) {
              problems.add("%s must be followed by the name of a setting.".formatted(key));
            } else {
              passed.put(name, value);
            }
          }
        });
    return passed;
  }

  private void unknown() {
    values.forEach(
        (key, value) -> {
          if (Settings.of(key) == null
              && !key.startsWith(Settings.KAFKA)
              && !key.startsWith(Settings.REGISTRY)) {
            problems.add(
                "%s is not a setting (its value is \"%s\"). %s"
                    .formatted(key, Secrets.shown(key, value), hint(key)));
          }
        });
  }

  private static String hint(String key) {
    return Spelling.nearest(key, Settings.all().stream().map(Setting::key).toList())
        .map("Maybe %s."::formatted)
        .orElse(
            "Maybe kafka.%s: settings of Kafka's clients begin with kafka., those of the registry's client with registry."
                .formatted(key));
  }
}
