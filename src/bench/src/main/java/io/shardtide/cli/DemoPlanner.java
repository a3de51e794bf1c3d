package io.shardtide.cli;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.shardtide.client.Endpoint;
import io.shardtide.config.HttpSettings;
import io.shardtide.config.ServiceSettings;
import io.shardtide.config.StreamsSettings;
import io.shardtide.config.Token;
import io.shardtide.config.TopicSettings;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.retraining.Retraining;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.Brokers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.topology.PlannerMetrics;
import io.shardtide.topology.PlannerParts;
import io.shardtide.topology.PlannerService;
import io.shardtide.topology.ServiceHealth;
import io.shardtide.web.WebServer;
import io.shardtide.wire.Extension;
import io.shardtide.workload.UnknownHardware;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The demo's planner, with health, metrics and dashboard on loopback. */
final class DemoPlanner implements AutoCloseable {
  private static final String HOST = "127.0.0.1";

  private final Deque<Closeable> opened;
  private final Endpoint endpoint;
  private final String url;
  private final String token;
  private final PlannerMetrics metrics;

  private DemoPlanner(
      Deque<Closeable> opened,
      Endpoint endpoint,
      String url,
      String token,
      PlannerMetrics metrics) {
    this.opened = opened;
    this.endpoint = endpoint;
    this.url = url;
    this.token = token;
    this.metrics = metrics;
  }

  /**
   * Starts the planner. It compares measurements with predictions.
   *
   * @param kafka where its topics are
   * @param clients settings of Kafka's clients
   * @param bundles the cost models
   * @param planning when plans are made, and how
   * @param training when models are retrained
   * @param extensions its optional parts
   * @param port of the dashboard; 0 for any free one
   */
  static DemoPlanner start(
      Brokers kafka,
      DevelopmentRegistry registry,
      Map<String, String> clients,
      Path stateDirectory,
      List<ModelBundle> bundles,
      PlanningSettings planning,
      TrainingPolicy training,
      Set<Extension> extensions,
      int port)
      throws Exception {
    Endpoint endpoint = Endpoint.of(kafka.bootstrapServers(), registry.url());
    ServiceSettings settings =
        new ServiceSettings(
            endpoint.withKafka(clients),
            new TopicSettings(1, kafka.copies()),
            new StreamsSettings(stateDirectory, 1, 1),
            List.of(),
            UnknownHardware.NEAREST,
            planning,
            training,
            extensions,
            AllocationPolicy.DEFAULTS,
            CapacityPolicy.DEFAULTS,
            HttpSettings.DEFAULTS);
    Deque<Closeable> opened = new ArrayDeque<>();
    String token = randomToken();
    try {
      ServiceHealth health = ServiceHealth.watch(settings);
      opened.push(health::close);
      RunningMetrics metrics =
          RunningMetrics.of(new PrometheusMeterRegistry(PrometheusConfig.DEFAULT), health);
      opened.push(metrics::close);
      DashboardFeed feed = new DashboardFeed(endpoint, settings.extensions());
      opened.push(feed::close);
      WebServer web =
          WebServer.start(
              HOST,
              port,
              () -> RunningMetrics.view(health),
              health::isLive,
              metrics::scrape,
              Optional.empty(),
              Optional.of(feed.dashboard(Optional.of(Token.of(token)::is))));
      opened.push(web::close);
      PlannerMetrics counted = new PlannerMetrics(metrics.meters());
      PlannerService service =
          PlannerService.start(
              new PlannerParts(settings, bundles, TensorFlowTowers::new)
                  .with()
                  .trainer(Optional.of(Retraining::retrain))
                  .metrics(counted)
                  .health(health)
                  .build());
      opened.push(service::close);
      feed.start();
      return new DemoPlanner(opened, endpoint, web.url(), token, counted);
    } catch (Exception e) {
      close(opened);
      throw e;
    }
  }

  private static String randomToken() {
    byte[] random = new byte[16];
    new SecureRandom().nextBytes(random);
    return HexFormat.of().formatHex(random);
  }

  /** Returns where its topics are. */
  Endpoint endpoint() {
    return endpoint;
  }

  /** Returns the address of the dashboard. */
  String url() {
    return url;
  }

  /** Returns the token that a request must carry to change something. */
  String token() {
    return token;
  }

  /** Returns how many background searches run or are due. */
  int backgroundSearches() {
    return metrics.backgroundSearches();
  }

  private static void close(Deque<Closeable> opened) throws IOException {
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  @Override
  public void close() throws IOException {
    close(opened);
  }
}
