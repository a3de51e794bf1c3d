package io.shardtide.topology;

import static io.shardtide.wire.TopicType.CURRENT_FORECASTS;
import static io.shardtide.wire.TopicType.QUARANTINE;

import io.shardtide.config.ServiceSettings;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Registry;
import io.shardtide.wire.RegistryClock;
import io.shardtide.wire.RegistryUnavailableException;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import io.shardtide.wire.Topics;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.Quarantine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.DescribeFeaturesOptions;
import org.apache.kafka.clients.admin.FeatureMetadata;
import org.apache.kafka.clients.admin.SupportedVersionRange;
import org.apache.kafka.common.Node;

/**
 * Checks of what a planner needs: brokers, rights, topics, state, registry, disk and clock; and of
 * what it announces, keys in quarantine and tables that get full. They change nothing, wait for no
 * server longer than seconds, and go on after a failure.
 */
public final class ClusterChecks {
  /** With less, RocksDB cannot compact stores: its files have 64 MiB. */
  private static final long LEAST_FREE_BYTES = 256L << 20;

  /** As the alert ClockWrong. */
  private static final Duration CLOCK_DIFFERENCE = Duration.ofSeconds(5);

  private final ServiceSettings settings;
  private final Topics topics;
  private final Map<String, KafkaCheck> checks = new LinkedHashMap<>();
  private final List<CheckResult> results = new ArrayList<>();
  private Admin admin;
  private Collection<Node> nodes;
  private String clusterId;

  private ClusterChecks(ServiceSettings settings) {
    this.settings = settings;
    topics = settings.topicsInUse();
    checks.put("versions", this::versions);
    checks.put("limits", this::limits);
    checks.put("rights", () -> RightsCheck.of(admin, Acls.Role.PLANNER, settings));
    checks.put("dashboard rights", () -> RightsCheck.of(admin, Acls.Role.DASHBOARD, settings));
    checks.put("topics", () -> TopicCheck.compare(admin, settings));
    checks.put("replicas", this::replicas);
    checks.put("state", this::state);
    checks.put(
        "quarantine", () -> announced(QUARANTINE, "of this version", ClusterChecks::quarantine));
    if (settings.extensions().contains(Extension.GROWTH)) {
      checks.put(
          "forecasts",
          () -> announced(CURRENT_FORECASTS, "with growth.enabled=true", ForecastCheck::read));
    }
  }

  /**
   * Makes all checks.
   *
   * @param settings settings of the planner
   * @return the results, in the order in which a start would meet them
   */
  public static List<CheckResult> run(ServiceSettings settings) throws InterruptedException {
    ClusterChecks checks = new ClusterChecks(settings);
    checks.kafka();
    checks.results.add(checks.registry().named("registry"));
    checks.results.add(disk(settings).named("disk"));
    checks.results.add(checks.clock().named("clock"));
    return List.copyOf(checks.results);
  }

  /** A check that asks the cluster. */
  private interface KafkaCheck {
    CheckResult run() throws InterruptedException, ExecutionException;
  }

  private void kafka() throws InterruptedException {
    try (Admin client = KafkaAnswers.admin(settings)) {
      admin = client;
      DescribeClusterResult cluster = KafkaAnswers.cluster(admin);
      nodes = cluster.nodes().get();
      clusterId = cluster.clusterId().get();
      results.add(brokers().named("brokers"));
      for (Map.Entry<String, KafkaCheck> check : checks.entrySet()) {
        results.add(result(check.getValue()).named(check.getKey()));
      }
    } catch (ExecutionException | RuntimeException e) {
      // Or a client that cannot be created: a wrong setting, a host name that does not resolve.
      unreachable(e);
    }
  }

  private void unreachable(Exception error) {
    results.add(
        CheckResult.failed(
                KafkaAnswers.missing(error, settings),
                "check bootstrap.servers, that the brokers run and are reachable from this machine, and"
                    + " kafka.security.protocol, kafka.sasl.* and kafka.ssl.*")
            .named("brokers"));
    CheckResult skipped = CheckResult.skipped("needs the brokers");
    checks.keySet().forEach(name -> results.add(skipped.named(name)));
  }

