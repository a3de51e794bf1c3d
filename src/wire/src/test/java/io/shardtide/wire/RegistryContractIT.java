package io.shardtide.wire;

import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.testing.Apicurio;
import io.shardtide.testing.Certificates;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.RegistryContainer;
import io.shardtide.testing.RegistryFront;
import io.shardtide.workload.WorkloadChange;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.testcontainers.junit.jupiter.Testcontainers;

/**
 * The contract with the development registry: plain, behind a password, and behind TLS; with
 * Confluent's own and with Apicurio where they can be had.
 */
class RegistryContractIT {
  @TempDir private static Path data;
  private static DevelopmentRegistry registry;

  @BeforeAll
  static void start() throws Exception {
    registry = DevelopmentRegistry.start(0, Optional.of(data));
  }

  @AfterAll
  static void stop() throws Exception {
    registry.close();
  }

  /** A front of the one registry. */
  @TestInstance(TestInstance.Lifecycle.PER_CLASS)
  abstract static class RegistryConnection extends RegistryContract {
    private RegistryFront front;

    abstract RegistryFront open() throws Exception;

    @BeforeAll
    void openFront() throws Exception {
      front = open();
    }

    @AfterAll
    void closeFront() {
      if (front != null) {
        front.close();
      }
    }

    @Override
    protected RegistryFront front() {
      return front;
    }

    @Override
    protected Map<String, String> settings() {
      return Map.of();
    }
  }

  @Nested
  class Plain extends RegistryConnection {
    @Override
    RegistryFront open() throws Exception {
      return new RegistryFront(registry.url(), Optional.empty(), Optional.empty(), "");
    }
  }

  @Nested
  class BehindAPassword extends RegistryConnection {
    @Override
    RegistryFront open() throws Exception {
      return new RegistryFront(
          registry.url(), Optional.of("planner:hunter2"), Optional.empty(), "");
    }

    @Override
    protected Map<String, String> settings() {
      return Map.of(
          "basic.auth.credentials.source", "USER_INFO", "basic.auth.user.info", "planner:hunter2");
    }
  }

  @Nested
  class BehindTls extends RegistryConnection {
    private Certificates certificates;

    @Override
    RegistryFront open() throws Exception {
      certificates = Certificates.make(data.resolve("tls"));
      return new RegistryFront(
          registry.url(),
          Optional.of("planner:hunter2"),
          Optional.of(certificates.keyStore()),
          certificates.password());
    }

    @Override
    protected Map<String, String> settings() {
      return Map.of(
          "basic.auth.credentials.source",
          "USER_INFO",
          "basic.auth.user.info",
          "planner:hunter2",
          "schema.registry.ssl.truststore.location",
          certificates.trustStore().toString(),
          "schema.registry.ssl.truststore.password",
          certificates.password());
    }

    @Test
    void a_certificate_that_is_not_trusted_is_an_outage() throws Exception {
      try (Registry untrusting = Registry.connect(front().url(), Map.of("max.retries", "0"))) {
        assertThatThrownBy(untrusting::probe)
            .isInstanceOf(RegistryUnavailableException.class)
            .hasMessageContaining("certif");
      }
    }
  }

  /** Skipped where there is no container engine. */
  @Nested
  @Tag("docker")
  @Testcontainers(disabledWithoutDocker = true)
  class Confluents extends RegistryConnection {
    private RegistryContainer containers;

    @Override
    RegistryFront open() throws Exception {
      containers = RegistryContainer.start();
      return new RegistryFront(containers.url(), Optional.empty(), Optional.empty(), "");
    }

    @AfterAll
    void stopContainers() {
      if (containers != null) {
        containers.close();
      }
    }
  }

  @Nested
  @Tag("nightly")
  class Apicurios extends RegistryConnection {
    private Apicurio apicurio;

    @Override
    RegistryFront open() throws Exception {
      apicurio = Apicurio.start();
      return new RegistryFront(apicurio.url(), Optional.empty(), Optional.empty(), "");
    }

    @AfterAll
    void stopApicurio() {
      if (apicurio != null) {
        apicurio.close();
      }
    }
  }

  @Test
  void a_replaced_trust_store_is_read_again(@TempDir Path folder) throws Exception {
    Certificates certificates = Certificates.make(folder.resolve("used"));
    Path store = folder.resolve("truststore.p12");
    Files.copy(Certificates.make(folder.resolve("other")).trustStore(), store);
    try (RegistryFront front =
            new RegistryFront(
                registry.url(),
                Optional.empty(),
                Optional.of(certificates.keyStore()),
                certificates.password());
        Registry client =
            Registry.connect(
                front.url(),
                Map.of(
                    "max.retries",
                    "0",
                    "schema.registry.ssl.truststore.location",
                    store.toString(),
                    "schema.registry.ssl.truststore.password",
                    certificates.password()))) {
      assertThatThrownBy(client::probe)
          .isInstanceOf(RegistryUnavailableException.class)
          .hasMessageContaining("PKIX");
      Files.move(certificates.trustStore(), store, StandardCopyOption.REPLACE_EXISTING);
      client.probe();
      Files.writeString(store, "no trust store");
      client.probe();
    }
  }

  /**
   * The registry stops and starts again between any two records, with what it wrote down: none is
   * lost, and each schema keeps its id.
   */
  @Test
  void ids_are_the_same_after_each_of_many_restarts(@TempDir Path folder) throws Exception {
    Topics topics = Topics.withPrefix("restarts.");
    DevelopmentRegistry running = DevelopmentRegistry.start(0, Optional.of(folder));
    try (RegistryFront front =
        new RegistryFront(running.url(), Optional.empty(), Optional.empty(), "")) {
      Registry first = Registry.connect(front.url(), Map.of());
      first.register(topics);
      byte[] original = write(first, topics);
      first.close();
      for (int restart = 0; restart < 5; restart++) {
        running.close();
        try (Registry away = Registry.connect(front.url(), Map.of("max.retries", "0"))) {
          assertThatThrownBy(() -> away.register(topics))
              .isInstanceOf(RegistryUnavailableException.class);
        }
        running = DevelopmentRegistry.start(0, Optional.of(folder));
        front.leadTo(running.url());
        // A program that was not there before: it knows nothing but what the registry says.
        try (Registry later = Registry.connect(front.url(), Map.of())) {
          later.register(topics);
          assertThat(ByteBuffer.wrap(write(later, topics)).getInt(1))
              .isEqualTo(ByteBuffer.wrap(original).getInt(1));
          assertThat(
                  later
                      .serde(topics.of(WORKLOAD_CHANGES))
                      .deserializer()
                      .deserialize(topics.of(WORKLOAD_CHANGES).name(), original))
              .extracting(WorkloadChange::workloadId)
              .isEqualTo(Fixtures.WORKLOAD);
        }
      }
    } finally {
      running.close();
    }
  }

  private static byte[] write(Registry registry, Topics topics) {
    return registry
        .serde(topics.of(WORKLOAD_CHANGES))
        .serializer()
        .serialize(
            topics.of(WORKLOAD_CHANGES).name(), Fixtures.event(Fixtures.set(2, Fixtures.GIB)));
  }
}
