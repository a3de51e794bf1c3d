package io.shardtide.tls;

import java.security.KeyStore;
import java.security.KeyStoreException;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.SslConfigs;

/** When the certificate with which a Kafka client identifies itself expires. Thread-safe. */
public final class OwnCertificate {
  private final Optional<ReloadingSslEngineFactory> stores;
  private final String file;

  /**
   * @param client settings of a Kafka client, with TLS or without
   */
  public OwnCertificate(Map<String, ?> client) {
    Object location = client.get(SslConfigs.SSL_KEYSTORE_LOCATION_CONFIG);
    file = String.valueOf(location);
    stores = Optional.ofNullable(location).map(some -> ReloadingSslEngineFactory.of(client));
  }

  /**
   * Returns when the first certificate of the key store expires, those of its authorities included,
   * as the file is now; empty for a client without a key store.
   */
  public Optional<Instant> expires() {
    return first().map(OwnCertificate::expires);
  }

  /** Returns what is wrong, and what to do; empty if no certificate has expired. */
  public Optional<String> expired(Instant now) {
    return first()
        .filter(certificate -> !now.isBefore(expires(certificate)))
        .map(
            certificate ->
                "The certificate of %s in %s expired at %s. Replace the file, with the same password; no restart is needed"
                    .formatted(
                        certificate.getSubjectX500Principal().getName(),
                        file,
                        expires(certificate)));
  }

  /**
   * Returns what is wrong now with the certificate of a client that failed; empty also where its
   * files cannot be read, of which the client's own error tells.
   *
   * @param client settings of a Kafka client, with TLS or without
   */
  public static Optional<String> expiredOf(Map<String, ?> client) {
    try {
      return new OwnCertificate(client).expired(Instant.now());
    } catch (KafkaException e) {
      return Optional.empty();
    }
  }

  private static Instant expires(X509Certificate certificate) {
    return certificate.getNotAfter().toInstant();
  }

  private Optional<X509Certificate> first() {
    if (stores.isEmpty()) {
      return Optional.empty();
    }
    KeyStore store = stores.get().keystore();
    X509Certificate first = null;
    try {
      for (String alias : Collections.list(store.aliases())) {
        Certificate[] chain = store.getCertificateChain(alias);
        for (Certificate each : chain == null ? new Certificate[0] : chain) {
          if (each instanceof X509Certificate certificate
              && (first == null || expires(certificate).isBefore(expires(first)))) {
            first = certificate;
          }
        }
      }
    } catch (KeyStoreException e) {
      throw new IllegalStateException("%s cannot be read".formatted(file), e);
    }
    return Optional.ofNullable(first);
  }
}