  private CheckResult result(KafkaCheck check) throws InterruptedException {
    try {
      return check.run();
    } catch (ExecutionException | RuntimeException e) {
      return CheckResult.failed(
          AuthorizationErrors.describe(e, settings),
          "correct what the brokers refuse, then run doctor again");
    }
  }

  /**
   * Reads what planners announce and do not read: a right that is missing stops none.
   *
   * @param planner a planner that has the topic
   */
  private CheckResult announced(
      TopicType<?> type, String planner, Function<ServiceSettings, CheckResult> read)
      throws InterruptedException, ExecutionException {
    String topic = topics.of(type).name();
    if (!admin.listTopics().names().get().contains(topic)) {
      return CheckResult.ok("no planner %s has started yet".formatted(planner));
    }
    try {
      return read.apply(settings);
    } catch (RuntimeException e) {
      return CheckResult.warning(
          "%s cannot be read: %s".formatted(topic, AuthorizationErrors.describe(e, settings)),
          "grant what ./shardtide rights --role dashboard%s prints"
              .formatted(Extension.options(settings.extensions())));
    }
  }

  /** Names the keys in quarantine. */
  private static CheckResult quarantine(ServiceSettings settings) {
    Topic<Quarantine> topic = settings.endpoint().topics().of(QUARANTINE);
    Map<String, Quarantine> latest = new TreeMap<>();
    try (TopicReader reader = settings.endpoint().reader()) {
      reader.handle(
          topic,
          StartPosition.BEGINNING,
          (at, time, of) -> latest.put(KeyedStore.key(of.topology(), of.key()), of));
      reader.open();
      reader.readToEnd();
    }
    String held =
        latest.values().stream()
            .filter(Quarantine::entered)
            .map(q -> "\"%s\" of the %s topology: %s".formatted(q.key(), q.topology(), q.error()))
            .collect(Collectors.joining("; "));
    return held.isEmpty()
        ? CheckResult.ok("no key waits")
        : CheckResult.warning(held, "docs/RUNBOOK.md, A key is in quarantine");
  }

  private CheckResult brokers() {
    String found =
        "%d at %s, cluster %s"
            .formatted(nodes.size(), settings.endpoint().bootstrapServers(), clusterId);
    int copies = settings.topics().replication();
    if (nodes.size() < copies) {
      return CheckResult.failed(
          "%s: fewer than topics.replication=%d".formatted(found, copies),
          "start the stopped brokers, or set topics.replication=%d".formatted(nodes.size()));
    }
    return CheckResult.ok(found);
  }

  private CheckResult versions() throws InterruptedException, ExecutionException {
    TreeSet<String> releases = new TreeSet<>();
    boolean mayLose = false;
    for (Node node : nodes) {
      SupportedVersionRange range;
      try {
        DescribeFeaturesOptions asked = new DescribeFeaturesOptions().nodeId(node.id());
        asked.timeoutMs(KafkaAnswers.FIRST_MS);
        FeatureMetadata features = admin.describeFeatures(asked).featureMetadata().get();
        range = features.supportedFeatures().get(BrokerRelease.FEATURE);
      } catch (ExecutionException e) {
        return CheckResult.failed(
            "Broker %d at %s:%d does not answer: %s"
                .formatted(node.id(), node.host(), node.port(), Retry.describe(e)),
            "make advertised.listeners of the broker an address that this machine reaches");
      }
      if (range == null) {
        releases.add("unknown");
      } else {
        releases.add(BrokerRelease.of(range.maxVersion()));
        mayLose |= BrokerRelease.mayLoseRecords(range.maxVersion());
      }
    }
    String found = "Kafka " + String.join(", ", releases);
    return mayLose
        ? CheckResult.warning(
            found + ": brokers of 4.3.0 to 4.4.0 can lose committed records (KAFKA-20734)",
            "run brokers of 4.2, or a release after 4.4.0; until then keep topics.replication at 3"
                + " or more")
        : CheckResult.ok(found);
  }

  private CheckResult limits() throws InterruptedException {
    return new BrokerLimits(settings)
        .find(admin)
        .map(found -> TopicDifference.result("the brokers allow what a planner needs", "", found))
        .orElseGet(
            () ->
                CheckResult.skipped(
                    "the brokers do not tell: needs DescribeConfigs on the cluster"));
  }

