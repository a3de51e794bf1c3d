package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import io.shardtide.log.DaemonThreads;
import io.shardtide.tls.OwnCertificate;
import io.shardtide.wire.Registry;
import io.shardtide.workload.Quarantine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.streams.KafkaStreams;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Health of each part of the service. A background thread probes Kafka, the registry and the disk
 * every two seconds, so that callers do not wait for an unavailable server.
 */
public final class ServiceHealth implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(ServiceHealth.class);

  private static final long PERIOD_MS = 2_000;

  /** Probes between comparisons of the topics' settings and the brokers' limits: a minute. */
  private static final int PROBES_WITHOUT_SETTINGS = 30;

  /**
   * A part of the service.
   *
   * @param name name of the part
   * @param problem what is wrong, a sentence; empty if the part is healthy
   */
  public record HealthPart(String name, Optional<String> problem) {}

  private final ServiceSettings settings;
  private final Map<String, Object> clients;
  private final Map<String, Optional<String>> probed = new ConcurrentHashMap<>();
  private final Map<TopologyName, KafkaStreams> streams = new ConcurrentHashMap<>();
  private final Map<TopologyName, ThreadFailures> failures = new ConcurrentHashMap<>();
  private final Map<TopologyName, String> waits = new ConcurrentHashMap<>();
  private volatile Supplier<Optional<String>> models =
      () -> Optional.of("Models are not published yet.");
  private volatile Supplier<List<Quarantine>> quarantine = List::of;
  volatile TopicProbe.TopicState topicState = TopicProbe.TopicState.UNKNOWN;
  private volatile boolean closing;
  private final Thread prober = DaemonThreads.named("health").newThread(this::probeRepeatedly);
  private volatile Optional<Instant> certificateExpires = Optional.empty();
  private Admin admin;
  private OwnCertificate certificate;
  private TopicProbe topics;
  private Registry registry;
  private int probes;
  private Optional<String> refused = Optional.empty();

  private ServiceHealth(ServiceSettings settings) {
    this.settings = settings;
    clients = new HashMap<>(PlannerService.clients(settings));
    clients.putIfAbsent(AdminClientConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, 5_000L);
  }

  /** Returns health with probes of the servers and the disk, of a service with feedback. */
  public static ServiceHealth watch(ServiceSettings settings) {
    ServiceHealth health = new ServiceHealth(settings);
    health.prober.start();
    return health;
  }

  /** Returns health without probes. */
  public static ServiceHealth unwatched(ServiceSettings settings) {
    return new ServiceHealth(settings);
  }

  /**
   * Reports that the models are published.
   *
   * @param problem returns why new models cannot be read; empty if they can
   * @param keys returns the keys in quarantine
   */
  void modelsPublished(Supplier<Optional<String>> problem, Supplier<List<Quarantine>> keys) {
    models = problem;
    quarantine = keys;
  }

  /** Returns the keys in quarantine of this instance's partitions. */
  public List<Quarantine> quarantined() {
    return quarantine.get();
  }

  /** Reports a topology before its start. */
  void started(TopologyName topology, KafkaStreams newStreams) {
    streams.put(topology, newStreams);
    newStreams.setStateListener(
        (now, before) -> {
          if (now == KafkaStreams.State.RUNNING) {
            failures(topology).running(System.nanoTime());
          }
        });
  }

  /** Reports that a thread of a topology failed and will be replaced. */
  void failed(TopologyName topology, String error) {
    failures(topology).failed(error, System.nanoTime());
  }

  private ThreadFailures failures(TopologyName topology) {
    return failures.computeIfAbsent(topology, name -> new ThreadFailures());
  }

  /** Reports what a topology waits for, and why; empty when it no longer waits. */
  void waiting(TopologyName topology, Optional<String> reason) {
    reason.ifPresentOrElse(text -> waits.put(topology, text), () -> waits.remove(topology));
  }

  /** Reports that the service is closing. */
  public void closing() {
    closing = true;
  }

  /** Returns all parts, in the order of the flow. */
  public List<HealthPart> parts() {
    List<HealthPart> parts = new ArrayList<>();
    for (String name : List.of("kafka", "registry", "state directory")) {
      parts.add(new HealthPart(name, probed.getOrDefault(name, Optional.of("Not probed yet."))));
    }
    parts.add(new HealthPart("models", models.get()));
    for (TopologyName topology : TopologyName.inUse(settings.extensions())) {
      if (topology != TopologyName.TRAINING || settings.training().enabled()) {
        parts.add(new HealthPart(topology + " topology", topology(topology)));
      }
    }
    return parts;
  }

  /**
   * Returns whether the process works; if not, only a restart helps. A planner that waits for a
   * server, or replaces a failed thread, works.
   */
  public boolean isLive() {
    return closing
        || streams.values().stream()
            .noneMatch(kafka -> kafka.state().hasStartedOrFinishedShuttingDown());
  }

  /** Returns how many partitions have fewer replicas in sync than assigned. */
  public int underReplicatedPartitions() {
    return topicState.underReplicated();
  }

  /** Returns how many partitions cannot be written for lack of replicas. */
  public int unwritablePartitions() {
    return topicState.unwritable().size();
  }

  /** Returns the free bytes of the file system with the state directory; 0 if it is unusable. */
  public long freeStateBytes() {
    return settings.streams().stateDirectory().toFile().getUsableSpace();
  }

  /**
   * Returns when the certificate of the planner's key store expires, in seconds since 1970; NaN if
   * it has none.
   */
  public double certificateExpiresSeconds() {
    return certificateExpires.map(expires -> (double) expires.getEpochSecond()).orElse(Double.NaN);
  }

  private Optional<String> topology(TopologyName name) {
    KafkaStreams.State state = streams.containsKey(name) ? streams.get(name).state() : null;
    if (closing) {
      return Optional.of("The service is closing.");
    }
    if (state == null || state == KafkaStreams.State.CREATED) {
      return Optional.of("The topology has not started yet.");
    }
    Optional<String> failure =
        failures(name).lasting(System.nanoTime(), state == KafkaStreams.State.RUNNING);
    if (failure.isPresent()) {
      return Optional.of("A stream thread failed and is replaced; its error: " + failure.get());
    }
    String wait = waits.get(name);
    if (wait != null) {
      return Optional.of("The topology waits for " + wait);
    }
    return switch (state) {
      case RUNNING -> Optional.empty();
      case REBALANCING -> Optional.of("The topology is rebalancing.");
      default -> Optional.of("The topology is in state " + state + ".");
    };
  }

  private void probeRepeatedly() {
    try {
      while (true) {
        probed.put("state directory", disk());
        probed.put("kafka", kafka());
        probed.put("registry", registry());
        certificate();
        TimeUnit.MILLISECONDS.sleep(PERIOD_MS);
      }
    } catch (InterruptedException e) {
      log.debug("Closed");
    }
  }

  private Optional<String> kafka() throws InterruptedException {
    try {
      if (admin == null) {
        admin = Admin.create(clients);
        topics = new TopicProbe(admin, settings);
      }
      KafkaAnswers.cluster(admin).nodes().get();
      topicState = topics.read();
      if (probes++ % PROBES_WITHOUT_SETTINGS == 0 || refused.isPresent()) {
        refused = refused();
      }
      return topicState.problem().or(() -> refused);
    } catch (ExecutionException | RuntimeException e) {
      return Optional.of(KafkaAnswers.missing(e, settings));
    }
  }

  /**
   * Returns what would lose or refuse records; the last answer if the user may not ask any more.
   */
  private Optional<String> refused() throws InterruptedException {
    try {
      return TopicCheck.refused(admin, settings).stream()
          .findFirst()
          .map(TopicDifference::sentence);
    } catch (IllegalStateException e) {
      log.debug("The topics' settings cannot be read", e);
      return refused;
    }
  }

  /** Looks when the planner's certificate expires. */
  private void certificate() {
    try {
      if (certificate == null) {
        certificate = new OwnCertificate(clients);
      }
      certificateExpires = certificate.expires();
    } catch (RuntimeException e) {
      // What connects to Kafka reports the file.
      log.debug("The planner's certificate cannot be read", e);
    }
  }

  private Optional<String> registry() {
    try {
      if (registry == null) {
        registry =
            Registry.connect(settings.connection().registryUrl(), settings.connection().registry());
      }
      registry.probe();
      return Optional.empty();
    } catch (RuntimeException e) {
      // Any error of the client must not end the probes.
      return Optional.of(ClusterChecks.registryMissing(e));
    }
  }

  private Optional<String> disk() {
    Path directory = settings.streams().stateDirectory().toAbsolutePath();
    try {
      Files.createDirectories(directory);
    } catch (IOException | RuntimeException e) {
      return Optional.of("%s is unusable: %s".formatted(directory, e));
    }
    CheckResult found = ClusterChecks.disk(settings);
    return found.remedy().map(remedy -> found.finding() + ".");
  }

  @Override
  public void close() {
    closing = true;
    prober.interrupt();
    try {
      // Close the clients only after the prober has ended.
      prober.join(2L * KafkaAnswers.FIRST_MS);
      if (prober.isAlive()) {
        log.debug("A probe is still running");
        return;
      }
      if (admin != null) {
        admin.close(Duration.ZERO);
      }
      if (registry != null) {
        registry.close();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (UncheckedIOException e) {
      log.debug("The registry's client could not be closed", e);
    }
  }
}
