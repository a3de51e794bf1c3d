package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.shardtide.client.Endpoint;
import io.shardtide.client.Outcome;
import io.shardtide.client.PlanSubscriber;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.config.ServiceSettings;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Certificates;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.SecureKafka;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.topology.Acls.Role;
import io.shardtide.workload.WorkloadChange;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.errors.AuthenticationException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A certificate expires and is renewed, with the commands of docs/DEPLOY.md, on a broker that asks
 * for certificates. Nothing is restarted but the broker, which ends all connections.
 */
@Tag("nightly")
class CertificateIT {
  private static final Logger log = LoggerFactory.getLogger(CertificateIT.class);

  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final String VALID = "-validity 365";
  private static final String EXPIRED = "-startdate -2d -validity 1";

  @TempDir private Path data;
  private final String prefix = SharedCluster.freshPrefix();

  @Test
  void a_certificate_that_expired_is_renewed_without_a_restart() throws Exception {
    BlockingQueue<ShardingPlan> plans = new LinkedBlockingQueue<>();
    try (DevelopmentRegistry registry = DevelopmentRegistry.start(0, Optional.empty());
        SecureKafka kafka =
            SecureKafka.start(data, Map.of("listener.name.clients.ssl.client.auth", "requested"))) {
      kafka.users("planner");
      for (Role role : Role.values()) {
        kafka.allow("planner", Acls.of(role, prefix, Set.of()));
      }
      Path store = Certificates.makePlanner(data, VALID);
      Map<String, Object> clients = kafka.clients("planner");
      clients.put("ssl.keystore.location", store.toString());
      clients.put("ssl.keystore.password", Certificates.storePassword());
      ServiceSettings settings = settings(registry, clients);
      Endpoint endpoint =
          new Endpoint(kafka.bootstrapServers(), registry.url(), prefix, clients, Map.of());
      try (ServiceHealth health = ServiceHealth.watch(settings);
          PlannerService planner =
              PlannerService.start(
                  new PlannerParts(settings, List.of(TestModels.bundle()), PlainTowers::new)
                      .with()
                      .health(health)
                      .build());
          WorkloadPublisher publisher = WorkloadPublisher.connect(endpoint, "features");
          PlanSubscriber subscriber =
              PlanSubscriber.start(
                  endpoint, Optional.empty(), update -> plans.add(update.plan()))) {
        assertThat(subscriber).isNotNull();
        publish(publisher, 1);
        assertThat(next(plans)).isEqualTo(1);
        await().atMost(PATIENCE).until(planner::isRunning);
        await().atMost(PATIENCE).until(() -> expires(health) > now());

        Certificates.makePlanner(data, EXPIRED);
        kafka.restart();
        // Now the producer still knows where the topic is, and would try for two minutes.
        assertThatThrownBy(() -> publish(publisher, 2))
            .hasCauseInstanceOf(AuthenticationException.class)
            .hasMessageContaining("expired at ");
        for (int part : List.of(0, 4, 5)) {
          await()
              .atMost(PATIENCE)
              .dontCatchUncaughtExceptions()
              .untilAsserted(
                  () ->
                      assertThat(health.parts().get(part).problem().orElse(""))
                          .contains("The certificate of CN=planner in " + store + " expired at ")
                          .endsWith(
                              "Replace the file, with the same password; no restart is needed"));
        }
        await().atMost(PATIENCE).dontCatchUncaughtExceptions().until(() -> expires(health) < now());

        long renewed = System.nanoTime();
        Certificates.makePlanner(data, VALID);
        await()
            .atMost(PATIENCE)
            .dontCatchUncaughtExceptions()
            .until(() -> publisher.publish(change(2)).handle((at, error) -> error == null).join());
        assertThat(next(plans)).isEqualTo(2);
        log.info(
            "{} s from the renewal to the next plan",
            Math.round((System.nanoTime() - renewed) / 1e8) / 10.0);
        await()
            .atMost(PATIENCE)
            .dontCatchUncaughtExceptions()
            .untilAsserted(
                () ->
                    assertThat(health.parts().subList(0, 6))
                        .allMatch(part -> part.problem().isEmpty()));
        publish(publisher, 3);
        assertThat(next(plans)).isEqualTo(3);
      }
    }
  }

  private ServiceSettings settings(DevelopmentRegistry registry, Map<String, Object> clients) {
    Map<String, String> passed = new HashMap<>();
    clients.forEach((key, value) -> passed.put(key, value.toString()));
    return TestSettings.of(
            passed.remove("bootstrap.servers"), registry.url(), prefix, data.resolve("state"))
        .kafka(passed)
        .build();
  }

  private static double expires(ServiceHealth health) {
    return health.certificateExpiresSeconds();
  }

  private static double now() {
    return Instant.now().getEpochSecond();
  }

  private static WorkloadChange change(int generation) {
    return generation == 1
        ? Fixtures.numbered(1, Fixtures.set(4, Fixtures.GIB), Fixtures.upsert("t1", 1_000, 64, 2))
        : Fixtures.numbered(generation, Fixtures.upsert("t" + generation, 1_000, 64, 2));
  }

  private static void publish(WorkloadPublisher publisher, int generation) throws Exception {
    assertThat(
            publisher
                .publishAndAwait(change(generation))
                .get(PATIENCE.toSeconds(), TimeUnit.SECONDS))
        .isInstanceOfSatisfying(
            Outcome.Accepted.class,
            accepted -> assertThat(accepted.generation()).hasValue(generation));
  }

  private static long next(BlockingQueue<ShardingPlan> plans) throws InterruptedException {
    ShardingPlan plan = plans.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    assertThat(plan).as("a plan").isNotNull();
    return plan.generation();
  }
}