  private CheckResult replicas() throws InterruptedException, ExecutionException {
    TopicProbe.TopicState state = new TopicProbe(admin, settings).read();
    Optional<String> problem = state.problem();
    if (problem.isPresent()) {
      return CheckResult.failed(problem.get(), "start the stopped brokers");
    }
    return state.underReplicated() > 0
        ? CheckResult.warning(
            "%d of %d partitions have fewer replicas in sync than assigned"
                .formatted(state.underReplicated(), state.partitions()),
            "start the stopped brokers; docs/RUNBOOK.md, Replicas are missing")
        : CheckResult.ok("in sync in all %d partitions".formatted(state.partitions()));
  }

  private CheckResult state() throws InterruptedException, ExecutionException {
    String remedy = "correct bootstrap.servers, topics.prefix or state.directory";
    try {
      StateCheck.sameState(clusterId, settings);
      remedy = "docs/RUNBOOK.md, A changelog was deleted";
      StateCheck.changelogs(admin, settings);
      return OffsetsCheck.find(admin, settings)
          .orElseGet(
              () -> CheckResult.ok("of this cluster or new; no changelog or offset is lost"));
    } catch (IllegalStateException e) {
      return CheckResult.failed(e.getMessage(), remedy);
    } catch (IOException e) {
      return CheckResult.failed(
          "%s cannot be read: %s".formatted(StateCheck.CLUSTER_FILE, e),
          "run doctor as the planner's user");
    }
  }

  private CheckResult registry() {
    String url = settings.endpoint().registryUrl();
    try (Registry registry = Registry.connect(url, settings.endpoint().registry())) {
      registry.probe();
      int missing = registry.unregistered(topics).size();
      return CheckResult.ok(
          missing == 0
              ? "%s has all schemas".formatted(url)
              : "%s answers; run registers %d schemas".formatted(url, missing));
    } catch (RuntimeException e) {
      return CheckResult.failed(
          e instanceof IllegalStateException ? e.getMessage() : registryMissing(e),
          "check schema.registry.url, that the registry runs, and registry.* in the settings");
    }
  }

  /** Returns why the registry cannot be asked. */
  static String registryMissing(RuntimeException e) {
    return e instanceof RegistryUnavailableException
        ? e.getMessage()
        : "The registry's client fails: " + Retry.describe(e);
  }

  /** Looks at the file system of the state directory. */
  static CheckResult disk(ServiceSettings settings) {
    Path directory = settings.streams().stateDirectory().toAbsolutePath();
    Path existing = directory;
    while (!Files.exists(existing) && existing.getParent() != null) {
      existing = existing.getParent();
    }
    if (!Files.isDirectory(existing) || !Files.isWritable(existing)) {
      return CheckResult.failed(
          "%s is not a folder that this user may write".formatted(existing),
          "give the planner's user the folder state.directory=" + directory);
    }
    long free = existing.toFile().getUsableSpace();
    String found = "%s has %s free".formatted(directory, ByteSizes.describe(free));
    return free >= LEAST_FREE_BYTES
        ? CheckResult.ok(found)
        : CheckResult.failed(
            "%s, expected at least %s".formatted(found, ByteSizes.describe(LEAST_FREE_BYTES)),
            "free space, or set state.directory to a larger file system");
  }

  /** Compares this machine's clock with the registry's; see {@link #clock(Instant, Instant)}. */
  private CheckResult clock() throws InterruptedException {
    Instant before = Instant.now();
    return RegistryClock.read(settings.endpoint().registryUrl(), settings.endpoint().registry())
        .map(time -> clock(time, before))
        .orElseGet(() -> CheckResult.skipped("the registry states no time"));
  }

  /**
   * Compares two clocks.
   *
   * @param server the server's time, rounded down to a second
   * @param here this machine's time just before the server was asked
   */
  static CheckResult clock(Instant server, Instant here) {
    Duration difference = Duration.between(here, server);
    String text =
        "this machine's clock is %d s %s the registry's"
            .formatted(
                difference.abs().toSeconds(), difference.isNegative() ? "ahead of" : "behind");
    return difference.abs().compareTo(CLOCK_DIFFERENCE) <= 0
        ? CheckResult.ok("within %d s of the registry's".formatted(CLOCK_DIFFERENCE.toSeconds()))
        : CheckResult.warning(
            text, "correct this machine's clock (NTP); docs/RUNBOOK.md, A clock is wrong");
  }
}
