package io.shardtide.config;

import io.shardtide.domain.DetectorKind;
import io.shardtide.domain.PlanningSettings;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.TrainingPolicy;
import io.shardtide.domain.TrainingPolicyBuilder;
import java.io.IOException;
import java.io.Reader;
import java.io.StringReader;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;

/**
 * Reads a settings file: Java's properties syntax in UTF-8, as for Kafka itself. Everything that is
 * wrong is found before anything is said.
 */
public final class SettingsFile {
  /** Settings of Kafka that are this service's to set, and what to do instead. */
  private static final Map<String, String> OURS =
      Map.of(
          "bootstrap.servers", "set bootstrap.servers",
          "application.id", "set topics.prefix, which it is made from",
          "group.id", "set topics.prefix, which it is made from",
          "state.dir", "set state.directory",
          "num.stream.threads", "set threads",
          "replication.factor", "set topics.replication",
          "processing.guarantee", "leave it out; it is exactly_once_v2, which plans rely on",
          "isolation.level", "leave it out; it is read_committed, which plans rely on",
          "enable.auto.commit", "leave it out; transactions commit");

  private final Map<String, String> values;
  private final List<String> problems = new ArrayList<>();

  private SettingsFile(Map<String, String> values) {
    this.values = values;
  }

  /**
   * Reads a file.
   *
   * @throws InvalidSettingsException if it is not legal, with all that is wrong
   * @throws IOException if it cannot be read
   */
  public static ServiceSettings read(Path file) throws IOException {
    String text;
    try {
      text = Files.readString(file, StandardCharsets.UTF_8);
    } catch (CharacterCodingException e) {
      throw new InvalidSettingsException(file.toString(), List.of("It is not text in UTF-8."));
    }
    return parse(file.toString(), text);
  }

  /**
   * Reads the text of a file.
   *
   * @param name what to call it in errors
   * @throws InvalidSettingsException if it is not legal, with all that is wrong
   */
  static ServiceSettings parse(String name, String text) {
    List<String> twice = new ArrayList<>();
    Lines lines = new Lines(twice);
    try (Reader reader = new StringReader(text)) {
      lines.load(reader);
    } catch (IOException | IllegalArgumentException e) {
      throw new InvalidSettingsException(
          name, List.of("It is not in the syntax of Java's properties: " + e.getMessage() + "."));
    }
    Map<String, String> values = new TreeMap<>();
    lines.stringPropertyNames().forEach(key -> values.put(key, lines.getProperty(key).strip()));
    SettingsFile file = new SettingsFile(values);
    file.problems.addAll(twice);
    ServiceSettings settings = file.settings();
    if (settings == null || !file.problems.isEmpty()) {
      throw new InvalidSettingsException(name, file.problems);
    }
    return settings;
  }

  /** Properties that notice a key that is there twice. */
  private static final class Lines extends Properties {
    private static final long serialVersionUID = 1L;

    private final transient List<String> twice;

    Lines(List<String> twice) {
      this.twice = twice;
    }

    @Override
    public synchronized Object put(Object key, Object value) {
      Object before = super.put(key, value);
      if (before != null) {
        twice.add("%s is there twice; legal is once.".formatted(key));
      }
      return before;
    }
  }

  /** Returns the settings, or null if there are problems. */
  private ServiceSettings settings() {
    String bootstrapServers = get(Settings.BOOTSTRAP_SERVERS);
    String registryUrl = get(Settings.REGISTRY_URL);
    Path stateDirectory = get(Settings.STATE_DIRECTORY);
    String topicPrefix = get(Settings.TOPICS_PREFIX);
    Integer partitions = get(Settings.TOPICS_PARTITIONS);
    Integer replication = get(Settings.TOPICS_REPLICATION);
    List<Path> models = get(Settings.MODELS);
    Integer threads = get(Settings.THREADS);
    PlanningSettings planning = planning();
    DetectorKind detector = get(Settings.DETECTOR);
    TrainingPolicy training = training();
    String host = get(Settings.HTTP_HOST);
    Integer port = get(Settings.HTTP_PORT);
    Optional<Token> token = get(Settings.HTTP_TOKEN);
    if (host != null && token != null && token.isEmpty() && !HttpSettings.isLoopback(host)) {
      problems.add(
          "%s is \"%s\", which other machines may reach; legal without %s are localhost and the addresses of loopback."
              .formatted(Settings.HTTP_HOST.key(), host, Settings.HTTP_TOKEN.key()));
    }
    Map<String, String> kafka = passed(Settings.KAFKA);
    Map<String, String> registry = passed(Settings.REGISTRY);
    unknown();
    if (!problems.isEmpty()) {
      return null;
    }
    return new ServiceSettings(
        bootstrapServers,
        registryUrl,
        topicPrefix,
        partitions,
        replication.shortValue(),
        stateDirectory,
        models,
        threads,
        planning,
        detector,
        training,
        new HttpSettings(host, port, token),
        kafka,
        registry);
  }

