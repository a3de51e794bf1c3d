package io.shardtide.tls;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.SslConfigs;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Key stores whose files change; {@code CertificateIT} connects with them. */
class ReloadingSslEngineFactoryTest {
  private static final String PASSWORD = "hunter2-store";

  @TempDir private Path folder;

  /** Makes a key store with a certificate of its own. */
  private Path store(String name, String validity) throws Exception {
    Path file = folder.resolve(name + ".p12");
    String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    Process process =
        new ProcessBuilder(
                "bash",
                "-c",
                "%s -genkeypair -alias planner -keyalg EC -dname CN=%s %s -keystore %s -storepass %s"
                    .formatted(keytool, name, validity, file, PASSWORD))
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("log").toFile())
            .start();
    assertThat(process.waitFor()).as(Files.readString(folder.resolve("log"))).isZero();
    return file;
  }

  private static Map<String, Object> client(Path file) {
    return Map.of(
        SslConfigs.SSL_KEYSTORE_LOCATION_CONFIG,
        file.toString(),
        SslConfigs.SSL_KEYSTORE_PASSWORD_CONFIG,
        PASSWORD);
  }

  private static String subject(KeyStore store) throws Exception {
    return ((X509Certificate) store.getCertificate("planner")).getSubjectX500Principal().getName();
  }

  private static void replace(Path used, Path by) throws Exception {
    Files.move(by, used, StandardCopyOption.REPLACE_EXISTING);
  }

  @Test
  void a_changed_file_is_read_again_unless_it_is_unusable() throws Exception {
    Path used = store("first", "-validity 30");
    try (ReloadingSslEngineFactory factory = new ReloadingSslEngineFactory()) {
      factory.configure(
          new AbstractConfig(new ConfigDef().withClientSslSupport(), client(used), false).values());
      assertThat(subject(factory.keystore())).isEqualTo("CN=first");
      Path half = Files.writeString(folder.resolve("half"), "no key store");
      replace(used, half);
      assertThat(subject(factory.keystore())).as("the last one").isEqualTo("CN=first");
      replace(used, store("second", "-validity 30"));
      assertThat(subject(factory.keystore())).isEqualTo("CN=second");
      assertThat(factory.createClientSslEngine("broker", 9093, "https").getUseClientMode())
          .isTrue();
    }
  }

  @Test
  void an_expired_certificate_is_named_with_its_file() throws Exception {
    Path used = store("planner", "-startdate -2d -validity 1");
    OwnCertificate certificate = new OwnCertificate(client(used));
    Instant now = Instant.now();
    assertThat(certificate.expires().orElseThrow()).isBefore(now);
    assertThat(certificate.expired(now).orElseThrow())
        .startsWith("The certificate of CN=planner in " + used + " expired at ")
        .endsWith("Replace the file, with the same password; no restart is needed");
    replace(used, store("renewed", "-validity 30"));
    assertThat(certificate.expired(now)).isEmpty();
    assertThat(certificate.expires().orElseThrow())
        .isBetween(now.plus(Duration.ofDays(29)), now.plus(Duration.ofDays(31)));
  }

  @Test
  void a_client_without_a_key_store_has_no_certificate() {
    assertThat(new OwnCertificate(Map.of()).expires()).isEmpty();
  }

  @Test
  void clients_with_tls_read_their_certificates_again() {
    assertThat(ReloadingSslEngineFactory.with(Map.of("security.protocol", "SASL_SSL")))
        .containsEntry("ssl.engine.factory.class", ReloadingSslEngineFactory.class.getName());
    assertThat(ReloadingSslEngineFactory.with(Map.of("security.protocol", "SASL_PLAINTEXT")))
        .containsOnlyKeys("security.protocol");
    assertThat(
            ReloadingSslEngineFactory.with(
                Map.of("security.protocol", "SSL", "ssl.engine.factory.class", "their.own")))
        .containsEntry("ssl.engine.factory.class", "their.own");
  }
}
