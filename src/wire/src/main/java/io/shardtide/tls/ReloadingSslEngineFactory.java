package io.shardtide.tls;

import java.security.KeyStore;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.SslConfigs;
import org.apache.kafka.common.security.auth.SslEngineFactory;
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Kafka's TLS with one difference: each new connection uses the key store and the trust store as
 * their files are now. Kafka's own factory does so in brokers only; a client reads its files when
 * it is created. Connections that are open are not affected: TLS checks certificates when a
 * connection begins.
 *
 * <p>The passwords of the stores must stay the same. Certificates that are in the settings instead
 * of files cannot be renewed.
 */
public final class ReloadingSslEngineFactory implements SslEngineFactory {
  private static final Logger log = LoggerFactory.getLogger(ReloadingSslEngineFactory.class);

  private Map<String, Object> settings = Map.of();
  private DefaultSslEngineFactory current;
  private boolean unreadable;

  /** Created by Kafka's clients, from the name of the class. */
  public ReloadingSslEngineFactory() {}

  /**
   * Returns the factory of a client.
   *
   * @param client its settings, of which those of TLS are used
   */
  public static ReloadingSslEngineFactory of(Map<String, ?> client) {
    ReloadingSslEngineFactory factory = new ReloadingSslEngineFactory();
    factory.configure(
        new AbstractConfig(new ConfigDef().withClientSslSupport(), client, false).values());
    return factory;
  }

  /**
   * Returns the settings of a Kafka client that reads its certificates again, if it uses TLS and
   * its settings name no other factory.
   */
  public static Map<String, Object> with(Map<String, ?> client) {
    Map<String, Object> all = new HashMap<>(client);
    Object protocol = client.get(CommonClientConfigs.SECURITY_PROTOCOL_CONFIG);
    if (protocol != null && protocol.toString().endsWith("SSL")) {
      all.putIfAbsent(
          SslConfigs.SSL_ENGINE_FACTORY_CLASS_CONFIG, ReloadingSslEngineFactory.class.getName());
    }
    return all;
  }

  @Override
  public void configure(Map<String, ?> configs) {
    settings = new HashMap<>(configs);
    current = create();
  }

  private DefaultSslEngineFactory create() {
    DefaultSslEngineFactory created = new DefaultSslEngineFactory();
    created.configure(settings);
    return created;
  }

  /** Returns the factory for the files as they are now; the last one while they are unreadable. */
  private synchronized DefaultSslEngineFactory current() {
    if (current.shouldBeRebuilt(settings)) {
      try {
        current = create();
        unreadable = false;
        log.info("The certificates were read again: {}", files());
      } catch (RuntimeException e) {
        // Perhaps a file is being written; the next connection looks again.
        if (!unreadable) {
          log.warn(
              "The changed certificates cannot be used: {} ({}). New connections use the last ones; replace the files, with the same passwords",
              files(),
              rootMessage(e));
        }
        unreadable = true;
      }
    }
    return current;
  }

  /** Returns what makes connections, with the files as they are now. */
  public SSLContext context() {
    return current().sslContext();
  }

  private String files() {
    return "%s=%s, %s=%s"
        .formatted(
            SslConfigs.SSL_KEYSTORE_LOCATION_CONFIG,
            settings.get(SslConfigs.SSL_KEYSTORE_LOCATION_CONFIG),
            SslConfigs.SSL_TRUSTSTORE_LOCATION_CONFIG,
            settings.get(SslConfigs.SSL_TRUSTSTORE_LOCATION_CONFIG));
  }

  private static String rootMessage(Throwable error) {
    Throwable root = error;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return root.toString();
  }

  @Override
  public SSLEngine createClientSslEngine(
      String peerHost, int peerPort, String endpointIdentification) {
    return current().createClientSslEngine(peerHost, peerPort, endpointIdentification);
  }

  @Override
  public SSLEngine createServerSslEngine(String peerHost, int peerPort) {
    return current().createServerSslEngine(peerHost, peerPort);
  }

  @Override
  public boolean shouldBeRebuilt(Map<String, Object> nextConfigs) {
    return !nextConfigs.equals(settings);
  }

  @Override
  public Set<String> reconfigurableConfigs() {
    return current.reconfigurableConfigs();
  }

  /** Returns the key store as its file is now, or null without one. */
  @Override
  public KeyStore keystore() {
    return current().keystore();
  }

  /** Returns the trust store as its file is now, or null without one. */
  @Override
  public KeyStore truststore() {
    return current().truststore();
  }

  @Override
  public void close() {
    if (current != null) {
      current.close();
    }
  }
}