  private PlanningSettings planning() {
    Integer quiet = get(Settings.QUIET_MS);
    Integer wait = get(Settings.LONGEST_WAIT_MS);
    Double bandwidth = get(Settings.MOVE_BANDWIDTH);
    Double overhead = get(Settings.MOVE_OVERHEAD_MS);
    Long payback = get(Settings.PAYBACK_STEPS);
    Long quickEvaluations = get(Settings.QUICK_EVALUATIONS);
    Long quickRepair = get(Settings.QUICK_REPAIR);
    Boolean deep = get(Settings.DEEP_ON);
    Long deepEvaluations = get(Settings.DEEP_EVALUATIONS);
    Long deepRepair = get(Settings.DEEP_REPAIR);
    Integer deepAfter = get(Settings.DEEP_AFTER_MS);
    Long deepPayback = get(Settings.DEEP_PAYBACK_STEPS);
    Double gain = get(Settings.DEEP_GAIN);
    if (quiet != null && wait != null && quiet > wait) {
      problems.add(
          "%s is %d and %s is %d; legal is a quiet period of at most the longest wait."
              .formatted(Settings.QUIET_MS.key(), quiet, Settings.LONGEST_WAIT_MS.key(), wait));
    }
    if (!problems.isEmpty()) {
      return null;
    }
    return new PlanningSettings(
        Duration.ofMillis(quiet),
        Duration.ofMillis(wait),
        new SearchSettings(quickEvaluations, quickRepair, bandwidth, overhead, payback),
        deep
            ? Optional.of(
                new SearchSettings(deepEvaluations, deepRepair, bandwidth, overhead, deepPayback))
            : Optional.empty(),
        Duration.ofMillis(deepAfter),
        gain);
  }

  private TrainingPolicy training() {
    Boolean enabled = get(Settings.TRAINING_ON);
    Integer samples = get(Settings.TRAINING_SAMPLES);
    Integer afterDrift = get(Settings.TRAINING_AFTER_DRIFT);
    Integer hours = get(Settings.TRAINING_HOURS);
    Double gain = get(Settings.TRAINING_GAIN);
    Double oldMargin = get(Settings.TRAINING_OLD_MARGIN);
    Long seed = get(Settings.TRAINING_SEED);
    return problems.isEmpty()
        ? TrainingPolicyBuilder.builder()
            .enabled(enabled)
            .samples(samples)
            .samplesAfterDrift(afterDrift)
            .schedule(Duration.ofHours(hours))
            .recent(TrainingPolicy.DEFAULTS.recent())
            .old(TrainingPolicy.DEFAULTS.old())
            .gain(gain)
            .oldMargin(oldMargin)
            .seed(seed)
            .build()
        : null;
  }

  /** Returns a setting's value, or null if it is not legal. */
  private <T> T get(Setting<T> setting) {
    String text = values.get(setting.key());
    if (text == null) {
      if (setting.fallback().isEmpty()) {
        problems.add(
            "%s is missing; legal is %s. %s"
                .formatted(setting.key(), setting.legal(), setting.meaning()));
        return null;
      }
      return setting.parse(setting.fallback().get());
    }
    try {
      return setting.parse(text);
    } catch (IllegalArgumentException e) {
      problems.add(
          "%s is \"%s\"%s; legal is %s."
              .formatted(
                  setting.key(),
                  Secrets.shown(setting.key(), text),
                  e.getMessage() == null ? "" : ": " + e.getMessage(),
                  setting.legal()));
      return null;
    }
  }

  /** Returns the settings that begin with a prefix, without it. */
  private Map<String, String> passed(String prefix) {
    Map<String, String> passed = new TreeMap<>();
    values.forEach(
        (key, value) -> {
          if (key.startsWith(prefix)) {
            String name = key.substring(prefix.length());
            if (prefix.equals(Settings.KAFKA) && OURS.containsKey(name)) {
              problems.add("%s is not passed to Kafka; %s.".formatted(key, OURS.get(name)));
            } else if (prefix.equals(Settings.REGISTRY)
                && (name.equals("url") || name.equals("schema.registry.url"))) {
              problems.add(
                  "%s is not passed to the registry's client; set %s."
                      .formatted(key, Settings.REGISTRY_URL.key()));
            } else if (name.isEmpty()) {
              problems.add("%s has no name of a setting after it.".formatted(key));
            } else {
              passed.put(name, value);
            }
          }
        });
    return passed;
  }

  private void unknown() {
    List<String> keys = Settings.all().stream().map(Setting::key).toList();
    values.forEach(
        (key, value) -> {
          if (!keys.contains(key)
              && !key.startsWith(Settings.KAFKA)
              && !key.startsWith(Settings.REGISTRY)) {
            problems.add(
                "%s is \"%s\", and there is no such setting. %s"
                    .formatted(key, Secrets.shown(key, value), hint(key, keys)));
          }
        });
  }

  private static String hint(String key, List<String> keys) {
    return Spelling.nearest(key, keys)
        .map("Maybe %s."::formatted)
        .orElse(
            "Maybe kafka.%s: settings of Kafka's clients begin with kafka., those of the registry's client with registry."
                .formatted(key));
  }
}
